/** The host against the official `server-everything`, which uses the high-level API of the official SDK, version 1. */
import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import * as Workspace from "@effect-mcp/examples/src/host/workspace.ts"
import { Elicitation, type Logging, Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Child from "./fixtures/child.ts"
import { revisions } from "./fixtures/coverage.ts"
import * as HttpListener from "./fixtures/httpListener.ts"
import { type Conditions, make, withScript } from "./host/conditions.ts"
import { callForText, errorResponse } from "./host/results.ts"

const asText = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join("\n")

const text = (uri: number) => `demo://resource/dynamic/text/${uri}`

type Feature = (conditions: Omit<Conditions, "peer">) => void

const handshake: Feature = ({ it, revision }) => {
  it.effect("[INIT-07] receives the capabilities of the server; tasks only in revisions with tasks", () =>
    Effect.gen(function*() {
      const { profile } = yield* ClientSession.ClientSession
      const { completions, tasks, ...capabilities } = profile.capabilities
      assert.deepStrictEqual(capabilities, {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {}
      })
      assert.isDefined(completions)
      assert.strictEqual(tasks !== undefined, revision === "2025-11-25")
      assert.match(profile.instructions ?? "", /Everything Server/)
    }))
}

const prompts: Feature = ({ it }) => {
  it.effect("[PRM-01] [PAG-07] lists prompts, and gets them with arguments", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      const prompts = yield* Stream.runCollect(session.prompts)
      assert.deepStrictEqual(prompts.map(({ name }) => name), [
        "simple-prompt",
        "args-prompt",
        "completable-prompt",
        "resource-prompt"
      ])
      const { messages } = yield* session.getPrompt("args-prompt", { city: "Vienna", state: "Austria" })
      assert.deepStrictEqual(messages, [
        { role: "user", content: { type: "text", text: "What's weather in Vienna, Austria?" } }
      ])
      const embedded = yield* session.getPrompt("resource-prompt", { resourceType: "Blob", resourceId: "2" })
      assert.deepInclude(embedded.messages[1]?.content, { type: "resource" })
    }))

  it.effect("receives the errors for an unknown prompt and for missing arguments", () =>
    Effect.gen(function*() {
      const { getPrompt } = yield* ClientSession.ClientSession
      assert.deepInclude(yield* errorResponse(getPrompt("burn")), { code: -32602 })
      assert.deepInclude(yield* errorResponse(getPrompt("args-prompt")), { code: -32602 })
    }))

  it.effect("[CMP-01] completes with the values of other arguments", () =>
    Effect.gen(function*() {
      const { complete } = yield* ClientSession.ClientSession
      const ref = { type: "ref/prompt", name: "completable-prompt" } as const
      const departments = yield* complete({ ref, argument: { name: "department", value: "S" } })
      assert.deepStrictEqual(departments.completion.values, ["Sales", "Support"])
      const names = yield* complete({
        ref,
        argument: { name: "name", value: "" },
        context: { arguments: { department: "Sales" } }
      })
      assert.deepStrictEqual(names.completion.values, ["David", "Eve", "Frank"])
      const ids = yield* complete({
        ref: { type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" },
        argument: { name: "resourceId", value: "7" }
      })
      assert.deepStrictEqual(ids.completion.values, ["7"])
    }))
}

const resources: Feature = ({ it }) => {
  it.effect("[RES-01] lists resources and templates, and reads them", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      const resources = yield* Stream.runCollect(session.resources)
      assert.include(resources.map(({ name }) => name), "architecture.md")
      const templates = yield* Stream.runCollect(session.resourceTemplates)
      assert.deepStrictEqual(templates.map(({ uriTemplate }) => uriTemplate), [
        "demo://resource/dynamic/text/{resourceId}",
        "demo://resource/dynamic/blob/{resourceId}"
      ])
      const { contents: [plain] } = yield* session.readResource(text(1))
      assert(plain !== undefined && "text" in plain)
      assert.match(plain.text, /^Resource 1: This is a plaintext resource/)
      const { contents: [blob] } = yield* session.readResource("demo://resource/dynamic/blob/1")
      assert(blob !== undefined && "blob" in blob)
      assert.match(Buffer.from(blob.blob, "base64").toString(), /^Resource 1: This is a base64 blob/)
      // The SDK uses another code for a missing resource than these revisions.
      assert.deepInclude(yield* errorResponse(session.readResource("demo://resource/static/nothing")), { code: -32602 })
    }))

  it.effect("[LOG-02] receives updates of subscribed resources, and log messages at or above its level", () =>
    Effect.gen(function*() {
      const { setLogLevel, subscribeResource, unsubscribeResource } = yield* ClientSession.ClientSession
      yield* setLogLevel("error")
      yield* subscribeResource(text(1))
      yield* setLogLevel("info")
      yield* subscribeResource(text(2))
      const isSubscription = ({ data }: Logging.LogMessageParams) => String(data).startsWith("Received Subscribe")
      // The server also logs the roots after it has listed them.
      let logged = (yield* Notifications.next("notifications/message")).params
      while (!isSubscription(logged)) logged = (yield* Notifications.next("notifications/message")).params
      assert.strictEqual(logged.level, "info")
      assert.include(String(logged.data), `Subscribe Resource request for URI: ${text(2)}`)
      yield* unsubscribeResource(text(1))
      yield* callForText("toggle-subscriber-updates")
      const { params: updated } = yield* Notifications.next("notifications/resources/updated")
      assert.deepStrictEqual(updated, { uri: text(2) })
      yield* callForText("toggle-subscriber-updates")
    }))
}

const content: Feature = ({ it }) => {
  it.effect("[TOOL-11] receives the annotations of content blocks", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const { content } = yield* callTool("get-annotated-message", { messageType: "error", includeImage: true })
      assert.deepStrictEqual(content.map(({ annotations }) => annotations), [
        { priority: 1, audience: ["user", "assistant"] },
        { priority: 0.5, audience: ["user"] }
      ])
    }))

  it.effect("receives the output schema and the structured content of a tool", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      const tools = yield* Stream.runCollect(session.tools)
      const structured = tools.find(({ name }) => name === "get-structured-content")
      assert.deepStrictEqual(structured?.outputSchema?.["required"], ["temperature", "conditions", "humidity"])
      const answer = yield* session.callTool("get-structured-content", { location: "Chicago" })
      assert.deepStrictEqual(JSON.parse(asText(answer)), answer.structuredContent)
    }))
}

const serverRequests: Feature = (conditions) => {
  const { it, revision } = conditions

  it.effect("[ROOT-01] [ROOT-02] the server lists the roots, and again after they change", () =>
    Effect.gen(function*() {
      assert.include(yield* callForText("get-roots-list"), "URI: file:///home/ada")
      yield* Workspace.setRoots({ uri: "file:///tmp", name: "elsewhere" }, { uri: "file:///srv" })
      const isRead = (data: unknown) => String(data).startsWith("Roots updated: 2 root(s)")
      while (!isRead((yield* Notifications.next("notifications/message")).params.data));
      assert.include(yield* callForText("get-roots-list"), "1. elsewhere\n   URI: file:///tmp\n\n2. Unnamed Root")
    }))

  it.effect("[SMP-01] the server requests a message of the model", () =>
    Effect.gen(function*() {
      const result = yield* callForText("trigger-sampling-request", { prompt: "hello", maxTokens: 2 })
      assert.deepStrictEqual(JSON.parse(result.slice(result.indexOf("{"))), {
        role: "assistant",
        model: "parrot",
        stopReason: "maxTokens",
        content: { type: "text", text: "Resource trigger-sampling-request" }
      })
    }))

  if (Revision.isAtLeast(revision, "2025-06-18")) formElicitation(conditions)
  if (Revision.isAtLeast(revision, "2025-11-25")) urlElicitation(conditions)
}

const formElicitation: Feature = ({ host, it }) => {
  it.effect("[ELI-01] [ELI-07] [ELI-08] [ELI-09] the server sends a form elicitation with every kind of field", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const elicit = Effect.map(callTool("trigger-elicitation-request"), asText)
      const accepted = yield* elicit
      assert.deepStrictEqual(JSON.parse(accepted.slice(accepted.indexOf("{"))), {
        action: "accept",
        content: {
          name: "Ada",
          check: true,
          firstLine: "It was a dark and stormy night.",
          email: "ada@example.com",
          homepage: "https://example.com/ada",
          birthdate: "1815-12-10",
          integer: 42,
          number: 3.14,
          untitledSingleSelectEnum: "Monica",
          untitledMultipleSelectEnum: ["Guitar"],
          titledSingleSelectEnum: "hero-1",
          titledMultipleSelectEnum: ["fish-1"],
          legacyTitledEnum: "pet-1"
        }
      })
      const fillForm = (action: "decline" | "cancel") => () => Effect.succeed({ action })
      assert.include(yield* withScript(host, { fillForm: fillForm("decline") }, elicit), "User declined")
      assert.include(yield* withScript(host, { fillForm: fillForm("cancel") }, elicit), "User cancelled")
    }))
}

const urlElicitation: Feature = ({ host, it }) => {
  const urlParams = { url: "https://example.com/in", elicitationId: "page-1" }

  it.effect("[ELI-10] the user can decline a URL elicitation", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      const openUrl = ({ elicitationId, mode, url }: Elicitation.UrlParams, serverName: string) => {
        received.push({ elicitationId, mode, url }, serverName)
        return Effect.succeed({ action: "decline" as const })
      }
      const declined = yield* withScript(host, { openUrl }, callForText("trigger-url-elicitation", urlParams))
      assert.include(declined, "User declined to open the URL (Elicitation ID: page-1)")
      assert.deepStrictEqual(received, [{ ...urlParams, mode: "url" }, "mcp-servers/everything"])
    }))

  it.effect("[ELI-14] the server requires a URL elicitation, and accepts the call afterwards", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const openUrl = () => Effect.succeed({ action: "accept" as const })
      const call = withScript(
        host,
        { openUrl },
        callTool("trigger-url-elicitation", { ...urlParams, errorPath: true })
      )
      const { reason } = yield* Effect.flip(call)
      assert(reason._tag === "ErrorResponse")
      const [required, ...more] = Elicitation.requiredUrls(reason.error) ?? []
      assert.deepStrictEqual(more, [])
      assert.strictEqual(required?.url, "https://modelcontextprotocol.io")
      assert.include(asText(yield* call), "User completed the URL elicitation flow")
    }))
}

for (const revision of revisions) {
  describe(`the host with server-everything at ${revision}`, () => {
    const host = make(revision, Child.server(Child.everything, "stdio"))
    layer(host.layer, { excludeTestServices: true })((it) => {
      for (const feature of [handshake, prompts, resources, content, serverRequests]) {
        feature({ it, host, over: "stdio", revision })
      }
    })
  })
}

// The layer has a name, so that it is built once: the layers inside one without a name build it again for themselves.
layer(HttpListener.everything.layer, { excludeTestServices: true })(
  "the host with server-everything over HTTP",
  (it) => {
    for (const revision of revisions) {
      if (revision === "2024-11-05") continue
      const server = HttpListener.server(HttpListener.everything, () => `${HttpListener.everything.address()}/mcp`)
      const host = make(revision, server)
      it.layer(host.layer)(`at ${revision}`, (it) => {
        for (const feature of [handshake, prompts, resources, content, serverRequests]) {
          feature({ it, host, over: "http", revision })
        }
      })
    }
  }
)

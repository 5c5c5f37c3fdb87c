/** Members of revisions after the negotiated one: sent by default, removed by the strict projection. */
import { Content, Revision, type RevisionProjection, type Tool } from "@effect-mcp/protocol"
import { MemoryTransport, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Sessions from "./support/sessions.ts"

const tool: Tool.Tool = {
  name: "add",
  title: "Add",
  inputSchema: { type: "object" },
  outputSchema: { type: "object", properties: { sum: { type: "number" } } },
  annotations: { readOnlyHint: true },
  icons: [{ src: "https://example.com/add.svg" }],
  _meta: { "acme/a": 1 }
}

const link: Content.ResourceLink = { type: "resource_link", uri: "file:///a", name: "a" }
const info = { ...Sessions.info, title: "T", description: "d" }

/** Runs a session in a revision, with one projection, and returns all messages that both sides sent. */
const runSession = Effect.fnUntraced(
  function*(revision: Revision.LegacyRevision, projection?: RevisionProjection.Projection) {
    const pair = yield* MemoryTransport.make()
    const options = { info, ...(projection === undefined ? undefined : { projection }) }
    const contexts: Array<unknown> = []
    const server = yield* Sessions.server(pair.server, {
      "tools/list": () => Effect.succeed({ tools: [tool] }),
      "tools/call": () =>
        Effect.as(
          Effect.orDie(RequestContext.progress({ progress: 1, message: "half" })),
          { content: [link], structuredContent: { sum: 42 } }
        ),
      "completion/complete": (params) => {
        contexts.push(params.context)
        return Effect.succeed({ completion: { values: [] } })
      }
    }, { ...options, capabilities: { tasks: { list: {} }, completions: {} } })
    const client = yield* Sessions.client(pair.client, {
      ...options,
      revisions: [revision],
      capabilities: {
        sampling: { context: {}, tools: {} },
        elicitation: { form: {}, url: {} },
        tasks: { list: {} }
      }
    })
    const steps: Array<string | undefined> = []
    const called = yield* client.callTool("add", {}, {
      onProgress: ({ message }) => Effect.sync(() => steps.push(message))
    })
    yield* client.complete({
      ref: { type: "ref/prompt", name: "p" },
      argument: { name: "a", value: "" },
      context: { arguments: { b: "c" } }
    })
    const { capabilities, info: clientInfo } = yield* server.profile
    return {
      called,
      steps,
      contexts,
      tools: (yield* client.listTools()).tools,
      serverInfo: client.profile.info,
      serverCapabilities: client.profile.capabilities,
      clientInfo,
      clientCapabilities: capabilities
    }
  }
)

const older = Revision.legacy.filter((revision) => revision !== Revision.latestLegacy)

describe.each(older)("at %s", (revision) => {
  const has = (since: Revision.LegacyRevision) => Revision.isAtLeast(revision, since)

  it.effect("tolerant: members of later revisions are sent, and content of a later type becomes text", () =>
    Effect.gen(function*() {
      const { called, clientInfo, contexts, serverInfo, steps, tools } = yield* runSession(revision)
      assert.deepStrictEqual(tools, [tool])
      assert.deepStrictEqual(called, {
        content: [has("2025-06-18") ? link : Content.text("a: file:///a")],
        structuredContent: { sum: 42 }
      })
      assert.deepStrictEqual(steps, ["half"])
      assert.deepStrictEqual(contexts, [{ arguments: { b: "c" } }])
      assert.deepStrictEqual([clientInfo, serverInfo], [info, info])
    }).pipe(Effect.scoped))

  it.effect("[INIT-12] [INIT-13] strict: no member of a later revision is sent", () =>
    Effect.gen(function*() {
      const { called, clientInfo, contexts, serverInfo, steps, tools } = yield* runSession(revision, "strict")
      assert.deepStrictEqual<unknown>(tools, [{
        name: "add",
        inputSchema: { type: "object" },
        ...(has("2025-03-26") ? { annotations: { readOnlyHint: true } } : undefined),
        ...(has("2025-06-18")
          ? { title: tool.title, outputSchema: tool.outputSchema, _meta: tool._meta }
          : undefined)
      }])
      assert.deepStrictEqual<unknown>(
        called,
        has("2025-06-18")
          ? { content: [link], structuredContent: { sum: 42 } }
          : { content: [Content.text("a: file:///a")] }
      )
      assert.deepStrictEqual(steps, [has("2025-03-26") ? "half" : undefined])
      assert.deepStrictEqual(contexts, [has("2025-06-18") ? { arguments: { b: "c" } } : undefined])
      const known = { ...Sessions.info, ...(has("2025-06-18") ? { title: "T" } : undefined) }
      assert.deepStrictEqual<unknown>([clientInfo, serverInfo], [known, known])
    }).pipe(Effect.scoped))

  it.effect("[INIT-12] [INIT-13] tolerant: a capability that changes the behaviour of the peer is not declared", () =>
    Effect.gen(function*() {
      const { clientCapabilities, serverCapabilities } = yield* runSession(revision)
      assert.deepStrictEqual(serverCapabilities, { tools: {}, completions: {}, logging: {} })
      assert.deepStrictEqual(clientCapabilities, {
        sampling: { context: {} },
        ...(has("2025-06-18") ? { elicitation: { form: {} } } : undefined)
      })
    }).pipe(Effect.scoped))
})

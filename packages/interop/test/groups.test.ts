/** A server of groups with the official clients, over stdio as their child process and over HTTP. */
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "./fixtures/child.ts"
import { revisions, revisionsOverHttp } from "./fixtures/coverage.ts"
import { pathOf } from "./fixtures/httpServerPaths.ts"
import * as HttpServers from "./fixtures/httpServers.ts"
import { all, call, type Members, notificationsOf, OfficialClient, result } from "./fixtures/officialClient.ts"
import { type Conditions, isLateProgress, peers } from "./fixtures/officialClients.ts"

const testsWithClient = ({ it, peer, revision }: Conditions) => {
  const hasForms = Revision.isAtLeast(revision, "2025-06-18")

  const text = (outcome: string) => ({ text: outcome, isError: false })

  /** The completed values of an argument. */
  const completed = Effect.fnUntraced(
    function*(
      ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string },
      name: string,
      value: string,
      filled?: { readonly [name: string]: string }
    ) {
      const { request } = yield* OfficialClient
      const { completion } = yield* request.complete({
        ref,
        argument: { name, value },
        ...(filled === undefined ? undefined : { context: { arguments: filled } })
      })
      return completion
    }
  )

  it.effect("[INIT-04] declares the capabilities of its members", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      assert.strictEqual(client.revision, revision)
      assert.strictEqual(client.instructions, "Saw, then paint.")
      assert.deepStrictEqual(client.capabilities, {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        tools: { listChanged: true }
      })
    }))

  it.effect("answers a call with structured content and its text", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const saw = (yield* all(request.listTools, "tools")).find(({ name }) => name === "saw")
      // Clients of revisions without structured content ignore these members.
      assert.property(saw, "outputSchema")
      const value = { pieces: 2, due: "1970-01-01T00:00:00.000Z" }
      const { content, structuredContent } = yield* result("saw", { pieces: 2 })
      assert.deepStrictEqual(content, [{ type: "text", text: JSON.stringify(value) }])
      assert.deepStrictEqual(structuredContent, value)
    }))

  it.effect("answers a declared failure, although the tool has an output schema", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("saw", { pieces: 12 }), {
        text: "out of wood: 2 more needed",
        isError: true
      })
    }))

  it.effect("checks the arguments of a dynamic tool", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("dynamic", { a: 1 }), text(`{"a":1}`))
      const outcome = yield* call("dynamic", { a: 0 })
      if (revision === "2025-11-25") assert.propertyVal(outcome, "isError", true)
      else assert.propertyVal(outcome, "code", -32602)
    }))

  it.effect("keeps state for the session", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("use", {}), text(`{"uses":1}`))
      assert.deepStrictEqual(yield* call("use", {}), text(`{"uses":2}`))
    }))

  it.effect("elicits input where the revision has elicitation, and answers what the user decided", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      const forms: Array<Members> = []
      handlers.elicitation = ({ params }) => {
        forms.push(params)
        return Effect.succeed({ action: "accept", content: { color: "blue" } })
      }
      const outcome = yield* call("elicit", {})
      if (!hasForms) {
        assert.propertyVal(outcome, "isError", true)
        assert.deepStrictEqual(forms, [])
        return
      }
      assert.deepStrictEqual(outcome, text("painted blue"))
      assert.strictEqual(forms[0]?.["message"], "Which color?")
      handlers.elicitation = () => Effect.succeed({ action: "decline" })
      assert.propertyVal(yield* call("elicit", {}), "isError", true)
      handlers.elicitation = () => Effect.succeed({ action: "accept", content: { color: "green" } })
      assert.propertyVal(yield* call("elicit", {}), "isError", true)
    }))

  it.effect("samples from the model of the client", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      handlers.sampling = () =>
        Effect.succeed({ role: "assistant", model: "ada", content: { type: "text", text: "Beam" } })
      assert.deepStrictEqual(yield* call("sample", {}), text("named Beam"))
    }))

  it.effect("[PRG-03] reports progress", () =>
    Effect.gen(function*() {
      const { errors } = yield* OfficialClient
      const steps: Array<unknown> = []
      const outcome = yield* call("progress", {}, {
        onprogress: ({ progress, total }) => steps.push([progress, total])
      })
      assert.deepStrictEqual(outcome, text("done"))
      assert.strictEqual(steps.length + errors.filter(isLateProgress).length, 1)
      assert.deepStrictEqual(steps, steps.map(() => [1, 2]))
    }))

  it.effect("[LOG-02] sends what its handlers log, from the level of the client on", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const logged = () => notificationsOf(client, "notifications/message").length
      yield* client.request.setLoggingLevel("error")
      assert.deepStrictEqual(yield* call("log", {}), text("logged"))
      yield* client.request.setLoggingLevel("info")
      yield* call("log", {})
      yield* Child.until(() => logged() > 0)
      assert.deepInclude(notificationsOf(client, "notifications/message")[0], { level: "warning", data: "dull blade" })
      assert.strictEqual(logged(), 1)
    }))

  it.effect("lists and reads resources and templates", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const read = (uri: string) => Effect.map(request.readResource({ uri }), ({ contents }) => contents)
      const listed = yield* all(request.listResources, "resources")
      assert.deepStrictEqual(listed.map(({ uri }) => uri), ["workshop://bench", "workshop://photo"])
      const templates = yield* all(request.listResourceTemplates, "resourceTemplates")
      assert.deepStrictEqual(templates.map(({ uriTemplate }) => uriTemplate), ["workshop://drawers/{name}{?page}"])
      assert.deepStrictEqual(yield* read("workshop://bench"), [
        { uri: "workshop://bench", mimeType: "text/plain", text: "a bench" }
      ])
      assert.deepStrictEqual(yield* read("workshop://photo"), [
        { uri: "workshop://photo", mimeType: "image/png", blob: "AQID" }
      ])
      assert.deepStrictEqual(yield* read("workshop://drawers/nuts?page=3"), [
        { uri: "workshop://drawers/nuts?page=3", mimeType: "application/json", text: `{"name":"nuts","page":3}` }
      ])
    }))

  it.effect("[RES-05] a resource that is not there is answered with -32002; version 2 reports -32602 for it", () =>
    Effect.gen(function*() {
      const { received, request } = yield* OfficialClient
      const failure = yield* Effect.flip(request.readResource({ uri: "workshop://drawers/glue" }))
      assert.propertyVal(failure, "code", peer.name === "official v2" ? -32602 : -32002)
      assert.nestedPropertyVal(received.at(-1), "error.code", -32002)
    }))

  it.effect("[RES-03] [RES-04] notifies of a resource between subscribe and unsubscribe", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const updates = () => notificationsOf(client, "notifications/resources/updated")
      const uri = "workshop://bench"
      yield* call("paint", {})
      yield* client.request.subscribeResource({ uri })
      yield* call("paint", {})
      yield* Child.until(() => updates().length > 0)
      yield* client.request.unsubscribeResource({ uri })
      yield* call("paint", {})
      yield* client.request.ping
      assert.deepStrictEqual(updates(), [{ uri }])
    }))

  it.effect("answers a prompt", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const { messages } = yield* request.getPrompt({ name: "plan", arguments: { wood: "oak", size: "desk" } })
      assert.deepStrictEqual(messages, [{ role: "user", content: { type: "text", text: "Plan a desk of oak." } }])
      const failure = yield* Effect.flip(
        request.getPrompt({ name: "plan", arguments: { wood: "steel", size: "desk" } })
      )
      assert.propertyVal(failure, "code", -32602)
    }))

  it.effect("completes arguments of prompts and templates", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* completed({ type: "ref/prompt", name: "plan" }, "wood", "o"), {
        values: ["oak", "olive"]
      })
      assert.deepInclude(
        yield* completed({ type: "ref/resource", uri: "workshop://drawers/{name}{?page}" }, "name", "n"),
        { values: ["nails", "nuts"] }
      )
      const wood = hasForms ? "oak" : "any"
      assert.deepInclude(
        yield* completed({ type: "ref/prompt", name: "plan" }, "size", "", hasForms ? { wood } : undefined),
        { values: [`small ${wood}`, `large ${wood}`] }
      )
    }))

  // This test changes the list, so it is the last one.
  it.effect("adds a tool at run time, and notifies the client", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      assert.deepStrictEqual(yield* call("install", {}), text("installed"))
      yield* Child.until(() => notificationsOf(client, "notifications/tools/list_changed").length > 0)
      const names = (yield* all(client.request.listTools, "tools")).map(({ name }) => name)
      assert.include(names, "extra")
      assert.deepStrictEqual(yield* call("extra", {}), text("there"))
      assert.deepStrictEqual(client.errors.filter((error) => !isLateProgress(error)), [])
    }))
}

for (const peer of peers) {
  for (const revision of revisions) {
    describe(`a server of groups with ${peer.name} at ${revision}`, () => {
      layer(peer.connect(peer.program("workshop", revision), revision), { excludeTestServices: true })((it) => {
        testsWithClient({ it, over: "stdio", peer, revision })
      })
    })
  }
}

const overHttp = peers.flatMap((peer) =>
  revisionsOverHttp.map((revision) => ({
    path: pathOf("workshop", "adaptive", revision, peer.name),
    peer,
    revision
  }))
)

// The layer has a name, so that it is built once: the layers inside one without a name build it again for themselves.
layer(HttpServers.layer(...overHttp.map(({ path }) => path)), { excludeTestServices: true })(
  "a server of groups over HTTP",
  (it) => {
    for (const { path, peer, revision } of overHttp) {
      it.layer(HttpServers.at(path, (target) => peer.connect(target, revision)))(
        `with ${peer.name} at ${revision}`,
        (it) => testsWithClient({ it, over: "adaptive", peer, revision })
      )
    }
  }
)

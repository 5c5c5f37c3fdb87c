import { Content, JsonRpc, Revision } from "@effect-mcp/protocol"
import type { ClientSession, RequestError, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  connected,
  names,
  performHandshake,
  settled,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

type Attempt = Effect.Effect<unknown, RequestError.RequestError>

const reasonOf = (attempt: Attempt) => Effect.map(Effect.flip(attempt), ({ reason }) => reason)

const missing = (capability: string): RequestError.RequestErrorReason => ({ _tag: "MissingCapability", capability })

const undeclared = (capability: string): RequestError.RequestErrorReason => {
  const [whole = "", flag] = capability.split(".")
  return {
    _tag: "UndeclaredCapability",
    capability,
    option: flag === undefined ? `capabilities: { ${whole}: {} }` : `capabilities: { ${whole}: { ${flag}: true } }`
  }
}

const jsonOf = (reason: RequestError.RequestErrorReason) => JSON.stringify(reason)

/** Returns the capability that contains a sub-capability. */
const parentOf = (capability: string): string => capability.replace(/\..*/, "")

/** The requests of a client that need a capability of its server. */
const clientRequests = (
  session: ClientSession.ClientSessionShape
): ReadonlyArray<readonly [capability: string, Attempt]> => [
  ["tools", session.listTools()],
  ["tools", session.callTool("x")],
  ["resources", session.listResources()],
  ["resources", session.listResourceTemplates()],
  ["resources", session.readResource("file:///x")],
  ["resources.subscribe", session.subscribeResource("file:///x")],
  ["resources.subscribe", session.unsubscribeResource("file:///x")],
  ["prompts", session.listPrompts()],
  ["prompts", session.getPrompt("x")],
  ["logging", session.setLogLevel("info")]
]

/** The requests of a server that need a capability of its client. */
const serverRequests = (
  session: ServerSession.ServerSessionShape
): ReadonlyArray<readonly [capability: string, since: Revision.LegacyRevision, Attempt]> => [
  ["roots", "2024-11-05", session.listRoots()],
  ["sampling", "2024-11-05", session.createMessage({ messages: [], maxTokens: 1 })],
  ["elicitation.form", "2025-06-18", session.elicitForm("Who?", { type: "object", properties: {} })],
  ["elicitation.url", "2025-11-25", session.elicitUrl("Visit", { url: "https://example.com", elicitationId: "1" })],
  ["sampling.tools", "2025-11-25", session.createMessage({ messages: [], maxTokens: 1, tools: [] })]
]

/** The notifications of a server that need one of its capabilities. */
const serverNotifications = (
  session: ServerSession.ServerSessionShape
): ReadonlyArray<readonly [capability: string, Attempt]> => [
  ["logging", session.log({ level: "emergency", data: "x" })],
  ["tools.listChanged", session.toolListChanged],
  ["resources.listChanged", session.resourceListChanged],
  ["resources.subscribe", session.resourceUpdated("file:///x")],
  ["prompts.listChanged", session.promptListChanged]
]

// Before 2025-06-18, the specification says that both sides should use only declared capabilities, and later that they
// must.
const ids = (revision: Revision.LegacyRevision) =>
  Revision.isAtLeast(revision, "2025-06-18") ? "[INIT-13] [INIT-15]" : "[INIT-12] [INIT-14]"

for (const revision of Revision.legacy) {
  describe(`${ids(revision)} undeclared capabilities in ${revision}`, () => {
    it.effect("fail the requests and notifications of a client, and nothing is sent", () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawServer({
          result: RawServer.initializeResult({ protocolVersion: revision, capabilities: {} })
        })
        for (const [capability, attempt] of clientRequests(session)) {
          assert.deepStrictEqual(yield* reasonOf(attempt), missing(capability))
        }
        assert.deepStrictEqual(yield* reasonOf(session.rootsListChanged), undeclared("roots.listChanged"))
        assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
      }))

    it.effect("fail the requests and notifications of a server, and nothing is sent", () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient({ server: { capabilities: { logging: false } } })
        yield* performHandshake(raw, revision)
        for (const [capability, since, attempt] of serverRequests(session)) {
          const reason = yield* reasonOf(attempt)
          // The reason may name the sub-capability, the capability, or the revision, because each of them is missing.
          if (reason._tag === "NotInRevision") assert.isFalse(Revision.isAtLeast(revision, since), capability)
          else assert.include([missing(capability), missing(parentOf(capability))].map(jsonOf), jsonOf(reason))
        }
        for (const [capability, attempt] of serverNotifications(session)) {
          assert.deepStrictEqual(yield* reasonOf(attempt), undeclared(capability))
        }
        yield* settled
        assert.deepStrictEqual(yield* raw.pending, [])
      }))
  })
}

it.effect("the error of an undeclared capability names the side that has not declared it", () =>
  Effect.gen(function*() {
    const { client, server } = yield* connected()
    assert.strictEqual(
      (yield* Effect.flip(server.toolListChanged)).message,
      "notifications/tools/list_changed: this side has not declared the capability \"tools.listChanged\"; " +
        "set the option capabilities: { tools: { listChanged: true } } to declare it"
    )
    assert.strictEqual(
      (yield* Effect.flip(client.listTools())).message,
      "tools/list: the peer has not declared the capability \"tools\", which this message needs"
    )
  }))

describe("[INIT-15] a declared capability does not imply its sub-capabilities", () => {
  it.effect("resources do not imply resources.subscribe", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawServer({
        result: RawServer.initializeResult({ capabilities: { resources: { listChanged: true } } })
      })
      assert.deepStrictEqual(yield* reasonOf(session.subscribeResource("file:///x")), missing("resources.subscribe"))
    }))

  it.effect("sampling implies neither sampling.tools nor sampling.context", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* raw.send({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: {
          protocolVersion: Revision.latestLegacy,
          capabilities: { sampling: {} },
          clientInfo: { name: "c", version: "1" }
        }
      })
      yield* raw.response
      const messages = [{ role: "user" as const, content: Content.text("hi") }]
      assert.deepStrictEqual(
        yield* reasonOf(session.createMessage({ messages, maxTokens: 1, toolChoice: { mode: "auto" } })),
        missing("sampling.tools")
      )
      assert.deepStrictEqual(
        yield* reasonOf(session.createMessage({ messages, maxTokens: 1, includeContext: "thisServer" })),
        missing("sampling.context")
      )
    }))
})

describe("[TSK-06] a request with the param task, for a side that has not declared tasks", () => {
  it.effect("is served by a server like any other request", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x", { task: { ttl: 60_000 } }))
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("x")))
    }))

  it.effect("is served by a client like any other request", () =>
    Effect.gen(function*() {
      const answer = { role: "assistant" as const, content: Content.text("42"), model: "m" }
      const { raw } = yield* withRawServer({
        client: { handlers: { "sampling/createMessage": () => Effect.succeed(answer) } }
      })
      yield* raw.send(JsonRpc.request("s", "sampling/createMessage", { messages: [], maxTokens: 1, task: {} }))
      yield* settled
      assert.deepStrictEqual<unknown>(raw.received.at(-1), JsonRpc.success("s", answer))
    }))
})

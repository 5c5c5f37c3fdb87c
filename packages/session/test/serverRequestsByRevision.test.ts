/** Requests of a server that depend on the revision and on the declared capabilities. */
import { Content, JsonRpc, type Sampling } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { info, names, reasonOf, settled, start, withRawClient } from "./support/sessions.ts"

const params: Sampling.CreateMessageParams = {
  messages: [{ role: "user", content: Content.text("hello") }],
  maxTokens: 10
}

/** Makes a server session whose client has this revision and these capabilities. */
const withClient = Effect.fnUntraced(function*(protocolVersion: string, capabilities: object) {
  const all = yield* withRawClient()
  yield* all.raw.send(JsonRpc.request(0, "initialize", { protocolVersion, capabilities, clientInfo: info }))
  yield* all.raw.response
  yield* all.raw.send(JsonRpc.notification("notifications/initialized"))
  yield* settled
  return all
})

const everything = { sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} }, roots: {} }

const reasonOfRequest = (request: Effect.Effect<unknown, RequestError.RequestError>) =>
  Effect.flatMap(start(request), reasonOf)

describe("requests of a server by revision", () => {
  for (const includeContext of ["thisServer", "allServers"] as const) {
    it.effect(`[SMP-09] includeContext ${includeContext} needs a capability in 2025-11-25`, () =>
      Effect.gen(function*() {
        const { session } = yield* withClient("2025-11-25", { sampling: { tools: {} } })
        assert.deepStrictEqual(yield* reasonOfRequest(session.createMessage({ ...params, includeContext })), {
          _tag: "MissingCapability",
          capability: "sampling.context"
        })
      }))

    it.effect(`[SMP-09] includeContext ${includeContext} is sent in 2025-06-18, which has no capability for it`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withClient("2025-06-18", { sampling: {} })
        const request = yield* start(session.createMessage({ ...params, includeContext }))
        yield* settled
        const [sent] = yield* raw.pending
        assert.strictEqual(
          sent !== undefined && "method" in sent ? sent.params?.["includeContext"] : undefined,
          includeContext
        )
        yield* Fiber.interrupt(request)
      }))
  }

  it.effect("[SMP-02] sampling with tools is NotInRevision before 2025-11-25, whatever was declared", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withClient("2025-06-18", everything)
      const tools = [{ name: "x", inputSchema: { type: "object" as const } }]
      assert.deepStrictEqual(yield* reasonOfRequest(session.createMessage({ ...params, tools })), {
        _tag: "NotInRevision",
        revision: "2025-06-18",
        since: "2025-11-25"
      })
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[INIT-13] a multiple choice in a form is NotInRevision before 2025-11-25; a single choice is sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withClient("2025-06-18", { elicitation: {} })
      const items = { type: "string" as const, enum: ["a", "b"] }
      assert.deepStrictEqual(
        yield* reasonOfRequest(
          session.elicitForm("Which?", { type: "object", properties: { all: { type: "array", items } } })
        ),
        { _tag: "NotInRevision", revision: "2025-06-18", since: "2025-11-25" }
      )
      const request = yield* start(session.elicitForm("Which?", { type: "object", properties: { one: items } }))
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), ["elicitation/create"])
      yield* Fiber.interrupt(request)
    }))

  it.effect("[MSG-27] a request whose params do not match the schema is not sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withClient("2025-11-25", everything)
      const invalid = { ...params, maxTokens: Number.NaN }
      const reason = yield* reasonOfRequest(session.createMessage(invalid))
      assert.strictEqual(reason._tag, "InvalidParams")
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("law 1: [INIT-10] a request whose params throw when the handshake is done fails its caller", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      let broken = false
      const content = Content.text("hello")
      const request = yield* start(session.createMessage({
        maxTokens: 1,
        messages: [{
          role: "user",
          get content() {
            if (broken) throw new Error("no longer there")
            return content
          }
        }]
      }))
      broken = true
      const other = yield* start(session.listRoots())
      yield* raw.send(JsonRpc.request(0, "initialize", {
        protocolVersion: "2025-11-25",
        capabilities: everything,
        clientInfo: info
      }))
      yield* raw.send(JsonRpc.notification("notifications/initialized"))
      yield* settled
      assert.strictEqual((yield* reasonOf(request))._tag, "InvalidParams")
      // The other waiting request is not affected.
      assert.deepStrictEqual(names(yield* raw.pending), [0, "roots/list"])
      yield* Fiber.interrupt(other)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))
})

/** What may be asked depends on the revision and on the parts that were declared: which reason is given, and which question goes out. */
import { Content, JsonRpc, type Sampling } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { info, names, reasonOf, settled, start, withRawClient } from "./support/sessions.ts"

const question: Sampling.CreateMessageParams = {
  messages: [{ role: "user", content: Content.text("hello") }],
  maxTokens: 10
}

/** A server whose client has introduced itself like this. */
const introducedAs = Effect.fnUntraced(function*(protocolVersion: string, capabilities: object) {
  const all = yield* withRawClient()
  yield* all.raw.send(JsonRpc.request(0, "initialize", { protocolVersion, capabilities, clientInfo: info }))
  yield* all.raw.response
  yield* all.raw.send(JsonRpc.notification("notifications/initialized"))
  yield* settled
  return all
})

const everything = { sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} }, roots: {} }

const why = (asking: Effect.Effect<unknown, RequestError.RequestError>) => Effect.flatMap(start(asking), reasonOf)

describe("questions, revision by revision", () => {
  for (const includeContext of ["thisServer", "allServers"] as const) {
    it.effect(`[SMP-09] the context of ${includeContext} needs a capability, where revisions have one`, () =>
      Effect.gen(function*() {
        const { session } = yield* introducedAs("2025-11-25", { sampling: { tools: {} } })
        assert.deepStrictEqual(yield* why(session.createMessage({ ...question, includeContext })), {
          _tag: "MissingCapability",
          capability: "sampling.context"
        })
      }))

    it.effect(`[SMP-09] the context of ${includeContext} goes out where they have none`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* introducedAs("2025-06-18", { sampling: {} })
        const asking = yield* start(session.createMessage({ ...question, includeContext }))
        yield* settled
        const [sent] = yield* raw.pending
        assert.strictEqual(
          sent !== undefined && "method" in sent ? sent.params?.["includeContext"] : undefined,
          includeContext
        )
        yield* Fiber.interrupt(asking)
      }))
  }

  it.effect("[SMP-02] tools are not for older revisions, whatever was declared", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* introducedAs("2025-06-18", everything)
      const tools = [{ name: "x", inputSchema: { type: "object" as const } }]
      assert.deepStrictEqual(yield* why(session.createMessage({ ...question, tools })), {
        _tag: "NotInRevision",
        revision: "2025-06-18",
        since: "2025-11-25"
      })
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("[INIT-13] a list of choices is not for older revisions; one choice is", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* introducedAs("2025-06-18", { elicitation: {} })
      const items = { type: "string" as const, enum: ["a", "b"] }
      assert.deepStrictEqual(
        yield* why(session.elicitForm("Which?", { type: "object", properties: { all: { type: "array", items } } })),
        { _tag: "NotInRevision", revision: "2025-06-18", since: "2025-11-25" }
      )
      const asking = yield* start(session.elicitForm("Which?", { type: "object", properties: { one: items } }))
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), ["elicitation/create"])
      yield* Fiber.interrupt(asking)
    }))

  it.effect("[MSG-27] a question that does not fit its own schema is not asked", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* introducedAs("2025-11-25", everything)
      const unfit = { ...question, maxTokens: Number.NaN }
      const reason = yield* why(session.createMessage(unfit))
      assert.strictEqual(reason._tag, "InvalidParams")
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("law 1: [INIT-10] a held question that cannot be read when the client is ready fails its caller", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      let broken = false
      const content = Content.text("hello")
      const asking = yield* start(session.createMessage({
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
      assert.strictEqual((yield* reasonOf(asking))._tag, "InvalidParams")
      // What was asked besides is not affected.
      assert.deepStrictEqual(names(yield* raw.pending), [0, "roots/list"])
      yield* Fiber.interrupt(other)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))
})

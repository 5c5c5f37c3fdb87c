/** `ServerSession` with the option `stateless`. `statelessServers.test.ts` tests it with `StatelessServer`. */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, RequestContext, type RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { call, initialize, initialized, names, settled, start, text, tools, withRawClient } from "./support/sessions.ts"

const stateless = (
  handlers: Parameters<typeof tools>[0] = {},
  revision: Revision.LegacyRevision = Revision.latestLegacy
) =>
  withRawClient({
    handlers: tools(handlers),
    server: { capabilities: { logging: {}, tools: { listChanged: true } }, stateless: { revision } }
  })

const notSupported = { _tag: "StatelessModeNotSupported" }

describe("a ServerSession with the option stateless", () => {
  it.effect("serves any first message", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* stateless({ x: Effect.succeed(text("x")) })
      yield* raw.send(call("a", "x"))
      assert.deepStrictEqual(yield* raw.response, JsonRpc.success("a", text("x")))
      yield* raw.send(JsonRpc.request(2, "ping", undefined))
      assert.deepStrictEqual(yield* raw.response, JsonRpc.success(2, {}))
      assert.deepStrictEqual(yield* session.state, { _tag: "Stateless" })
    }))

  it.effect("has only the revision of its client", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { raw, session } = yield* stateless({
        x: Effect.map(RequestContext.RequestContext, ({ profile }) => {
          seen.push(profile)
          return text("x")
        })
      }, "2025-06-18")
      const unknown = { revision: "2025-06-18" as const, capabilities: {}, info: undefined }
      yield* raw.send(call(1, "x"))
      yield* raw.response
      assert.deepStrictEqual(seen, [unknown])
      assert.deepStrictEqual(yield* session.profile, unknown)
      for (const required of [{ sampling: {} }, { experimental: {} }, {}]) {
        assert.isFalse(yield* session.hasCapability(required), JSON.stringify(required))
      }
      assert.isUndefined(yield* session.requestedRevision)
      assert.isUndefined(yield* session.initializeMeta)
    }))

  it.effect("[INIT-04] [INIT-05] answers every initialize with its revision, and stores no client", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* stateless({}, "2025-06-18")
      for (const requested of ["2024-11-05", "2025-06-18", "2025-11-25", "1999-01-01"]) {
        yield* raw.send(initialize(requested))
        const answer = yield* raw.response
        assert.strictEqual(
          "result" in answer && typeof answer.result === "object" && answer.result !== null &&
            "protocolVersion" in answer.result && answer.result.protocolVersion,
          // The server serves only this revision, whatever the client requests.
          "2025-06-18"
        )
        yield* raw.send(initialized)
      }
      assert.deepStrictEqual(yield* session.profile, { revision: "2025-06-18", capabilities: {}, info: undefined })
      assert.deepStrictEqual(yield* session.state, { _tag: "Stateless" })
    }))

  it.effect("stores no client of an initialize, and passes no profile to its transport", () =>
    Effect.gen(function*() {
      const profiles: Array<unknown> = []
      const established: Array<unknown> = []
      const { raw } = yield* withRawClient({
        handlers: tools({
          name: Effect.map(RequestContext.RequestContext, ({ profile }) => {
            profiles.push(profile)
            return text("x")
          })
        }),
        server: { stateless: { revision: "2025-06-18" } },
        pair: Effect.map(MemoryTransport.make(), (pair) => ({
          ...pair,
          server: {
            connect: Effect.map(pair.server.connect, (connection) => ({
              ...connection,
              onHandshake: (profile) => established.push(profile)
            }))
          }
        }))
      })
      yield* raw.send(initialize("2025-11-25"))
      yield* raw.response
      yield* raw.send(call(1, "name"))
      yield* raw.response
      assert.deepStrictEqual(profiles, [{ revision: "2025-06-18", capabilities: {}, info: undefined }])
      assert.deepStrictEqual(established, [])
    }))

  it.effect("sends no request, ping included: each fails with StatelessModeNotSupported", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* stateless()
      yield* settled
      const message = { role: "user" as const, content: { type: "text" as const, text: "hi" } }
      const unmatchedResult = {
        role: "user" as const,
        content: { type: "tool_result" as const, toolUseId: "1", content: [] }
      }
      const page = { url: "https://example.com", elicitationId: "1" }
      const requests: ReadonlyArray<Effect.Effect<unknown, RequestError.RequestError>> = [
        session.ping(),
        session.ping({ timeout: "Infinity" }),
        session.listRoots(),
        session.createMessage({ messages: [message], maxTokens: 1 }),
        // This error precedes the checks of the params.
        session.createMessage({ messages: [unmatchedResult], maxTokens: 1 }),
        session.elicitForm("Name?", { type: "object", properties: {} }),
        session.elicitUrl("Visit", page),
        session.request("roots/list", {})
      ]
      for (const request of requests) assert.deepStrictEqual((yield* Effect.flip(request)).reason, notSupported)
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.match((yield* Effect.flip(session.ping())).message, /^ping: .*without sessions/)
    }))

  it.effect("sends notifications", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* stateless()
      yield* settled
      yield* session.toolListChanged
      assert.deepStrictEqual(names(yield* raw.pending), ["notifications/tools/list_changed"])
    }))

  it.effect("closes like a session, and interrupts its handlers", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* stateless({ wait: Effect.never })
      yield* raw.send(call(1, "wait"))
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      const closing = yield* start(session.close)
      yield* settled
      assert.strictEqual((yield* session.state)._tag, "Closed")
      assert.isDefined(closing.pollUnsafe())
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))
})

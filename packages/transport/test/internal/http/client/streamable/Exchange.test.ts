import { JsonRpc } from "@effect-mcp/protocol"
import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"
import * as TransportError from "@effect-mcp/session/TransportError"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { type ClientState, sessionIdentity } from "../../../../../src/internal/http/client/streamable/ClientState.ts"
import { Exchange } from "../../../../../src/internal/http/client/streamable/Exchange.ts"
import { Repetitions } from "../../../../../src/internal/http/client/streamable/Repetitions.ts"
import * as SessionCleanup from "../../../../../src/internal/http/client/streamable/SessionCleanup.ts"
import { events, json, response, type Script, stateOver } from "../../../../support/scriptedEndpoint.ts"

const responseTo = (id: unknown) => ({ jsonrpc: "2.0", id, result: {} })

/** Creates an exchange over scripted responses. A renewal sets the session id to "two". */
const over = Effect.fnUntraced(function*(script: Script) {
  const parts = yield* stateOver(script)
  const { state } = parts
  let starts = 0
  const renew = (lost: ClientState["session"]) =>
    Effect.gen(function*() {
      if (state.session === lost) state.session = yield* sessionIdentity("two", true)
    })
  const scope = yield* Effect.scope
  const exchange = new Exchange({
    repetitions: new Repetitions(state, scope, yield* MemoryBudget.MemoryBudget),
    scope,
    state,
    renew,
    sessions: SessionCleanup.make((session) => state.endpoint.remove({ session, revision: undefined }), 1000),
    standalone: { start: Effect.sync(() => void starts++) }
  })
  return {
    ...parts,
    starts: () => starts,
    request: (id: number, method: string) => exchange.request(JsonRpc.request(id, method, {})),
    send: (frame: JsonRpc.Frame) => exchange.send(frame)
  }
})

it.effect("an answer that waits for a new session is not sent there, and a notification is", () =>
  Effect.gen(function*() {
    const { send, sent, state } = yield* over(() => response(202))
    const renewal = { lost: state.session, done: yield* Deferred.make<void, TransportError.TransportError>() }
    state.renewal = renewal
    const answering = yield* Effect.forkChild(Effect.flip(send(JsonRpc.success(5, {}))), { startImmediately: true })
    const notifying = yield* Effect.forkChild(send(JsonRpc.notification("x")), { startImmediately: true })
    state.session = yield* sessionIdentity("two", true)
    state.renewal = undefined
    yield* Deferred.succeed(renewal.done, undefined)
    assert.strictEqual((yield* Fiber.join(answering)).reason._tag, "SessionLost")
    yield* Fiber.join(notifying)
    assert.deepStrictEqual(sent.map(({ message, session }) => [message?.method, session]), [["x", "two"]])
  }))

describe("a request", () => {
  it.effect("[HTTP-10] delivers a JSON body, and marks its session as used", () =>
    Effect.gen(function*() {
      const { delivered, request, state } = yield* over(() => json(responseTo(1)))
      yield* request(1, "tools/call")
      assert.deepStrictEqual(delivered, [responseTo(1)])
      assert.isTrue(state.session.answered)
    }))

  it.effect("[HTTP-10] delivers an SSE stream up to the response", () =>
    Effect.gen(function*() {
      const note = { jsonrpc: "2.0", method: "notifications/progress" }
      const { delivered, request } = yield* over(() => events([["a", note], ["b", responseTo(1)]]))
      yield* request(1, "tools/call")
      assert.deepStrictEqual(delivered, [note, responseTo(1)])
    }))

  it.effect("[SHS-24] takes the session id from the response to initialize", () =>
    Effect.gen(function*() {
      const { request, state } = yield* over(() => json(responseTo(0), { "mcp-session-id": "first" }))
      yield* Effect.scoped(request(0, "initialize"))
      assert.strictEqual(state.session.id, "first")
      assert.strictEqual(state.initializeRequest?.id, 0)
    }))

  it.effect("[SHS-27] that a lost session rejects is sent again in a new one, once", () =>
    Effect.gen(function*() {
      const found = yield* over(({ session }) => session === "two" ? json(responseTo(1)) : response(404))
      yield* found.request(1, "tools/call")
      assert.deepStrictEqual(found.sent.map(({ session }) => session), ["one", "two"])
      const lost = yield* over(() => response(404))
      const error = yield* Effect.flip(lost.request(1, "tools/call"))
      assert.isTrue(error.reason._tag === "Rejected" && error.reason.status === 404)
      assert.lengthOf(lost.sent, 2)
    }))

  it.effect("that may have been carried out is repeated only if its method is safe", () =>
    Effect.gen(function*() {
      for (const [method, count] of [["tools/call", 1], ["tools/list", 2]] as const) {
        let renewSession = () => {}
        const { request, sent, state } = yield* over(({ session }) => {
          if (session === "two") return json(responseTo(1))
          renewSession()
          // The stream ends without a response, and cannot be resumed.
          return events([])
        })
        renewSession = () => {
          state.session = { id: "two", openedAt: 0, isRenewed: true, answered: false }
        }
        const exit = yield* Effect.exit(request(1, method))
        assert.strictEqual(exit._tag, count === 1 ? "Failure" : "Success")
        assert.lengthOf(sent, count)
      }
    }))

  it.effect("that is answered with 202 fails at once", () =>
    Effect.gen(function*() {
      const { request } = yield* over(() => response(202))
      assert.strictEqual((yield* Effect.flip(request(1, "ping"))).reason._tag, "ExchangeEnded")
    }))
})

describe("a message without a response", () => {
  it.effect("starts the standalone stream if it ends the handshake", () =>
    Effect.gen(function*() {
      const { send, starts } = yield* over(() => response(202))
      yield* send(JsonRpc.notification("notifications/roots/list_changed"))
      assert.strictEqual(starts(), 0)
      yield* send(JsonRpc.notification("notifications/initialized"))
      assert.strictEqual(starts(), 1)
    }))

  it.effect("is sent again in a new session, unless it is a response", () =>
    Effect.gen(function*() {
      const script: Script = ({ session }) => response(session === "two" ? 202 : 404)
      const notified = yield* over(script)
      yield* notified.send(JsonRpc.notification("notifications/roots/list_changed"))
      assert.lengthOf(notified.sent, 2)
      const responded = yield* over(script)
      const error = yield* Effect.flip(responded.send(JsonRpc.success(5, {})))
      assert.strictEqual(error.reason._tag, "Rejected")
      assert.lengthOf(responded.sent, 1)
    }))
})

it.effect("the last message of the handshake is sent again after a person has authorized the client", () =>
  Effect.gen(function*() {
    const acted = Deferred.makeUnsafe<void>()
    const authorized = Deferred.await(acted)
    const required = TransportError.make({ _tag: "AuthorizationRequired", target: "x", since: 0, authorized })
    const { send, sent, starts } = yield* over((_, index) => index === 0 ? required : response(202))
    yield* send(JsonRpc.notification("notifications/initialized"))
    yield* Effect.yieldNow
    assert.deepStrictEqual([sent.length, starts()], [1, 0])
    Deferred.doneUnsafe(acted, Effect.void)
    yield* TestClock.adjust(0)
    assert.deepStrictEqual([sent.length, starts()], [2, 1])
  }))

it.effect("another message without a response fails while a person has to authorize the client", () =>
  Effect.gen(function*() {
    const required = TransportError.make({
      _tag: "AuthorizationRequired",
      target: "x",
      since: 0,
      authorized: Effect.never
    })
    const { send } = yield* over(() => required)
    assert.strictEqual(yield* Effect.flip(send(JsonRpc.notification("notifications/message"))), required)
  }))

import * as TransportError from "@effect-mcp/session/TransportError"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { ClientState, sessionIdentity } from "../../../../../src/internal/http/client/streamable/ClientState.ts"
import { response, scripted, stateOver } from "../../../../support/scriptedEndpoint.ts"

const lost = TransportError.make({ _tag: "SessionLost", problem: "for good" })

it.effect("early frames are delivered first to a subscriber, and none after it has unsubscribed", () =>
  Effect.gen(function*() {
    const { state: { settings } } = yield* stateOver(() => response(202))
    const { endpoint } = scripted(() => response(202))
    const state = new ClientState(endpoint, settings, yield* sessionIdentity(undefined, false))
    const delivered: Array<unknown> = []
    const deliver = (value: number) => state.deliver({ frame: Result.succeed(value) })
    deliver(1)
    deliver(2)
    state.subscribe(({ frame }) => void delivered.push(Result.merge(frame)), undefined)
    deliver(3)
    state.unsubscribe()
    deliver(4)
    assert.deepStrictEqual(delivered, [1, 2, 3])
  }))

it.effect("ready waits for a renewal in progress, and fails with it", () =>
  Effect.gen(function*() {
    const { state } = yield* stateOver(() => response(202))
    yield* state.ready
    const done = Deferred.makeUnsafe<void, TransportError.TransportError>()
    state.renewal = { lost: state.session, done }
    const waiting = yield* Effect.forkChild(Effect.flip(state.ready), { startImmediately: true })
    assert.isUndefined(waiting.pollUnsafe())
    Deferred.doneUnsafe(done, Exit.fail(lost))
    assert.strictEqual(yield* Fiber.join(waiting), lost)
  }))

it.effect("the first failure ends the connection", () =>
  Effect.gen(function*() {
    const { state } = yield* stateOver(() => response(202))
    state.fail(Cause.fail(lost))
    state.fail(Cause.fail(TransportError.make({ _tag: "InUse" })))
    assert.strictEqual(yield* Effect.flip(state.failed), lost)
  }))

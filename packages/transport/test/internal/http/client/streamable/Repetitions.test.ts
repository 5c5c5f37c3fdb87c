import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { sessionIdentity } from "../../../../../src/internal/http/client/streamable/ClientState.ts"
import { Exchange } from "../../../../../src/internal/http/client/streamable/Exchange.ts"
import { Repetitions } from "../../../../../src/internal/http/client/streamable/Repetitions.ts"
import * as SessionCleanup from "../../../../../src/internal/http/client/streamable/SessionCleanup.ts"
import { response, type Script, stateOver } from "../../../../support/scriptedEndpoint.ts"

/** Creates an exchange over scripted responses, and the budget that its messages are charged to. */
const over = Effect.fnUntraced(function*(script: Script, maxBytes = 1_000_000) {
  const parts = yield* stateOver(script)
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const budget = MemoryBudget.make({ maxBytes })
  const { state } = parts
  const exchange = new Exchange({
    repetitions: new Repetitions(state, scope, budget),
    scope,
    state,
    renew: () => Effect.void,
    sessions: SessionCleanup.make((session) => state.endpoint.remove({ session, revision: undefined }), 1000),
    standalone: { start: Effect.void }
  })
  return {
    ...parts,
    budget,
    close: Scope.close(scope, Exit.void),
    send: (id: number, result = {}) => exchange.send(JsonRpc.success(id, result))
  }
})

it.effect("an answer is sent again with growing delays, and not before the time of Retry-After", () =>
  Effect.gen(function*() {
    const { budget, send, sent, state } = yield* over((_, index) =>
      index === 1 ? response(503, { "retry-after": "10" }) : response(index === 3 ? 202 : 502)
    )
    yield* send(1)
    assert.isAbove(budget.usedBytes(), 0)
    for (const [index, millis] of [1_000, 10_000, 4_000].entries()) {
      yield* TestClock.adjust(millis - 1)
      assert.lengthOf(sent, index + 1)
      yield* TestClock.adjust(1)
      assert.lengthOf(sent, index + 2)
    }
    assert.strictEqual(budget.usedBytes(), 0)
    assert.isUndefined(state.watch)
  }))

it.effect("an answer is not sent in a session that takes the place of its own", () =>
  Effect.gen(function*() {
    const { reported, send, sent, state } = yield* over(() => response(503))
    yield* send(1)
    state.session = yield* sessionIdentity("two", true)
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(sent, 1)
    const [event] = reported
    assert.isTrue(event?._tag === "SendFailed" && event.error.reason._tag === "SessionLost")
  }))

it.effect("at most 256 messages wait, and a further one fails at once", () =>
  Effect.gen(function*() {
    const { budget, close, send, sent } = yield* over(() => response(503))
    for (let id = 0; id < 256; id++) yield* send(id)
    assert.strictEqual((yield* Effect.flip(send(256))).reason._tag, "Rejected")
    yield* close
    assert.strictEqual(budget.usedBytes(), 0)
    const before = sent.length
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(sent, before)
  }))

it.effect("messages without room in the memory budget fail at once, or yield to a smaller holder", () =>
  Effect.gen(function*() {
    const { budget, reported, send, sent } = yield* over(() => response(503), 10_000)
    yield* send(1, { text: "x".repeat(3_000) })
    yield* send(2)
    assert.strictEqual((yield* Effect.flip(send(3, { text: "x".repeat(9_000) }))).reason._tag, "Rejected")
    assert.isTrue(budget.take(5_000))
    assert.isTrue(budget.open().take(2_900))
    assert.deepStrictEqual(reported.map(({ _tag }) => _tag), ["SendFailed"])
    yield* TestClock.adjust(1_000)
    assert.deepStrictEqual(sent.slice(3).map(({ message }) => message?.id), [2])
  }))

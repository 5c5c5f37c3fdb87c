import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"
import * as TransportError from "@effect-mcp/session/TransportError"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { HighWaterQueue } from "../../../src/internal/shared/HighWaterQueue.ts"

const closed = TransportError.make({ _tag: "WriteFailed", cause: "closed" })

/** A queue with a high-water mark of 10 bytes, over a writer that a test controls. */
const start = (budget = MemoryBudget.make()) => {
  const writer = { unsent: 0, open: true, readyCalls: 0, blockedCalls: 0 }
  const queue = new HighWaterQueue(
    {
      unsentBytes: () => writer.unsent,
      isOpen: () => writer.open,
      onReady: () => void writer.readyCalls++,
      onBlocked: () => void writer.blockedCalls++
    },
    budget,
    10
  )
  return { queue, writer }
}

it.effect("below the mark, a message of any size is taken at once", () =>
  Effect.gen(function*() {
    const { queue, writer } = start()
    yield* queue.send("123456789")
    yield* queue.send("x".repeat(100))
    assert.strictEqual(queue.readyBytes, 109)
    assert.strictEqual(writer.readyCalls, 1)
    assert.deepStrictEqual(queue.takeReady(), ["123456789", "x".repeat(100)])
    assert.isTrue(queue.isEmpty)
  }))

it.effect("[law 12] above the mark senders wait, and continue in order", () =>
  Effect.gen(function*() {
    const { queue, writer } = start()
    writer.unsent = 10
    const first = yield* Effect.forkChild(queue.send("first"), { startImmediately: true })
    const second = yield* Effect.forkChild(queue.send("second"), { startImmediately: true })
    assert.strictEqual(writer.blockedCalls, 2)
    writer.unsent = 6
    queue.admit()
    yield* Fiber.join(first)
    assert.isUndefined(second.pollUnsafe())
    writer.unsent = 0
    queue.admit()
    yield* Fiber.join(second)
    assert.deepStrictEqual(queue.takeReady(), ["first", "second"])
  }))

it.effect("[law 12] a message does not overtake waiting ones", () =>
  Effect.gen(function*() {
    const { queue, writer } = start()
    writer.unsent = 10
    const waiting = yield* Effect.forkChild(queue.send("a"), { startImmediately: true })
    writer.unsent = 0
    yield* queue.send("b")
    yield* Fiber.join(waiting)
    assert.deepStrictEqual(queue.takeReady(), ["a", "b"])
  }))

it.effect("[law 8] a message whose sender is interrupted while it waits is not sent", () =>
  Effect.gen(function*() {
    const { queue, writer } = start()
    writer.unsent = 10
    yield* Fiber.interrupt(yield* Effect.forkChild(queue.send("a"), { startImmediately: true }))
    writer.unsent = 0
    queue.admit()
    assert.isTrue(queue.isEmpty)
  }))

it.effect("[law 1] fail rejects waiting and later messages, and keeps those that were taken", () =>
  Effect.gen(function*() {
    const { queue, writer } = start()
    yield* queue.send("taken")
    writer.unsent = 10
    const waiting = yield* Effect.forkChild(Effect.flip(queue.send("a")), { startImmediately: true })
    queue.fail(closed)
    assert.strictEqual(yield* Fiber.join(waiting), closed)
    queue.fail(TransportError.make({ _tag: "InUse" }))
    assert.strictEqual(yield* Effect.flip(queue.send("b")), closed)
    assert.deepStrictEqual(queue.takeReady(), ["taken"])
  }))

it.effect("senders wait while the writer is closed, and fail with its error", () =>
  Effect.gen(function*() {
    const { queue, writer } = start()
    writer.open = false
    const waiting = yield* Effect.forkChild(Effect.flip(queue.send("a")), { startImmediately: true })
    assert.isUndefined(waiting.pollUnsafe())
    assert.strictEqual(writer.blockedCalls, 0)
    queue.fail(closed)
    assert.strictEqual(yield* Fiber.join(waiting), closed)
  }))

it.effect("[law 12] the budget is charged while bytes wait", () =>
  Effect.gen(function*() {
    const budget = MemoryBudget.make()
    const { queue, writer } = start(budget)
    yield* queue.send("x".repeat(100_000))
    assert.isAbove(budget.usedBytes(), 30_000)
    queue.takeReady()
    writer.unsent = 100_000
    queue.admit()
    assert.isAbove(budget.usedBytes(), 30_000)
    assert.strictEqual(writer.blockedCalls, 1)
    writer.unsent = 0
    queue.admit()
    assert.strictEqual(budget.usedBytes(), 0)
  }))

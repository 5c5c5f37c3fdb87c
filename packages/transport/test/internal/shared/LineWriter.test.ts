import type { Transport } from "@effect-mcp/session"
import { MemoryBudget, TransportError } from "@effect-mcp/session"
import { PreparedResult } from "@effect-mcp/session/internal"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as LineWriter from "../../../src/internal/shared/LineWriter.ts"
import { until } from "../../support/process.ts"

const line = (data: string): string => `{"jsonrpc":"2.0","method":"${data}"}\n`

const outbound = (method: string): Transport.Outbound => ({
  message: { jsonrpc: "2.0", method },
  replyTo: undefined,
  last: false
})

const explain = (cause: unknown) => Effect.succeed(TransportError.make({ _tag: "WriteFailed", cause }))

/** Makes the messages of the method `held` wait. */
const pacingOf = (wait: () => number): LineWriter.Pacing => ({
  waitBefore: (message) => "method" in message && message.method === "held" ? wait : undefined,
  onWritten: () => {}
})

/** Creates a writer into memory, whose sink takes bytes only while its gate is open. */
const start = Effect.fnUntraced(function*(options?: {
  readonly highWaterBytes?: number
  readonly failAfter?: number
  readonly pacing?: LineWriter.Pacing
}) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const gate = yield* Latch.make(true)
  const writes: Array<string> = []
  const sink = Sink.forEach((chunk: Uint8Array) =>
    gate.whenOpen(Effect.suspend(() => {
      if (writes.length === options?.failAfter) return Effect.fail("EPIPE")
      writes.push(new TextDecoder().decode(chunk))
      return Effect.void
    }))
  )
  const writer = yield* Scope.provide(
    LineWriter.make({
      sink,
      explain,
      highWaterBytes: options?.highWaterBytes,
      pacing: options?.pacing
    }),
    scope
  )
  return { gate, writer, writes, close: Scope.close(scope, Exit.void) }
})

/** Waits until every fiber is blocked or has ended. */
const settled = Effect.promise(async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
})

describe("LineWriter", () => {
  it.live("writes the messages of one turn in one chunk", () =>
    Effect.gen(function*() {
      const { writer, writes } = yield* start()
      yield* settled
      for (const data of ["a", "b", "c"]) yield* writer.send(outbound(data))
      yield* settled
      yield* writer.send(outbound("d"))
      yield* settled
      assert.deepStrictEqual(writes, [line("a") + line("b") + line("c"), line("d")])
    }))

  it.live("holds a message until its wait has passed, even if that grows, and writes later ones meanwhile", () =>
    Effect.gen(function*() {
      const waits = [1, 1, 1, 0]
      const { writer, writes } = yield* start({ pacing: pacingOf(() => waits.shift() ?? 0) })
      for (const data of ["held", "a"]) yield* writer.send(outbound(data))
      yield* Effect.promise(() => Promise.resolve())
      yield* until(() => writes.length > 0)
      assert.strictEqual(writes[0], line("a"))
      yield* until(() => writes.length > 1)
      assert.deepStrictEqual(writes, [line("a"), line("held")])
      assert.deepStrictEqual(waits, [])
    }))

  it.live("reports when the sink has taken what was ready, and not before", () =>
    Effect.gen(function*() {
      let taken = 0
      const { gate, writer } = yield* start({ pacing: { waitBefore: () => undefined, onWritten: () => taken++ } })
      yield* settled
      yield* gate.close
      const before = taken
      yield* writer.send(outbound("a"))
      yield* settled
      // The writer has taken the message out of the queue, and waits for the sink.
      assert.strictEqual(taken, before + 1)
      yield* gate.open
      yield* settled
      assert.strictEqual(taken, before + 2)
    }))

  it.live("writes a held message before it closes, and counts its bytes as waiting", () =>
    Effect.gen(function*() {
      const { close, writer, writes } = yield* start({
        highWaterBytes: 10,
        pacing: pacingOf(() => 600_000)
      })
      yield* writer.send(outbound("held"))
      const waiting = yield* Effect.forkChild(Effect.exit(writer.send(outbound("a"))), { startImmediately: true })
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      yield* writer.close
      assert.isTrue(Exit.isFailure(yield* Fiber.join(waiting)))
      assert.deepStrictEqual(writes, [line("held")])
      yield* close
    }))

  it.live("writes short, long and prepared messages in the order in which they are sent", () =>
    Effect.gen(function*() {
      const { gate, writer, writes } = yield* start()
      const long = "é".repeat(20_000)
      const prepared = PreparedResult.make({ long })
      const results = [{ n: 1 }, prepared, { n: 2 }, { n: 3 }, { long }, prepared, { n: 4 }]
      const messages = results.map((result, id) => ({ jsonrpc: "2.0" as const, id, result }))
      yield* gate.close
      for (const message of messages) yield* writer.send({ message, replyTo: undefined, last: true })
      yield* gate.open
      yield* settled
      const lines = writes.join("").split("\n")
      assert.strictEqual(lines.pop(), "")
      assert.deepStrictEqual(lines.map((written) => JSON.parse(written)), messages)
    }))

  it.live("writes the messages that are sent during a write in one chunk after it", () =>
    Effect.gen(function*() {
      const { gate, writer, writes } = yield* start()
      yield* gate.close
      for (const data of ["a", "b", "c"]) {
        yield* writer.send(outbound(data))
        yield* settled
      }
      yield* gate.open
      yield* settled
      assert.deepStrictEqual(writes, [line("a"), line("b") + line("c")])
    }))

  it.live("[law 12] charges waiting bytes to the budget, until they are written or the writer is closed", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const long = "x".repeat(200_000)
      const { close, gate, writer } = yield* start().pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      yield* gate.close
      yield* writer.send(outbound(long))
      assert.isAbove(budget.usedBytes(), 100_000)
      yield* gate.open
      yield* settled
      assert.strictEqual(budget.usedBytes(), 0)
      yield* gate.close
      for (const _ of [1, 2, 3]) yield* writer.send(outbound(long))
      assert.isAbove(budget.usedBytes(), 500_000)
      yield* close
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.live("[law 12] suspends send at 64 KiB while the budget is scarce", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      budget.take(budget.maxBytes / 2)
      const { gate, writer, writes } = yield* start().pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      yield* gate.close
      yield* writer.send(outbound("x".repeat(100_000)))
      const waiting = yield* Effect.forkChild(writer.send(outbound("a")), { startImmediately: true })
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      yield* gate.open
      yield* Fiber.join(waiting)
      yield* settled
      assert.strictEqual(writes.at(-1), line("a"))
    }))

  it.live("[law 12] suspends send above the high-water mark, and continues in order", () =>
    Effect.gen(function*() {
      const { gate, writer, writes } = yield* start({ highWaterBytes: 2 * line("a").length })
      yield* gate.close
      yield* writer.send(outbound("a"))
      yield* writer.send(outbound("b"))
      const waiting = yield* Effect.forEach(
        ["c", "d", "e"],
        (data) => Effect.forkChild(writer.send(outbound(data)), { startImmediately: true })
      )
      yield* settled
      assert.deepStrictEqual(waiting.map((fiber) => fiber.pollUnsafe()), [undefined, undefined, undefined])
      yield* gate.open
      yield* Effect.forEach(waiting, Fiber.join)
      yield* settled
      assert.deepStrictEqual(writes.join(""), ["a", "b", "c", "d", "e"].map(line).join(""))
    }))

  it.effect("[law 1] writes all messages in order, wherever fibers yield", () =>
    Effect.gen(function*() {
      const yielding = (steps: number) => Effect.provideService(Scheduler.MaxOpsBeforeYield, steps)
      const methods = Array.from({ length: 20 }, (_, index) => `m${index}`)
      for (let steps = 4; steps < 40; steps++) {
        const { close, writer, writes } = yield* start({ highWaterBytes: 100 }).pipe(yielding(steps))
        const sendAll = Effect.forEach(methods, (method) => writer.send(outbound(method)), { discard: true })
        for (let others = 4; others < 14; others++) {
          yield* Fiber.join(yield* Effect.forkChild(sendAll.pipe(yielding(others))))
        }
        yield* Effect.repeat(Effect.yieldNow, { until: () => writes.join("").split("\n").length > 200 })
        assert.deepStrictEqual(writes.join(""), methods.map(line).join("").repeat(10))
        yield* close
      }
    }))

  it.live("takes a message that is larger than the high-water mark", () =>
    Effect.gen(function*() {
      const { writer, writes } = yield* start({ highWaterBytes: 1 })
      yield* writer.send(outbound("large"))
      yield* writer.send(outbound("larger"))
      yield* settled
      assert.deepStrictEqual(writes.join(""), line("large") + line("larger"))
    }))

  it.live("[law 8] does not write a message whose sender was interrupted while it waited", () =>
    Effect.gen(function*() {
      const { gate, writer, writes } = yield* start({ highWaterBytes: 1 })
      yield* gate.close
      yield* writer.send(outbound("a"))
      const interrupted = yield* Effect.forkChild(writer.send(outbound("b")), { startImmediately: true })
      const waiting = yield* Effect.forkChild(writer.send(outbound("c")), { startImmediately: true })
      yield* Fiber.interrupt(interrupted)
      yield* gate.open
      yield* Fiber.join(waiting)
      yield* settled
      assert.deepStrictEqual(writes.join(""), line("a") + line("c"))
    }))

  it.live("writes a message as it was when it was sent", () =>
    Effect.gen(function*() {
      const { gate, writer, writes } = yield* start({ highWaterBytes: 1 })
      yield* gate.close
      yield* writer.send(outbound("a"))
      const changing = { jsonrpc: "2.0", method: "before" } as const
      const waiting = yield* Effect.forkChild(
        writer.send({ message: changing, replyTo: undefined, last: false }),
        { startImmediately: true }
      )
      Object.assign(changing, { method: "after" })
      yield* gate.open
      yield* Fiber.join(waiting)
      yield* settled
      assert.deepStrictEqual(writes.join(""), line("a") + line("before"))
    }))

  it.live("[law 1] fails waiting and later messages with the cause of a failed sink", () =>
    Effect.gen(function*() {
      const { gate, writer, writes } = yield* start({ highWaterBytes: 1, failAfter: 1 })
      yield* writer.send(outbound("a"))
      yield* settled
      yield* gate.close
      yield* writer.send(outbound("b"))
      const waiting = yield* Effect.forkChild(writer.send(outbound("c")), { startImmediately: true })
      yield* gate.open
      const first = yield* Effect.flip(Fiber.join(waiting))
      const later = yield* Effect.flip(writer.send(outbound("d")))
      assert.deepStrictEqual(first.reason, { _tag: "WriteFailed", cause: "EPIPE" })
      assert.strictEqual(later, first)
      assert.deepStrictEqual(writes, [line("a")])
    }))

  it.live("on close, writes the messages that were taken, and takes no more", () =>
    Effect.gen(function*() {
      const { gate, writer, writes } = yield* start({ highWaterBytes: 1 })
      yield* gate.close
      yield* writer.send(outbound("a"))
      const waiting = yield* Effect.forkChild(writer.send(outbound("b")), { startImmediately: true })
      const closing = yield* Effect.forkChild(writer.close, { startImmediately: true })
      const error = yield* Effect.flip(Fiber.join(waiting))
      assert.strictEqual(error.reason._tag, "WriteFailed")
      assert.isUndefined(closing.pollUnsafe())
      yield* gate.open
      yield* Fiber.join(closing)
      assert.deepStrictEqual(writes, [line("a")])
      assert.strictEqual((yield* Effect.flip(writer.send(outbound("c")))).reason._tag, "WriteFailed")
    }))

  it.live("fails waiting messages when the scope closes", () =>
    Effect.gen(function*() {
      const { close, gate, writer } = yield* start({ highWaterBytes: 1 })
      yield* gate.close
      yield* writer.send(outbound("a"))
      const waiting = yield* Effect.forkChild(writer.send(outbound("b")), { startImmediately: true })
      yield* close
      const exit = yield* Fiber.await(waiting)
      assert.isTrue(Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause))
    }))
})

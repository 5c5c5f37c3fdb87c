import { EventStore, MemoryBudget } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Stream from "effect/Stream"
import type { SseResponseBody } from "../../../../src/internal/http/server/SseResponseBody.ts"
import { type Lease, SseStream } from "../../../../src/internal/http/server/SseStream.ts"
import * as StreamWatchdog from "../../../../src/internal/http/server/StreamWatchdog.ts"

/** Returns a function that runs effects in fibers that yield after so many steps. */
const yielding = (steps: number): <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A> =>
  Effect.runForkWith(Context.make(Scheduler.MaxOpsBeforeYield, steps))

const numbers = Array.from({ length: 20 }, (_, index) => index)

const numbersIn = (text: string) => Array.from(text.matchAll(/^data: n(\d+)$/gm), ([, number]) => Number(number))

const key = (stream: string) => ({ session: "session", stream, epoch: 1, requests: [] })

/** Writes numbers to a stream while a client reads it, and returns the numbers that the client reads. */
const readWhileWritten = Effect.fnUntraced(function*(
  stream: SseStream,
  body: SseResponseBody,
  readerSteps: number,
  writerSteps: number
) {
  let text = ""
  const decoder = new TextDecoder()
  const reading = yielding(readerSteps)(Stream.runForEach(body.stream, (chunk) =>
    Effect.sync(() => {
      text += decoder.decode(chunk)
    })))
  const writing = yielding(writerSteps)(
    Effect.forEach(numbers, (number) => Effect.suspend(() => Effect.orDie(stream.write(`n${number}`))), {
      discard: true
    })
  )
  yield* Fiber.join(writing)
  stream.end()
  yield* Fiber.join(reading)
  return numbersIn(text)
})

const stepCounts: ReadonlyArray<readonly [number, number]> = Array.from(
  { length: 36 },
  (_, reader) => Array.from({ length: 10 }, (_, writer) => [reader + 4, writer + 4] as const)
).flat()

const settings = Effect.fnUntraced(function*(store: EventStore.EventStore["Service"] | undefined) {
  const watchdog = yield* StreamWatchdog.make({
    keepAliveMillis: 60_000,
    stallMillis: 60_000,
    detachedMillis: 60_000
  })
  return { store, watchdog, capacity: 1_000_000, retryMillis: 1 }
})

describe("the buffer of a response body", () => {
  it.effect("law 12: is charged to the budget of the process, until the client reads it or disconnects", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const common = yield* Effect.provideService(settings(undefined), MemoryBudget.MemoryBudget, budget)
      const stream = new SseStream(key("one"), common)
      const body = stream.attach(undefined)
      yield* stream.write("x".repeat(1000))
      assert.isAtLeast(budget.usedBytes(), 2000)
      const reading = yield* Effect.forkChild(Stream.runDrain(body.stream), { startImmediately: true })
      assert.strictEqual(budget.usedBytes(), 0)
      stream.end()
      yield* Fiber.join(reading)
      const other = new SseStream(key("other"), common)
      const closed = other.attach(undefined)
      yield* other.write("x".repeat(1000))
      closed.close()
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 12: holds one message while the process is short of memory", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const common = yield* Effect.provideService(settings(undefined), MemoryBudget.MemoryBudget, budget)
      budget.take(budget.maxBytes / 2)
      const stream = new SseStream(key("one"), common)
      const body = stream.attach(undefined)
      yield* stream.write("n1")
      const waiting = yield* Effect.forkChild(stream.write("n2"), { startImmediately: true })
      assert.isUndefined(waiting.pollUnsafe())
      yield* Effect.forkChild(Stream.runDrain(body.stream), { startImmediately: true })
      yield* Fiber.join(waiting)
      assert.strictEqual(budget.usedBytes(), budget.maxBytes / 2)
    }))
})

describe("the response to a request", () => {
  const long = "x".repeat(2000)

  /** Returns a stream of a request, whose store is in memory until it fails, and how its end was recorded. */
  const open = Effect.fnUntraced(function*(lease?: Lease) {
    const memory = yield* EventStore.makeMemory()
    const failed = yield* Deferred.make<void>()
    const state = { isFailing: false, ends: 0, unended: 0 }
    const store: EventStore.EventStore["Service"] = {
      ...memory,
      append: (key, data) =>
        state.isFailing
          ? Effect.andThen(
            Deferred.await(failed),
            Effect.fail(new EventStore.EventStoreError({ cause: undefined }))
          )
          : memory.append(key, data),
      end: (key) => Effect.suspend(() => (state.ends++, memory.end(key)))
    }
    const stream = new SseStream(
      { ...key("one"), requests: [1] },
      { ...yield* settings(store), capacity: 1000, lease },
      { onSuperseded: () => {}, onUnended: () => state.unended++ }
    )
    return { body: stream.attach(undefined), failed, state, stream }
  })

  const start = (effect: Effect.Effect<void, unknown>) => Effect.forkChild(effect, { startImmediately: true })

  /** Ends the stream, and returns how often it ended in the store, and how often only here. */
  const ended = Effect.fnUntraced(function*({ state, stream }: Effect.Success<ReturnType<typeof open>>) {
    stream.end()
    yield* Effect.yieldNow
    return [state.ends, state.unended]
  })

  it.effect("is lost if its sender is interrupted while its append fails without a lease", () =>
    Effect.gen(function*() {
      const opened = yield* open({ isAlive: () => false, regained: () => Effect.never })
      yield* opened.stream.write("n0")
      opened.state.isFailing = true
      const writing = yield* start(opened.stream.write("n1"))
      const interrupting = yield* start(Fiber.interrupt(writing))
      yield* Deferred.succeed(opened.failed, undefined)
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(yield* ended(opened), [0, 1])
    }))

  it.effect("breaks off if it is lost, and its client got no event that it can resume the stream after", () =>
    Effect.gen(function*() {
      const opened = yield* open({ isAlive: () => false, regained: () => Effect.never })
      opened.state.isFailing = true
      yield* Deferred.succeed(opened.failed, undefined)
      const writing = yield* start(opened.stream.write("n0"))
      yield* Fiber.interrupt(writing)
      yield* ended(opened)
      assert.isTrue(opened.body.isAborted)
    }))

  for (const hasGap of [false, true]) {
    for (const isClosed of [false, true]) {
      const when = isClosed ? "the client leaves" : "its sender is interrupted"
      const gap = hasGap ? " after a gap" : ""
      it.effect(`is lost if it was not stored, and ${when} while the buffer is full${gap}`, () =>
        Effect.gen(function*() {
          const opened = yield* open()
          yield* opened.stream.write(hasGap ? "n0" : long)
          opened.state.isFailing = true
          yield* Deferred.succeed(opened.failed, undefined)
          if (hasGap) yield* opened.stream.write(long)
          const writing = yield* start(opened.stream.write("last"))
          yield* Effect.yieldNow
          assert.isUndefined(writing.pollUnsafe())
          if (isClosed) opened.body.close()
          else yield* Fiber.interrupt(writing)
          yield* Fiber.await(writing)
          assert.deepStrictEqual(yield* ended(opened), [0, 1])
        }))
    }
  }

  it.effect("is not lost if it was stored, and its sender is interrupted while the buffer is full", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* opened.stream.write(long)
      const writing = yield* start(opened.stream.write("last"))
      yield* Effect.yieldNow
      assert.isUndefined(writing.pollUnsafe())
      yield* Fiber.interrupt(writing)
      assert.deepStrictEqual(yield* ended(opened), [1, 0])
    }))
})

describe("a stream and its response body, at every point where their fibers yield", () => {
  it.effect("[SHS-16] [SHS-17] a client that resumes during writes reads every event once, in order, and the end", () =>
    Effect.gen(function*() {
      const store = yield* EventStore.makeMemory()
      const common = yield* settings(store)
      for (const [reader, writer] of stepCounts) {
        const stream = new SseStream(key(`${reader}.${writer}`), common)
        const first = stream.attach(undefined)
        yield* stream.write("before")
        first.close()
        const lastRead = yield* store.append(stream.key, "last read")
        const read = yield* readWhileWritten(stream, stream.attach(lastRead), reader, writer)
        assert.deepStrictEqual(read, numbers, `${reader} and ${writer} steps`)
      }
    }))

  it.effect("[SHS-17] an event that cannot be stored during a replay is sent after the missed events", () =>
    Effect.gen(function*() {
      const memory = yield* EventStore.makeMemory()
      const replaying = yield* Deferred.make<void>()
      let isFailing = false
      const store: EventStore.EventStore["Service"] = {
        ...memory,
        append: (key, data) =>
          isFailing ? Effect.fail(new EventStore.EventStoreError({ cause: undefined })) : memory.append(key, data),
        replay: (session, after) => Effect.andThen(Deferred.await(replaying), memory.replay(session, after))
      }
      const stream = new SseStream(key("one"), yield* settings(store))
      const first = stream.attach(undefined)
      yield* stream.write("n0")
      const lastRead = yield* memory.append(stream.key, "n1")
      yield* stream.write("n2")
      first.close()
      const body = stream.attach(lastRead)
      const reading = yield* Effect.forkChild(Stream.mkString(Stream.decodeText(body.stream)), {
        startImmediately: true
      })
      isFailing = true
      const writing = yield* Effect.forkChild(stream.write("n3"), { startImmediately: true })
      yield* Deferred.succeed(replaying, undefined)
      yield* Fiber.join(writing)
      stream.end()
      assert.deepStrictEqual(numbersIn(yield* Fiber.join(reading)), [2, 3])
      assert.isTrue(stream.hasGap)
    }))

  it.effect("[SHS-09] a client that never disconnects reads every event once, in order, and the end", () =>
    Effect.gen(function*() {
      const common = yield* settings(undefined)
      for (const [reader, writer] of stepCounts) {
        const stream = new SseStream(key("one"), common)
        const read = yield* readWhileWritten(stream, stream.attach(undefined), reader, writer)
        assert.deepStrictEqual(read, numbers, `${reader} and ${writer} steps`)
      }
    }))

  for (const isRegained of [true, false]) {
    const when = isRegained ? "after the lease is back" : "never without a lease"
    it.effect(`sends an event that was not stored ${when}`, () =>
      Effect.gen(function*() {
        const memory = yield* EventStore.makeMemory()
        const regained = yield* Deferred.make<boolean>()
        const state = { isAlive: true, isFailing: false }
        let ends = 0
        const store: EventStore.EventStore["Service"] = {
          ...memory,
          append: (key, data) =>
            state.isFailing
              ? Effect.fail(new EventStore.EventStoreError({ cause: undefined }))
              : memory.append(key, data),
          end: (key) => Effect.suspend(() => (ends++, memory.end(key)))
        }
        const lease = { isAlive: () => state.isAlive, regained: () => Deferred.await(regained) }
        const stream = new SseStream(key("one"), { ...yield* settings(store), lease })
        const body = stream.attach(undefined)
        let read = ""
        const reading = yield* Effect.forkChild(
          Stream.runForEach(Stream.decodeText(body.stream), (text) => Effect.sync(() => void (read += text))),
          { startImmediately: true }
        )
        yield* stream.write("n0")
        state.isFailing = true
        yield* stream.write("n1")
        state.isAlive = false
        // Also of a stream whose gap is older, after the store is back.
        state.isFailing = false
        const writing = yield* Effect.forkChild(Effect.exit(stream.write("n2")), { startImmediately: true })
        yield* Effect.yieldNow
        assert.isUndefined(writing.pollUnsafe())
        assert.deepStrictEqual(numbersIn(read), [0, 1])
        state.isAlive = isRegained
        yield* Deferred.succeed(regained, isRegained)
        yield* Fiber.join(writing)
        stream.endWith("n3")
        stream.end()
        yield* Fiber.await(reading)
        assert.deepStrictEqual(numbersIn(read), isRegained ? [0, 1, 2, 3] : [0, 1])
        assert.deepStrictEqual([body.isAborted, ends > 0], [!isRegained, isRegained])
      }))
  }
})

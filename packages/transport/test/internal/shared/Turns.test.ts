import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Turns from "../../../src/internal/shared/Turns.ts"

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Returns the number of turns that another fiber has while the effect runs. */
const turnsOfOtherFiber = Effect.fnUntraced(function*(effect: Effect.Effect<void>) {
  let turns = 0
  const other = yield* Effect.forkChild(
    Effect.forever(Effect.andThen(Effect.yieldNow, Effect.sync(() => turns++)), { disableYield: true }),
    { startImmediately: true }
  )
  yield* effect
  yield* Fiber.interrupt(other)
  return turns
})

describe("bytes that are read in turns", () => {
  const texts = [
    "",
    "\n",
    "a\nb",
    "a\r\nb\r\n",
    "a\rb\n\r",
    "\n".repeat(1000),
    `${"a\r".repeat(700)}b`,
    "a".repeat(5000)
  ]

  it.effect("are passed on unchanged, in order", () =>
    Effect.gen(function*() {
      const chunks = texts.map(bytesOf)
      const read: Array<string> = []
      yield* Turns.bytes((part) => read.push(new TextDecoder().decode(part)))(chunks)
      assert.strictEqual(read.join(""), texts.join(""))
      assert.isTrue(read.every((part) => part.split(/[\r\n]/).length <= 257))
    }))

  it.effect("law 12: yield to other fibers after 256 lines, in one chunk or in many", () =>
    Effect.gen(function*() {
      const lines = (count: number, ending = "\n") => bytesOf(`{${ending}`.repeat(count))
      const turns = (...chunks: ReadonlyArray<Uint8Array>) => turnsOfOtherFiber(Turns.bytes(() => {})(chunks))
      assert.strictEqual(yield* turns(lines(256)), 0)
      assert.strictEqual(yield* turns(lines(1024)), 3)
      assert.strictEqual(yield* turns(lines(1024, "\r")), 3)
      assert.strictEqual(yield* turns(...Array.from({ length: 16 }, () => lines(64))), 3)
      assert.strictEqual(yield* turns(bytesOf("a".repeat(100_000))), 0)
    }))

  it.effect("law 12: are counted across calls", () =>
    Effect.gen(function*() {
      const pass = Turns.bytes(() => {})
      const chunks = Array.from({ length: 1024 }, () => bytesOf("{"))
      const all = Effect.forEach(chunks, (chunk) => pass([chunk]), { discard: true })
      assert.strictEqual(yield* turnsOfOtherFiber(all), 3)
    }))
})

describe("frames that are read in turns", () => {
  const items = Array.from({ length: 1000 }, (_, index) => index)

  it.effect("law 12: are passed on in order, and yield to other fibers after 256", () =>
    Effect.gen(function*() {
      const read: Array<number> = []
      const take = Turns.frames<number>((item) => read.push(item))
      assert.strictEqual(yield* turnsOfOtherFiber(take(items)), 3)
      assert.deepStrictEqual(read, items)
    }))

  it.effect("law 12: are counted across batches, however small", () =>
    Effect.gen(function*() {
      const read: Array<number> = []
      const take = Turns.frames<number>((item) => read.push(item))
      const all = Effect.forEach(items, (item) => take([item]), { discard: true })
      assert.strictEqual(yield* turnsOfOtherFiber(all), 3)
      assert.deepStrictEqual(read, items)
    }))

  it.effect("have at most so many turns, if there is a bound", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: 8000 }, (_, index) => index)
      const read: Array<number> = []
      const take = Turns.frames<number>((item) => read.push(item), 8)
      assert.isAtMost(yield* turnsOfOtherFiber(take(many)), 8)
      assert.deepStrictEqual(read, many)
      const small = Turns.frames<number>(() => {}, 8)
      assert.strictEqual(yield* turnsOfOtherFiber(small(items)), 3)
    }))
})

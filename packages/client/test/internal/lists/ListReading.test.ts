/** Reads of lists with bounds. */
import { RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ListReading from "../../../src/internal/lists/ListReading.ts"

const bounds = { maxMembers: 3, maxCharacters: 1_000, listTimeout: "1 minute" } as const

const invalid = RequestError.make("tools/list", { _tag: "InvalidResult", problem: "a page is broken" })

describe("a list", () => {
  it.effect("within its bounds is read as it is", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* ListReading.read(Stream.make("a", "b", "c"), bounds), {
        members: ["a", "b", "c"],
        problem: undefined
      })
    }))

  it.effect("with too many members is cut", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* ListReading.read(Stream.forever(Stream.make("a")), bounds), {
        members: ["a", "a", "a"],
        problem: "it has more than 3 members; set maxMembers to read more"
      })
    }))

  it.effect("with too many characters is cut, wherever they are", () =>
    Effect.gen(function*() {
      const long = "a".repeat(1_000)
      for (const value of [long, [long], { [long]: 1 }, { a: [{ b: long }] }, Array.from({ length: 300 }, () => 1)]) {
        assert.deepStrictEqual(yield* ListReading.read(Stream.fromIterable<unknown>(["a", value, "b"]), bounds), {
          members: ["a"],
          problem: "it has more than 1000 characters; set maxCharacters to read more"
        })
      }
    }))

  it.effect("whose members are nested deeply is read", () =>
    Effect.gen(function*() {
      let deep: unknown = 1
      for (let level = 0; level < 100_000; level++) deep = [deep]
      const { members } = yield* ListReading.read(Stream.make(deep), { ...bounds, maxCharacters: 1_000_000 })
      assert.lengthOf(members, 1)
    }))

  it.effect("that does not end has the members that arrived in time", () =>
    Effect.gen(function*() {
      const reading = yield* Effect.forkChild(ListReading.read(Stream.concat(Stream.make("a"), Stream.never), bounds))
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(reading.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(reading), {
        members: ["a"],
        problem: "it did not end in time; set listTimeout to allow more"
      })
    }))

  it.effect("that breaks the rules of pages has the members before, and fails without any", () =>
    Effect.gen(function*() {
      const { members, problem } = yield* ListReading.read(
        Stream.concat(Stream.make("a"), Stream.fail(invalid)),
        bounds
      )
      assert.deepStrictEqual(members, ["a"])
      assert.include(problem ?? "", "a page is broken")
      assert.strictEqual(yield* Effect.flip(ListReading.read(Stream.fail(invalid), bounds)), invalid)
    }))
})

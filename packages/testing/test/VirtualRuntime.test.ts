import { SessionId } from "@effect-mcp/session/internal"
import { VirtualRuntime } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

describe("a virtual runtime", () => {
  it("advances only as far as requested, and runs due fibers in order", () => {
    const runtime = VirtualRuntime.make({ seed: 1 })
    const seen: Array<readonly [string, number]> = []
    const at = (name: string, millis: number) =>
      Effect.andThen(Effect.sleep(millis), Effect.sync(() => seen.push([name, runtime.now()])))
    for (const [name, millis] of [["c", 30], ["a", 10], ["b", 20], ["b, later", 20]] as const) {
      runtime.start(at(name, millis))
    }
    runtime.advance(20)
    assert.deepStrictEqual(seen, [["a", 10], ["b", 20], ["b, later", 20]])
    assert.strictEqual(runtime.living(), 1)
    runtime.advance(1000)
    assert.deepStrictEqual(seen.at(-1), ["c", 30])
    assert.deepStrictEqual([runtime.now(), runtime.living()], [1020, 0])
  })

  it("a fiber can wake and sleep again within one advance", () => {
    const runtime = VirtualRuntime.make({ seed: 1 })
    const seen: Array<number> = []
    runtime.start(
      Effect.forever(Effect.andThen(Effect.sleep("1 hour"), Effect.sync(() => seen.push(runtime.now() / 3_600_000))))
    )
    runtime.advance(5 * 3_600_000)
    assert.deepStrictEqual(seen, [1, 2, 3, 4, 5])
  })

  it("an interrupted fiber does not wake", () => {
    const runtime = VirtualRuntime.make({ seed: 1 })
    let woken = false
    const fiber = runtime.start(Effect.andThen(Effect.sleep(10), Effect.sync(() => (woken = true))))
    runtime.act(() => fiber.interruptUnsafe())
    assert.strictEqual(runtime.living(), 0)
    runtime.advance(100)
    assert.isFalse(woken)
  })

  it("provides a test clock to its programs", () => {
    const runtime = VirtualRuntime.make({ seed: 1 })
    const fiber = runtime.start(Effect.gen(function*() {
      const sleeper = yield* Effect.forkChild(Effect.as(Effect.sleep("1 minute"), "awake"), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      return [sleeper.pollUnsafe()?._tag, yield* Clock.currentTimeMillis]
    }))
    const exit = fiber.pollUnsafe()
    assert.deepStrictEqual(exit?._tag === "Success" ? exit.value : exit, ["Success", 60_000])
  })

  it("stops a program that runs on without time passing", () => {
    const runtime = VirtualRuntime.make({ seed: 1 })
    assert.throws(() => runtime.start(Effect.forever(Effect.yieldNow)), VirtualRuntime.NotSettledError)
  })

  /** Returns the order in which two fibers that yield to each other continue. */
  const order = (options: VirtualRuntime.Options): string => {
    const runtime = VirtualRuntime.make(options)
    const seen: Array<string> = []
    const step = (name: string) => Effect.andThen(Effect.yieldNow, Effect.sync(() => seen.push(name)))
    runtime.start(Effect.forEach(["a", "b", "c", "d"], (name) => Effect.andThen(step(name), step(name)), {
      concurrency: "unbounded"
    }))
    return seen.join("")
  }

  it("law 13: ready fibers run in turn, or in the order of the seed", () => {
    assert.strictEqual(order({ seed: 1 }), "abcdabcd")
    const seeds = Array.from({ length: 50 }, (_, seed) => seed)
    const orders = seeds.map((seed) => order({ seed, interleaving: "Random" }))
    assert.isAbove(new Set(orders).size, 20)
    assert.deepStrictEqual(seeds.map((seed) => order({ seed, interleaving: "Random" })), orders)
    // Each fiber keeps its own order.
    assert.isTrue(orders.every((order) => [...order].toSorted().join("") === "aabbccdd"))
  })

  it("law 13: the request ids of restored sessions begin with texts of the seed", () => {
    const prefixes = (seed: number): ReadonlyArray<string> => {
      const drawn: Array<string> = []
      VirtualRuntime.make({ seed }).start(
        Effect.map(Effect.service(SessionId.RequestIdPrefix), (prefix) => drawn.push(prefix(), prefix(), prefix()))
      )
      return drawn
    }
    const all = [...prefixes(1), ...prefixes(2)]
    assert.strictEqual(new Set(all).size, 6)
    assert.deepStrictEqual([...prefixes(1), ...prefixes(2)], all)
  })
})

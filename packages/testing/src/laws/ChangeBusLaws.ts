/**
 * The laws of every `ChangeBus`. Each law is an effect, which any test runner can run. `ChangeBusSuite.suite` of the
 * entry `/vitest` makes a Vitest test of each.
 *
 * @stability unstable
 */
import type { ChangeBus } from "@effect-mcp/session"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import { likeIds, newId, oddIds } from "../internal/laws/ids.ts"
import { lawOf } from "../internal/laws/Law.ts"
import type { StoreLaw } from "./StoreLaw.ts"

type Bus = ChangeBus.ChangeBus["Service"]
type Change = ChangeBus.Change

/**
 * The channel that the buses under test share.
 *
 * @category models
 */
export interface Channel {
  /** Makes a bus of the channel, as another process does. */
  readonly bus: Effect.Effect<Bus, unknown, Scope.Scope>
  /** Breaks the connections of all buses, or makes them miss changes in another way. They recover by themselves. */
  readonly interrupt: Effect.Effect<void, unknown>
}

/**
 * Options for the laws of a bus.
 *
 * @category models
 */
export interface Options {
  /** The time in which everything that a law waits for happens. Default: 15 seconds. */
  readonly patience?: Duration.Input
}

/** The time after which no further delivery is expected. A bus that polls delivers within half a second. */
const silence = "700 millis"

/** The changes and gaps that a listener has received. */
interface Heard {
  readonly changes: Array<Change>
  gaps: number
}

/** Waits until a condition holds, at most for some milliseconds. */
const waiting =
  (patience: number) => (problem: string, condition: () => boolean | Effect.Effect<boolean>): Effect.Effect<void> =>
    Effect.gen(function*() {
      const end = performance.now() + patience
      while (true) {
        const holds = condition()
        if (typeof holds === "boolean" ? holds : yield* holds) return
        assert.ok(performance.now() < end, `${problem} within ${patience} ms`)
        yield* Effect.sleep("5 millis")
      }
    })

const listen = (bus: Bus, scope: string, also: (change?: Change) => void = () => {}) =>
  Effect.gen(function*() {
    const heard: Heard = { changes: [], gaps: 0 }
    yield* bus.subscribe({
      scope,
      onChange: (change) => {
        heard.changes.push(change)
        also(change)
      },
      onGap: () => {
        heard.gaps++
        also()
      }
    })
    return heard
  })

const keysOf = ({ changes }: Heard): ReadonlyArray<string> => changes.map(({ key }) => key)

const isHeard = (heard: Heard, key: string) => (): boolean => keysOf(heard).includes(key)

const assertOnce = (heard: Heard): void => {
  assert.strictEqual(new Set(keysOf(heard)).size, heard.changes.length, "a change was delivered twice")
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/**
 * Returns the laws for buses. Each law uses a channel of its own, which ends with it.
 *
 * @example
 * ```ts
 * import { ChangeBus } from "@effect-mcp/session"
 * import { ChangeBusLaws } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 *
 * const channel = Effect.map(
 *   ChangeBus.makeMemory,
 *   ({ connection, interrupt }) => ({ bus: ChangeBus.make(connection), interrupt })
 * )
 *
 * const laws = ChangeBusLaws.laws(channel)
 * export const kept = Effect.as(Effect.forEach(laws, ({ run }) => run, { concurrency: "unbounded" }), true) // => true
 * ```
 *
 * @category laws
 */
export const laws = (
  make: Effect.Effect<Channel, unknown, Scope.Scope>,
  options: Options = {}
): ReadonlyArray<StoreLaw> => {
  const law = lawOf(make)
  const patience = Duration.toMillis(options.patience ?? "15 seconds")
  const eventually = waiting(patience)
  const opened = (channel: Channel) =>
    Effect.tap(channel.bus, (bus) => eventually("a bus was not connected", () => bus.isConnected))

  /** Publishes changes until one of them is heard. The first ones may be lost in an outage. */
  const untilHeard = (bus: Bus, scope: string, heard: Heard): Effect.Effect<void> =>
    Effect.gen(function*() {
      const end = performance.now() + patience
      for (let attempt = 0;; attempt++) {
        const key = `attempt ${attempt}`
        yield* bus.publish({ scope, kind: "recovered", key })
        for (let waits = 0; waits < 40; waits++) {
          if (isHeard(heard, key)()) return
          yield* Effect.sleep("25 millis")
        }
        assert.ok(performance.now() < end, `no change was delivered within ${patience} ms after an outage`)
      }
    })

  return [
    law("a change reaches all other buses once, in order, and not its own bus", function*(channel) {
      const scope = yield* newId
      const buses = [yield* opened(channel), yield* opened(channel), yield* opened(channel)]
      const heard = yield* Effect.forEach(buses, (bus) => listen(bus, scope))
      for (const index of numbers(20)) {
        for (const [owner, bus] of buses.entries()) {
          yield* bus.publish({ scope, kind: String(owner), key: `${owner} ${index}` })
        }
        yield* Effect.yieldNow
      }
      for (const [owner, own] of heard.entries()) {
        for (const other of numbers(3).filter((other) => other !== owner)) {
          yield* eventually(`bus ${owner} did not receive the changes of ${other}`, isHeard(own, `${other} 19`))
        }
      }
      yield* Effect.sleep(silence)
      for (const [owner, own] of heard.entries()) {
        for (const other of numbers(3)) {
          assert.deepStrictEqual(
            own.changes.filter(({ kind }) => kind === String(other)).map(({ key }) => key),
            other === owner ? [] : numbers(20).map((index) => `${other} ${index}`)
          )
        }
        assert.strictEqual(own.gaps, 0)
      }
    }),

    law("the texts of a change arrive unchanged, whatever they are", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const heard = yield* listen(other, scope)
      const texts = [
        ...oddIds,
        ...yield* likeIds,
        "",
        " ",
        " a ",
        "\0",
        "\ud800",
        "é漢🙂",
        "\n\t\"'\\",
        "x".repeat(1_000)
      ]
      const changes = texts.map((text): Change => ({ scope, kind: text, key: text }))
      for (const change of changes) yield* one.publish(change)
      yield* eventually("not all changes were delivered", () => heard.changes.length >= changes.length)
      assert.deepStrictEqual(heard.changes, changes)
    }),

    law("a listener receives the changes and the gaps of its scope only", function*(channel) {
      const scopes = yield* likeIds
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const heard = yield* Effect.forEach(scopes, (scope) => listen(other, scope))
      const last = yield* newId
      const end = yield* listen(other, last)
      for (const scope of scopes) yield* one.publish({ scope, kind: "changed", key: scope })
      yield* one.publish({ scope: last, kind: "changed", key: "end" })
      yield* eventually("not all changes were delivered", isHeard(end, "end"))
      assert.deepStrictEqual(heard.map(keysOf), scopes.map((scope) => [scope]))
      yield* one.publish({ scope: last, kind: "changed", key: "x".repeat(1024 * 1024) })
      yield* eventually(
        "a change of a megabyte was neither delivered nor a gap",
        () => end.gaps > 0 || end.changes.length > 1
      )
      assert.deepStrictEqual(heard.map(({ gaps }) => gaps), scopes.map(() => 0))
    }),

    law("equal changes that are published together are delivered as few", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const heard = yield* listen(other, scope)
      for (const _ of numbers(500)) yield* one.publish({ scope, kind: "changed", key: "same" })
      yield* one.publish({ scope, kind: "changed", key: "end" })
      yield* eventually("the last change was not delivered", isHeard(heard, "end"))
      const count = keysOf(heard).filter((key) => key === "same").length
      assert.ok(1 <= count && count <= 100, `${count} of 500 equal changes were delivered`)
      yield* one.publish({ scope, kind: "changed", key: "same" })
      yield* eventually("a later change that is equal was not delivered", () => keysOf(heard).at(-1) === "same")
    }),

    law("of too many changes, each is delivered at most once, and a gap counts for the others", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const heard = yield* listen(other, scope)
      const keys = numbers(5_000).map((index) => `${index} ${"x".repeat(100)}`)
      yield* Effect.forEach(keys, (key) => one.publish({ scope, kind: "changed", key }), { discard: true })
      yield* eventually(
        "neither all changes nor a gap was delivered",
        () => heard.gaps > 0 || heard.changes.length >= keys.length
      )
      yield* untilHeard(one, scope, heard)
      assertOnce(heard)
    }),

    law("a change that is too large is a gap for the other buses, and later ones are delivered", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const [own, heard] = [yield* listen(one, scope), yield* listen(other, scope)]
      const large = { scope, kind: "changed", key: "x".repeat(1024 * 1024) }
      yield* one.publish(large)
      yield* eventually("neither the change nor a gap was delivered", () => heard.gaps > 0 || heard.changes.length > 0)
      for (const change of heard.changes) assert.deepStrictEqual(change, large)
      yield* untilHeard(one, scope, heard)
      assert.deepStrictEqual(own, { changes: [], gaps: 0 })
    }),

    law("after an interruption every bus reports a gap, and later changes are delivered once", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const [own, heard] = [yield* listen(one, scope), yield* listen(other, scope)]
      yield* untilHeard(one, scope, heard)
      heard.changes.length = 0
      for (const round of numbers(2)) {
        const gaps = [own.gaps, heard.gaps]
        yield* channel.interrupt
        yield* one.publish({ scope, kind: "changed", key: `during ${round}` })
        yield* eventually("no gap was reported", () => own.gaps > (gaps[0] ?? 0) && heard.gaps > (gaps[1] ?? 0))
        yield* untilHeard(one, `${scope} ${round}`, yield* listen(other, `${scope} ${round}`))
        assertOnce(heard)
        assert.deepStrictEqual(own.changes, [])
      }
    }),

    law("publishing neither waits nor fails, not even without a connection or after the end", function*(channel) {
      const scope = yield* newId
      const ending = yield* Scope.make()
      const bus = yield* Scope.provide(opened(channel), ending)
      const publishAll = Effect.gen(function*() {
        const began = performance.now()
        yield* Effect.forEach(numbers(2_000), (index) => bus.publish({ scope, kind: "changed", key: String(index) }))
        const time = performance.now() - began
        assert.ok(time < 1_000, `2,000 changes took ${time} ms`)
      })
      yield* publishAll
      yield* channel.interrupt
      yield* publishAll
      yield* Scope.close(ending, Exit.void)
      yield* publishAll
    }),

    law("a listener that throws affects no other, and receives later changes", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const throwing = yield* listen(other, scope, () => {
        throw new Error("a listener of a law")
      })
      const heard = yield* listen(other, scope)
      for (const key of ["first", "second"]) {
        yield* one.publish({ scope, kind: "changed", key })
        yield* eventually("a change was not delivered", isHeard(heard, key))
      }
      assert.deepStrictEqual(keysOf(throwing), ["first", "second"])
    }),

    law("a listener receives nothing after its scope has closed, and the others go on", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const closing = yield* Scope.make()
      const left = yield* Scope.provide(listen(other, scope), closing)
      const heard = yield* listen(other, scope)
      yield* one.publish({ scope, kind: "changed", key: "first" })
      yield* eventually("a change was not delivered", isHeard(heard, "first"))
      yield* Scope.close(closing, Exit.void)
      yield* one.publish({ scope, kind: "changed", key: "second" })
      yield* eventually("a change was not delivered", isHeard(heard, "second"))
      assert.deepStrictEqual(keysOf(left), ["first"])
    }),

    law("a bus that ends sends what waits, ends within 5 seconds, and affects no other", function*(channel) {
      const scope = yield* newId
      const [one, other] = [yield* opened(channel), yield* opened(channel)]
      const heard = yield* listen(other, scope)
      const ending = yield* Scope.make()
      const last = yield* Scope.provide(opened(channel), ending)
      const ended = yield* Scope.provide(listen(last, scope), ending)
      yield* last.publish({ scope, kind: "changed", key: "last words" })
      const [time] = yield* Effect.timed(Scope.close(ending, Exit.void))
      assert.ok(Duration.toMillis(time) < 5_000, `it took ${Duration.format(time)}`)
      yield* eventually("the last change was not delivered", isHeard(heard, "last words"))
      yield* one.publish({ scope, kind: "changed", key: "afterwards" })
      yield* eventually("a change was not delivered", isHeard(heard, "afterwards"))
      assert.deepStrictEqual(ended, { changes: [], gaps: 0 })
    })
  ]
}

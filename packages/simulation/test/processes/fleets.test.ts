/** Several processes of one server with shared stores, in virtual time, and with faults at every step. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { arbitrary } from "../../src/processes/Generator.ts"
import type { Event, History } from "../../src/processes/History.ts"
import * as Run from "../../src/processes/Run.ts"
import { commands, type Script } from "../../src/processes/Script.ts"
import { keepTheirFleets } from "../support/keepTheirFleets.ts"

const script = (commands: Script["commands"], options: Partial<Script> = {}): Script => ({
  interleaving: "Fair",
  seed: 1,
  storeMillis: 10,
  sleeps: false,
  processes: 2,
  isOpen: true,
  ...options,
  commands
})

type Call = Extract<Script["commands"][number], { readonly _tag: "Call" }>

const call = (slot: 0 | 1 | 2, tool: Call["tool"]) => ({ _tag: "Call", client: 0, slot, tool }) as const
const pass = (millis: 20 | 300 | 1200 | 2300 | 5500 | 11_000) => ({ _tag: "Pass", millis }) as const
const kill = (slot: 0 | 1 | 2) => ({ _tag: "Kill", slot, operations: 0, isAfter: false }) as const
const pause = (slot: 0 | 1 | 2) => ({ _tag: "Pause", slot, operations: 0, isAfter: false }) as const

const run = (commands: Script["commands"], options: Partial<Script> = {}) =>
  Effect.promise(() => Run.run(script(commands, options)))

/** Returns the events before the faults stop. */
const disturbed = ({ events }: History): ReadonlyArray<Event> =>
  events.slice(0, events.findIndex(({ _tag }) => _tag === "Calm"))

/** Returns the statuses of the responses to calls before the faults stop. */
const statuses = (history: History): ReadonlyArray<number> => {
  const events = disturbed(history)
  const calls = new Set(
    events.flatMap((event) => event._tag === "Sent" && event.kind === "call" ? [event.exchange] : [])
  )
  return events.flatMap((event) => event._tag === "Responded" && calls.has(event.exchange) ? [event.status] : [])
}

/** Returns the number of an event before the faults stop. */
const numberOf = (history: History, tag: Event["_tag"]): number =>
  disturbed(history).filter(({ _tag }) => _tag === tag).length

describe("the sessions of a fleet", () => {
  for (const portion of [1, 2]) {
    it.live(`keep their laws (part ${portion})`, () => keepTheirFleets(portion, 40), { timeout: 120_000 })
  }
})

describe("a run", () => {
  it.live("has the same history each time", () =>
    Effect.gen(function*() {
      const drawn = yield* Arbitrary.sampleEffect(arbitrary, { count: 15, seed: 2 })
      for (const one of drawn) {
        // The text of a log contains ids, which are random and decide nothing.
        const texts = [yield* run([], one), yield* run([], one)].map(({ events }) =>
          JSON.stringify(events.map((event) => ({ ...event, text: "" })))
        )
        assert.strictEqual(texts[0], texts[1])
      }
    }))

  it.live("a call at another process is forwarded to the owner, and runs there", () =>
    Effect.gen(function*() {
      const history = yield* run([call(1, "echo"), pass(300)])
      assert.deepStrictEqual(statuses(history), [200])
      assert.strictEqual(numberOf(history, "Forwarded"), 1)
      assert.strictEqual(numberOf(history, "Ran"), 1)
    }))

  it.live("after the death of the owner, another process serves the session within five seconds, without a 404", () =>
    Effect.gen(function*() {
      const history = yield* run([kill(0), pass(1200), call(1, "echo"), pass(5500)])
      assert.strictEqual(numberOf(history, "Killed"), 1)
      assert.deepStrictEqual(statuses(history), [200])
      assert.strictEqual(numberOf(history, "TookOver"), 1)
    }))

  it.live("a process that was paused for longer than its lease does not serve the session that it has lost", () =>
    Effect.gen(function*() {
      const history = yield* run([
        pause(0),
        pass(5500),
        call(1, "echo"),
        pass(1200),
        { _tag: "Continue", slot: 0 },
        call(0, "echo"),
        pass(1200)
      ])
      assert.deepStrictEqual(statuses(history), [200, 200])
      const runs = disturbed(history).flatMap((event) => event._tag === "Ran" ? [event.process] : [])
      assert.deepStrictEqual(runs, [1, 1])
    }))
})

describe("generated scripts", () => {
  it.live("have every kind of command, and reach every kind of event", () =>
    Effect.gen(function*() {
      const drawn = yield* Arbitrary.sampleEffect(arbitrary, { count: 300, seed: 1 })
      const kinds = new Set(drawn.flatMap(({ commands }) => commands.map(({ _tag }) => _tag)))
      assert.strictEqual(kinds.size, commands.length)
      const tags = "Killed Paused Resumed Closed Released Removed Retired TookOver Dropped Forwarded ForwardEnded"
      const more = "StoreFailed Broke OutageBegan OutageEnded StreamEnded RanEnded superseded 404 503"
      const missing = new Set(`${tags} ${more}`.split(" "))
      for (const one of drawn) {
        const { events } = yield* Effect.promise(() => Run.run(one))
        for (const event of events) {
          missing.delete(event._tag === "Responded" ? String(event.status) : event._tag)
          if ("outcome" in event && event.outcome === "Superseded") missing.delete("superseded")
        }
        if (missing.size === 0) break
      }
      assert.deepStrictEqual([...missing], [])
    }), { timeout: 60_000 })
})

/** OAuth clients in several processes with one token store, at a model of an issuer, and with faults at every step. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { arbitrary } from "../../src/credentials/Generator.ts"
import type { Event, History } from "../../src/credentials/History.ts"
import * as Run from "../../src/credentials/Run.ts"
import { commands, type Script } from "../../src/credentials/Script.ts"
import * as Search from "../../src/credentials/Search.ts"
import { keepTheirCredentials } from "../support/keepTheirCredentials.ts"

const script = (commands: Script["commands"], options: Partial<Script> = {}): Script => ({
  interleaving: "Fair",
  seed: 1,
  rotation: "Rotating",
  storeMillis: 20,
  confirms: false,
  isSignedIn: true,
  processes: 1,
  ...options,
  commands
})

const read = (slot: 0 | 1 | 2) => ({ _tag: "Call", slot, operation: "read" }) as const
const write = (slot: 0 | 1 | 2) => ({ _tag: "Call", slot, operation: "write" }) as const
const pass = (millis: 20 | 500 | 3000 | 12_000 | 46_000 | 61_000) => ({ _tag: "Pass", millis }) as const

const run = (commands: Script["commands"], options: Partial<Script> = {}) =>
  Effect.promise(() => Run.run(script(commands, options)))

const numberOf = ({ events }: History, tag: Event["_tag"]): number => events.filter(({ _tag }) => _tag === tag).length

/** Returns the outcomes of the calls before the faults stop. */
const outcomes = ({ events }: History): ReadonlyArray<string> => {
  const calm = events.findIndex(({ _tag }) => _tag === "Calm")
  return events.slice(0, calm).flatMap((event) => event._tag === "ActEnded" ? [event.outcome] : [])
}

/** Returns the number of refreshes before the faults stop. */
const refreshes = ({ events }: History): number => {
  const calm = events.findIndex(({ _tag }) => _tag === "Calm")
  return events.slice(0, calm).filter((event) =>
    event._tag === "TokenRequested" && event.request.grant === "refresh_token"
  ).length
}

describe("the credentials of processes", () => {
  for (const portion of [1, 2]) {
    it.live(`keep their laws (part ${portion})`, () => keepTheirCredentials(portion, 100), { timeout: 60_000 })
  }
})

describe("a run", () => {
  it.live("has the same history each time", () =>
    Effect.gen(function*() {
      const drawn = yield* Arbitrary.sampleEffect(arbitrary, { count: 20, seed: 2 })
      for (const one of drawn) {
        // The names of owners are random, and decide nothing.
        const texts = [yield* run([], one), yield* run([], one)].map(({ events }) =>
          JSON.stringify(events.map((event) => ({ ...event, owner: "", text: "" })))
        )
        assert.strictEqual(texts[0], texts[1])
      }
    }))

  it.live("at an expiry, two processes with three calls each have one refresh", () =>
    Effect.gen(function*() {
      const history = yield* run([pass(61_000), read(0), read(0), read(0), read(1), read(1), read(1), pass(3000)], {
        processes: 2
      })
      assert.deepStrictEqual(outcomes(history), Array.from({ length: 7 }, () => "200"))
      assert.strictEqual(refreshes(history), 1)
    }))

  it.live("a process that is killed after its refresh, before it has stored the tokens, loses them", () =>
    Effect.gen(function*() {
      const kill = { _tag: "Kill", slot: 0, operations: 6, isAfter: true } as const
      const history = yield* run([pass(61_000), kill, read(0), pass(46_000), { _tag: "Start", slot: 0 }, read(0)])
      assert.strictEqual(numberOf(history, "Killed"), 1)
      assert.strictEqual(numberOf(history, "Rejected"), 1)
      assert.strictEqual(numberOf(history, "WindowOpened"), 2)
    }))

  it.live("an issuer with a grace period accepts the refresh of the next process instead", () =>
    Effect.gen(function*() {
      const kill = { _tag: "Kill", slot: 0, operations: 6, isAfter: true } as const
      const history = yield* run([pass(61_000), kill, read(0), pass(12_000), { _tag: "Start", slot: 0 }, read(0)], {
        rotation: "Graceful"
      })
      assert.strictEqual(numberOf(history, "Rejected"), 0)
      assert.strictEqual(numberOf(history, "WindowOpened"), 1)
    }))
})

describe("generated scripts", () => {
  it.live("have every kind of command, and reach every kind of event and of end", () =>
    Effect.gen(function*() {
      const drawn = yield* Arbitrary.sampleEffect(arbitrary, { count: 250, seed: 1 })
      const kinds = new Set(drawn.flatMap(({ commands }) => commands.map(({ _tag }) => _tag)))
      assert.strictEqual(kinds.size, commands.length)
      const tags =
        "Killed Suspended Resumed Closed TokenLost StoreFailed Removed Rejected Confirmed WindowClosed Released"
      const ends = "200 AuthorizationRequired SignInRequired Unavailable Denied interrupted TokenRejected"
      const missing = new Set(`${tags} ${ends}`.split(" "))
      for (const one of drawn) {
        const { events } = yield* Effect.promise(() => Run.run(one))
        for (const event of events) missing.delete(event._tag === "ActEnded" ? event.outcome : event._tag)
        if (missing.size === 0) break
      }
      assert.deepStrictEqual([...missing], [])
    }), { timeout: 60_000 })
})

describe("a script in which a law was broken", () => {
  const login = { _tag: "Login", slot: 1 } as const
  const found: ReadonlyArray<readonly [what: string, script: Script]> = [
    [
      "a sign-in that was begun anew replaced the client of another process, which could not refresh any more",
      script([login, login], { processes: 2 })
    ],
    [
      "a step-up after a login went to the issuer that the server had left",
      script([write(0), { _tag: "Migrate" }, { _tag: "Login", slot: 0 }], { confirms: true, storeMillis: 1200 })
    ],
    [
      "a process whose window was not answered did not look for the tokens of another process",
      script([
        { _tag: "Logout", slot: 0 },
        write(1),
        pass(3000),
        { _tag: "Person", answer: "Ignores" },
        { _tag: "Login", slot: 0 }
      ], { processes: 2, storeMillis: 0, seed: 0 })
    ],
    [
      "a process whose window was not answered did not look for the tokens of another process at another issuer",
      script([{ _tag: "Migrate" }, write(1), pass(3000), { _tag: "Person", answer: "Ignores" }, {
        _tag: "Login",
        slot: 0
      }], { processes: 2, storeMillis: 0, seed: 0 })
    ]
  ]
  for (const [what, one] of found) {
    it.live(what, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* Effect.promise(() => Search.judge(one)), [])
      }))
  }
})

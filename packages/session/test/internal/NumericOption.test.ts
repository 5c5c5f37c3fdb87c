import { AjvValidator } from "@effect-mcp/json-schema"
import {
  ClientSession,
  EventStore,
  InvalidOptionError,
  Limits,
  MemoryBudget,
  MemoryTransport,
  ServerSession,
  SessionHost,
  SessionStore,
  StatelessServer,
  Transport
} from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as NumericOption from "../../src/internal/NumericOption.ts"

const info = { name: "test", version: "1.0.0" }

interface Options {
  readonly size?: number | undefined
  readonly within?: Duration.Input
  readonly name?: string
}

const rules: NumericOption.Rules<Options> = { size: NumericOption.count, within: NumericOption.duration }

/** Rules, each with accepted and rejected values. */
const cases: ReadonlyArray<
  readonly [
    name: string,
    rule: NumericOption.Rule<"Number">,
    accepted: ReadonlyArray<number>,
    rejected: ReadonlyArray<number>
  ]
> = [
  ["count", NumericOption.count, [1, 2 ** 40, Number.POSITIVE_INFINITY], [
    0,
    -1,
    1.5,
    2 ** 53,
    Number.NEGATIVE_INFINITY
  ]],
  ["countFromZero", NumericOption.countFromZero, [0, 1, Number.POSITIVE_INFINITY], [-1, 0.5]],
  ["port", NumericOption.port, [0, 65_535], [-1, 65_536, 80.5, Number.POSITIVE_INFINITY]],
  ["fileMode", NumericOption.fileMode, [0, 0o600, 0o777], [-1, 0o1000, 0.5, Number.POSITIVE_INFINITY]],
  ["growth", NumericOption.growth, [1, 1.5], [0.9, -1, Number.POSITIVE_INFINITY]]
]

describe("a rule for numbers", () => {
  it.each(cases)("%s accepts sensible values, and rejects NaN and texts", (_, rule, accepted, rejected) => {
    for (const value of [...accepted, undefined]) {
      NumericOption.check<Options>({ size: value }, { ...rules, size: rule })
    }
    for (const value of [...rejected, Number.NaN]) {
      assert.throws(
        () => NumericOption.check<Options>({ size: value }, { ...rules, size: rule }, "options."),
        InvalidOptionError.InvalidOptionError,
        `options.size must be ${rule.allowed}, not ${value}`
      )
    }
    const given: object = { size: "5" }
    assert.throws(() => NumericOption.check<Options>(given, { ...rules, size: rule }), "not \"5\"")
  })
})

describe("a rule for durations", () => {
  const check = (within: unknown, rule: NumericOption.Rule<"Duration">) => {
    const given: object = { within }
    NumericOption.check<Options>(given, { ...rules, within: rule })
  }

  it("accepts every input of a duration", () => {
    const inputs = [0, 1.5, "5 seconds", Number.POSITIVE_INFINITY, "Infinity", Duration.infinity, { seconds: 1 }, [
      1,
      2
    ]]
    for (const input of inputs) assert.doesNotThrow(() => check(input, NumericOption.duration))
    assert.doesNotThrow(() => check("1 milli", NumericOption.interval))
  })

  it("rejects values that are no duration or negative", () => {
    for (const input of [Number.NaN, -1, "-1 second", "soon", "", null, { seconds: Number.NaN }, Duration.millis(-1)]) {
      assert.throws(() => check(input, NumericOption.duration), InvalidOptionError.InvalidOptionError)
    }
    assert.throws(() => check(0, NumericOption.interval), "within must be a duration above 0, not 0")
  })
})

it("resolving returns the given numbers and the defaults of the others, with durations in milliseconds", () => {
  const settings: NumericOption.Settings<Options> = {
    size: [NumericOption.count, 4],
    within: [NumericOption.duration, "2 seconds"]
  }
  assert.deepStrictEqual(NumericOption.resolve<Options>({}, settings), { size: 4, within: 2000 })
  const given: Options = { size: undefined, within: "1 minute", name: "ignored" }
  assert.deepStrictEqual(NumericOption.resolve(given, settings), { size: 4, within: 60_000 })
  const numbers = NumericOption.resolve<Options>({ size: 1, within: 0 }, settings)
  assert.deepStrictEqual(numbers, { size: 1, within: 0 })
  expectTypeOf(numbers).toEqualTypeOf<{ readonly size: number; readonly within: number }>()
  assert.throws(
    () => NumericOption.resolve<Options>({ size: 0 }, settings, "limits."),
    /limits\.size must be a whole number/
  )
})

it("the type of rules has a rule for each number and duration of the options, and no other", () => {
  expectTypeOf<keyof NumericOption.Rules<Options>>().toEqualTypeOf<"size" | "within">()
  expectTypeOf<NumericOption.Rules<Options>["size"]>().toEqualTypeOf<NumericOption.Rule<"Number">>()
  expectTypeOf<NumericOption.Rules<Options>["within"]>().toEqualTypeOf<NumericOption.Rule<"Duration">>()
})

const clientTransport = Effect.map(MemoryTransport.make(), ({ client }) => client)

const provided = <A, E>(make: Effect.Effect<A, E, Transport.Transport | Scope.Scope>) =>
  Effect.scoped(Effect.provideServiceEffect(make, Transport.Transport, clientTransport))

const constructors: ReadonlyArray<
  readonly [what: string, make: () => Effect.Effect<unknown, unknown>, option: string]
> = [
  [
    "a client's session",
    () => provided(ClientSession.make({ info, limits: { maxProgressSteps: Number.NaN } })),
    "limits.maxProgressSteps"
  ],
  [
    "a server's session",
    () => provided(ServerSession.make({}, { info, limits: { maxIncomingRequests: -1 } })),
    "limits.maxIncomingRequests"
  ],
  [
    "a server without sessions",
    () => StatelessServer.make({}, { info, limits: { requestTimeout: Number.NaN } }),
    "limits.requestTimeout"
  ],
  [
    "a host",
    () => Effect.scoped(SessionHost.make({}, { info, sessions: { idleTimeout: Number.NaN } })),
    "sessions.idleTimeout"
  ],
  [
    "a host's limits",
    () => Effect.scoped(SessionHost.make({}, { info, limits: { maxBatchMessages: 0 } })),
    "limits.maxBatchMessages"
  ],
  ["a store of events", () => Effect.scoped(EventStore.makeMemory({ maxBytesPerStream: 0.5 })), "maxBytesPerStream"],
  ["a store of sessions", () => SessionStore.makeMemory({ idleTimeout: -1 }), "idleTimeout"],
  ["a validator", () => Effect.sync(() => AjvValidator.make({ maxSteps: Number.NaN })), "maxSteps"],
  ["a budget", () => Effect.sync(() => MemoryBudget.make({ maxBytes: Number.NaN })), "maxBytes"]
]

it.effect.each(constructors)(
  "%s dies when it is made with an invalid number",
  ([, make, option]) =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.suspend(make))
      assert(Exit.isFailure(exit))
      const defect = Cause.squash(exit.cause)
      assert(defect instanceof InvalidOptionError.InvalidOptionError)
      assert.strictEqual(defect.option, option)
    })
)

it("each limit rejects NaN and negative numbers", () => {
  for (const name of Object.keys(Limits.make())) {
    for (const value of [Number.NaN, -1]) {
      assert.throws(
        () => Limits.make({ [name]: value }),
        InvalidOptionError.InvalidOptionError,
        `limits.${name} must be `
      )
    }
  }
})

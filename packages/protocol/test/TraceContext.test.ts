import { TraceContext } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"
const valid = `00-${traceId}-${spanId}-01`

const accepted: ReadonlyArray<readonly [traceparent: string, sampled: boolean]> = [
  [valid, true],
  [`00-${traceId}-${spanId}-00`, false],
  [`00-${traceId}-${spanId}-02`, false],
  [`00-${traceId}-${spanId}-ff`, true],
  [`cc-${traceId}-${spanId}-03`, true],
  [`01-${traceId}-${spanId}-01-a-later-version`, true],
  [`01-${traceId}-${spanId}-01-`, true]
]

const ignored: ReadonlyArray<unknown> = [
  undefined,
  null,
  1,
  [valid],
  { toString: () => valid },
  "",
  "-",
  "---",
  "nonsense",
  ` ${valid}`,
  `${valid} `,
  `${valid}\n`,
  `${valid}-`,
  `${valid}-more`,
  `ff-${traceId}-${spanId}-01`,
  `0-${traceId}-${spanId}-01`,
  `000-${traceId}-${spanId}-01`,
  `0x-${traceId}-${spanId}-01`,
  `00-${"0".repeat(32)}-${spanId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId.slice(1)}-${spanId}-01`,
  `00-${traceId}0-${spanId}-01`,
  `00-${traceId}-${spanId.slice(1)}-01`,
  `00-${traceId}-${spanId}0-01`,
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-`,
  `00-${traceId}-${spanId}-1`,
  `00-${traceId}-${spanId}-0g`,
  `00-${traceId}-${spanId}-001`,
  "-".repeat(4_000_000)
]

describe("fromMeta and toMeta", () => {
  for (const [traceparent, sampled] of accepted) {
    it(`[MSG-31] a traceparent is read: ${traceparent}`, () => {
      assert.deepStrictEqual(TraceContext.fromMeta({ traceparent }), { traceId, spanId, sampled })
    })
  }

  for (const traceparent of ignored) {
    it(`[MSG-31] an invalid traceparent is ignored: ${JSON.stringify(traceparent)?.slice(0, 80)}`, () => {
      assert.isUndefined(TraceContext.fromMeta({ traceparent }))
    })
  }

  it("[MSG-31] metadata without a traceparent has no trace", () => {
    for (const meta of [undefined, {}, Object.create(null), { __proto__: null }]) {
      assert.isUndefined(TraceContext.fromMeta(meta))
      assert.deepStrictEqual(TraceContext.baggageOf(meta), {})
    }
  })

  it("[MSG-31] fromMeta reads what toMeta writes", () => {
    for (const sampled of [true, false]) {
      const trace = { traceId, spanId, sampled }
      assert.deepStrictEqual(TraceContext.fromMeta(TraceContext.toMeta(trace)), trace)
    }
  })

  it("[MSG-31] toMeta writes nothing for invalid ids", () => {
    for (
      const ids of [
        { traceId: "noop", spanId },
        { traceId, spanId: "noop" },
        { traceId: "0".repeat(32), spanId },
        { traceId, spanId: "0".repeat(16) },
        { traceId: `${traceId}\n`, spanId }
      ]
    ) {
      assert.deepStrictEqual(TraceContext.toMeta({ ...ids, sampled: true }), {})
    }
  })
})

describe("baggageOf", () => {
  const maximumLength = { tracestate: 512, baggage: 8192 } as const

  for (const key of ["tracestate", "baggage"] as const) {
    it(`[MSG-31] ${key}: lists of members are read, up to the maximum length`, () => {
      for (const value of ["a=1", "a=1,b=2", "a=1;p=2 ,\tb==", `a=${"x".repeat(maximumLength[key] - 2)}`]) {
        assert.deepStrictEqual(TraceContext.baggageOf({ [key]: value }), { [key]: value })
      }
    })

    it(`[MSG-31] ${key}: other values are ignored`, () => {
      for (
        const value of [
          undefined,
          null,
          1,
          ["a=1"],
          "",
          "a",
          "a=1\n",
          "a=1\r\nb: 2",
          "\u0000=1",
          "a=ä",
          `a=${"x".repeat(maximumLength[key] - 1)}`
        ]
      ) {
        assert.deepStrictEqual(TraceContext.baggageOf({ [key]: value }), {})
      }
    })
  }

  it("[MSG-31] a thousand almost valid lists are rejected in linear time", () => {
    // With a pattern that backtracks, each of these takes a tenth of a second, and the test times out.
    const almostValid = `${"=".repeat(8191)}\n`
    for (let count = 0; count < 1000; count++) {
      assert.deepStrictEqual(TraceContext.baggageOf({ baggage: almostValid }), {})
    }
  })
})

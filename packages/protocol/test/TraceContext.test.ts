import { TraceContext } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"
const usual = `00-${traceId}-${spanId}-01`

const read: ReadonlyArray<readonly [traceparent: string, sampled: boolean]> = [
  [usual, true],
  [`00-${traceId}-${spanId}-00`, false],
  [`00-${traceId}-${spanId}-02`, false],
  [`00-${traceId}-${spanId}-ff`, true],
  [`cc-${traceId}-${spanId}-03`, true],
  [`01-${traceId}-${spanId}-01-what-the-future-will-bring`, true],
  [`01-${traceId}-${spanId}-01-`, true]
]

const passedOver: ReadonlyArray<unknown> = [
  undefined,
  null,
  1,
  [usual],
  { toString: () => usual },
  "",
  "-",
  "---",
  "nonsense",
  ` ${usual}`,
  `${usual} `,
  `${usual}\n`,
  `${usual}-`,
  `${usual}-more`,
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

describe("the trace that metadata names", () => {
  for (const [traceparent, sampled] of read) {
    it(`[MSG-31] ${traceparent}`, () => {
      assert.deepStrictEqual(TraceContext.fromMeta({ traceparent }), { traceId, spanId, sampled })
    })
  }

  for (const traceparent of passedOver) {
    it(`[MSG-31] is none: ${JSON.stringify(traceparent)?.slice(0, 80)}`, () => {
      assert.isUndefined(TraceContext.fromMeta({ traceparent }))
    })
  }

  it("[MSG-31] is none without metadata, whatever metadata is", () => {
    for (const meta of [undefined, {}, Object.create(null), { __proto__: null }]) {
      assert.isUndefined(TraceContext.fromMeta(meta))
      assert.deepStrictEqual(TraceContext.baggageOf(meta), {})
    }
  })

  it("[MSG-31] comes back from what it was written as", () => {
    for (const sampled of [true, false]) {
      const trace = { traceId, spanId, sampled }
      assert.deepStrictEqual(TraceContext.fromMeta(TraceContext.toMeta(trace)), trace)
    }
  })

  it("[MSG-31] of ids that are none, nothing is written", () => {
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

describe("what travels with a trace", () => {
  const longest = { tracestate: 512, baggage: 8192 } as const

  for (const key of ["tracestate", "baggage"] as const) {
    it(`[MSG-31] ${key}: lists of members, up to the longest`, () => {
      for (const value of ["a=1", "a=1,b=2", "a=1;p=2 ,\tb==", `a=${"x".repeat(longest[key] - 2)}`]) {
        assert.deepStrictEqual(TraceContext.baggageOf({ [key]: value }), { [key]: value })
      }
    })

    it(`[MSG-31] ${key}: nothing else`, () => {
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
          `a=${"x".repeat(longest[key] - 1)}`
        ]
      ) {
        assert.deepStrictEqual(TraceContext.baggageOf({ [key]: value }), {})
      }
    })
  }

  it("[MSG-31] a thousand texts that nearly are lists are found out as fast as they come", () => {
    // Where a text could be read in several ways, each of these would take a tenth of a second, and the test would not end in time.
    const nearly = `${"=".repeat(8191)}\n`
    for (let count = 0; count < 1000; count++) {
      assert.deepStrictEqual(TraceContext.baggageOf({ baggage: nearly }), {})
    }
  })
})

/**
 * The W3C trace context of a request, in the keys `traceparent`, `tracestate` and `baggage` of its `_meta` (MSG-31).
 *
 * @stability unstable
 */
import type { Meta } from "./Meta.ts"

/**
 * The span that a request was sent from, and the baggage of its trace.
 *
 * @category models
 */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all of them zero. */
  readonly traceId: string
  /** 16 hexadecimal digits in lower case, not all of them zero. */
  readonly spanId: string
  /** Whether the sender records this trace. */
  readonly sampled: boolean
}

/**
 * The data that a trace carries besides the span. This library passes it on and does not read it.
 *
 * @category models
 */
export interface Baggage {
  /** The data of tracing systems: at most 512 characters. */
  readonly tracestate?: string
  /** The data of applications: at most 8,192 characters. */
  readonly baggage?: string
}

/** The version, the trace, the span and the flags, and further members of newer versions. */
const pattern = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?=$|-)/

/** The number of characters of version `00`. */
const length = 55

/**
 * The common syntax of both lists: members with a value each, separated by commas. The part before the first `=`
 * excludes `=`. So there is one way to match a string, and a long mismatch fails in linear time.
 */
const list = /^[\t\x20-\x3C\x3E-\x7E]*=[\t\x20-\x7E]*$/

/**
 * Reads the trace context of a message. A malformed `traceparent` yields `undefined`. Of a newer version, the members
 * of this version are read.
 *
 * @example
 * ```ts
 * import { TraceContext } from "@effect-mcp/protocol"
 *
 * export const parent = TraceContext.fromMeta({
 *   traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
 * })?.spanId // => "00f067aa0ba902b7"
 * ```
 *
 * @category conversions
 */
export const fromMeta = (meta: Meta | undefined): TraceContext | undefined => {
  const traceparent = meta?.["traceparent"]
  if (typeof traceparent !== "string" || !pattern.test(traceparent)) return undefined
  if (traceparent.length > length && traceparent.startsWith("00")) return undefined
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    sampled: (Number.parseInt(traceparent.slice(53, length), 16) & 1) === 1
  }
}

/**
 * Reads the baggage of a message (MSG-31). A part that is too long or malformed is omitted.
 *
 * @example
 * ```ts
 * import { TraceContext } from "@effect-mcp/protocol"
 *
 * export const baggage = TraceContext.baggageOf({ tracestate: "vendor=1", baggage: "no list" })
 * // => { tracestate: "vendor=1" }
 * ```
 *
 * @category conversions
 */
export const baggageOf = (meta: Meta | undefined): Baggage => {
  const tracestate = partOf(meta?.["tracestate"], 512)
  const baggage = partOf(meta?.["baggage"], 8192)
  return {
    ...(tracestate === undefined ? undefined : { tracestate }),
    ...(baggage === undefined ? undefined : { baggage })
  }
}

const partOf = (value: unknown, longest: number): string | undefined =>
  typeof value === "string" && value.length <= longest && list.test(value) ? value : undefined

/**
 * Creates the metadata of a trace context (MSG-31). A span with malformed ids yields no `traceparent`.
 *
 * @example
 * ```ts
 * import { TraceContext } from "@effect-mcp/protocol"
 *
 * export const meta = TraceContext.toMeta({
 *   traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
 *   spanId: "00f067aa0ba902b7",
 *   sampled: true
 * }) // => { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" }
 * ```
 *
 * @category conversions
 */
export const toMeta = ({ sampled, spanId, traceId }: TraceContext): Meta => {
  const traceparent = `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`
  return traceparent.length === length && pattern.test(traceparent) ? { traceparent } : {}
}

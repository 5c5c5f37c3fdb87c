/**
 * Which trace a request belongs to, as its `_meta` says it: the keys `traceparent`, `tracestate` and `baggage`, in the formats
 * of the W3C (MSG-31).
 *
 * @since 0.1.0
 */
import type { Meta } from "./Meta.ts"

/**
 * The span a request was sent from, and what travels with its trace.
 *
 * @category models
 * @since 0.1.0
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
 * What travels with a trace beside the span, for whoever understands it. Nothing here reads it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Baggage {
  /** What tracing systems say to one another: at most 512 characters. */
  readonly tracestate?: string
  /** What applications say to one another: at most 8,192 characters. */
  readonly baggage?: string
}

const version = /^(?!ff)[\da-f]{2}$/
const ids = /^(?!0{32})[\da-f]{32}$/
const spans = /^(?!0{16})[\da-f]{16}$/
const flags = /^[\da-f]{2}$/

/**
 * Members with a value each, separated by commas: what both lists have in common. Before the first `=` there is none, so that
 * there is one way only to read a text, and a long one that does not fit is found out in one go.
 */
const list = /^[\t\x20-\x3C\x3E-\x7E]*=[\t\x20-\x7E]*$/

/**
 * The trace that the metadata names. What is not in the format is no trace; a version to come is read as far as this one goes.
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
 * @since 0.1.0
 */
export const fromMeta = (meta: Meta | undefined): TraceContext | undefined => {
  const traceparent = meta?.["traceparent"]
  if (typeof traceparent !== "string") return undefined
  // Of what follows it matters only whether there is any.
  const [first = "", traceId = "", spanId = "", last = "", ...more] = traceparent.split("-", 5)
  const fits = version.test(first) && ids.test(traceId) && spans.test(spanId) && flags.test(last)
  if (!fits || (first === "00" && more.length > 0)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(last, 16) & 1) === 1 }
}

/**
 * What the metadata carries with its trace (MSG-31). Each part that is too long, or no list of members, is left out.
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
 * @since 0.1.0
 */
export const baggageOf = (meta: Meta | undefined): Baggage => {
  const part = (key: keyof Baggage, longest: number): Baggage => {
    const value = meta?.[key]
    return typeof value === "string" && value.length <= longest && list.test(value) ? { [key]: value } : {}
  }
  return { ...part("tracestate", 512), ...part("baggage", 8192) }
}

/**
 * The metadata that names this trace (MSG-31). A span whose ids are not in the format is none that a peer could know, and
 * says nothing.
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
 * @since 0.1.0
 */
export const toMeta = ({ sampled, spanId, traceId }: TraceContext): Meta =>
  ids.test(traceId) && spans.test(spanId) ? { traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}` } : {}

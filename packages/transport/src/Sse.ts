/**
 * Server-sent events over bytes, as Streamable HTTP carries messages: the format `text/event-stream` of the HTML
 * standard. The decoder takes chunks of any size and calls a function with each event. It does no I/O.
 *
 * This is not `effect/encoding/Sse`, for four reasons. That parser reads text, so a caller would have to decode the
 * bytes and could not report invalid UTF-8. An event above its `maxEventSize` ends its stream, whereas here it costs
 * only itself. Its channel reports a `retry` field as a failure, which ends it. And it does not distinguish an event
 * with an id from one that inherits the last id, which a resuming client must do to recognize repeated events. A test
 * compares the two on streams within both limits.
 *
 * @stability unstable
 */
import { NumericOption } from "@effect-mcp/session/internal"
import type { FrameError } from "@effect-mcp/session/Transport"
import * as Result from "effect/Result"
import * as GrowingBuffer from "./internal/shared/GrowingBuffer.ts"
import * as utf8 from "./internal/shared/utf8.ts"

/**
 * The default of {@link EventDecoderOptions.maxEventBytes}: 4 MiB.
 *
 * @category constants
 */
export const defaultMaxEventBytes: number = 4 * 1024 * 1024

/**
 * A server-sent event.
 *
 * @category models
 */
export interface Event {
  /** The data. Several lines are joined with line feeds. */
  readonly data: string
  /** The id; `undefined` for an event without one. {@link EventDecoder.lastEventId} is the last id of the stream. */
  readonly id: string | undefined
  /** The event type. Default `"message"`. */
  readonly event: string
  /** The reconnection time in milliseconds, if this event has one. */
  readonly retry: number | undefined
}

/**
 * Options of {@link decoder}.
 *
 * @category options
 */
export interface EventDecoderOptions {
  /**
   * The most data of one event, in bytes. The decoder skips a larger event without keeping it, and reports it once as
   * `TooLarge`. Default: {@link defaultMaxEventBytes}.
   */
  readonly maxEventBytes?: number | undefined
  /** The last event id of the stream that these bytes continue. Default `""`: none. */
  readonly lastEventId?: string | undefined
}

/**
 * The decoder of one connection.
 *
 * @category models
 */
export interface EventDecoder {
  /**
   * Takes the next bytes. A chunk may begin and end anywhere, even inside a character. The decoder copies what it
   * keeps, so the caller may reuse the chunk's memory. The end of the bytes needs no call: an incomplete event is
   * dropped.
   */
  readonly push: (chunk: Uint8Array) => void
  /** Returns the last event id, even of an event without data or one that could not be read; `""` if there is none. */
  readonly lastEventId: () => string
  /** Returns the last reconnection time that the peer sent, in milliseconds. */
  readonly retryMillis: () => number | undefined
}

const lineFeed = 0x0A
const carriageReturn = 0x0D
const colon = 0x3A
const space = 0x20

/**
 * The number of data lines joined at a time. Joined one by one, each line keeps 64 bytes of heap until the event ends,
 * so an event of 4 MiB in empty lines would take 256 MiB.
 */
const linesPerJoin = 1024

const data = [0x64, 0x61, 0x74, 0x61]

/** The most bytes before the data on a data line: a byte order mark and the field name. */
const prefixBytes = 3 + "data: ".length

/** The number of bytes that decide whether a line is a data line, byte order mark included. */
const headBytes = 3 + "data:".length

const isData = (line: Uint8Array): boolean =>
  (line.length === 4 || line[4] === colon) && data.every((byte, index) => line[index] === byte)

/** Returns the field value: the bytes after the colon and after one optional space. */
const valueOf = (line: Uint8Array, nameLength: number): Uint8Array =>
  line.subarray(line[nameLength + 1] === space ? nameLength + 2 : nameLength + 1)

/** Returns the index of the next such byte; `Infinity` if there is none. */
const find = (chunk: Uint8Array, byte: number, start: number): number => {
  const at = chunk.indexOf(byte, start)
  return at < 0 ? Number.POSITIVE_INFINITY : at
}

/**
 * Creates the decoder of one connection. It calls `deliver` once per event, in order, before `push` returns:
 *
 * - with the event and the length of its data in bytes;
 * - with `TooLarge`, once, as soon as an event exceeds `maxEventBytes`;
 * - with `NotJson` for data that is not UTF-8. This differs from the HTML standard, which replaces invalid bytes and so
 *   delivers other data than was sent.
 *
 * A bad event does not affect the next one. Everything else follows the standard. Lines end with LF, CR or CRLF. The
 * decoder ignores a byte order mark at the start, comments, unknown fields and other fields beyond the limit. It also
 * ignores an id with a NUL, and a `retry` that is not all digits. An event without a data line is dropped, but its id
 * counts. Time is proportional to the number of bytes, whatever the size of the chunks, and the decoder keeps at most
 * twice the limit.
 *
 * @example
 * ```ts
 * import { Sse } from "@effect-mcp/transport"
 * import * as Result from "effect/Result"
 *
 * export const events: Array<unknown> = []
 * const decoder = Sse.decoder((event) => events.push(Result.merge(event)))
 * decoder.push(new TextEncoder().encode(": hello\r\n\r\nid: 7\r\ndata: {\"jsonrpc\":\"2.0\","))
 * decoder.push(new TextEncoder().encode("\"id\":1,\"result\":{}}\r\n\r\ndata: half"))
 * // => [{ data: "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", id: "7", event: "message", retry: undefined }]
 * ```
 *
 * @category constructors
 */
export const decoder = (
  deliver: (event: Result.Result<Event, FrameError>, bytes: number) => void,
  options?: EventDecoderOptions
): EventDecoder => {
  NumericOption.check(options, { maxEventBytes: NumericOption.count })
  const limitBytes = options?.maxEventBytes ?? defaultMaxEventBytes
  const lineLimitBytes = limitBytes + prefixBytes
  const partial = GrowingBuffer.make(lineLimitBytes)
  // The current line is too long to be kept.
  let skippingLine = false
  // A following LF belongs to the line end before it.
  let afterCarriageReturn = false
  let atStart = true

  // The current event.
  let text: string | undefined
  let laterLines: Array<string> = []
  let bytes = 0
  let fault: FrameError | undefined
  let type = ""
  let id: string | undefined
  let retry: number | undefined

  // The stream.
  let lastEventId = options?.lastEventId ?? ""
  let retryMillis: number | undefined

  const tooLarge = (): void => {
    if (fault?._tag === "TooLarge") return
    fault = { _tag: "TooLarge", limitBytes }
    text = undefined
    laterLines = []
    deliver(Result.fail(fault), limitBytes)
  }

  const join = (): void => {
    text = `${text}\n${laterLines.join("\n")}`
    laterLines = []
  }

  const append = (value: Uint8Array): void => {
    const isFirst = text === undefined
    bytes += value.length + (isFirst ? 0 : 1)
    if (bytes > limitBytes) return tooLarge()
    if (fault !== undefined) return
    try {
      const decoded = utf8.decode(value)
      if (isFirst) text = decoded
      else if (laterLines.push(decoded) === linesPerJoin) join()
    } catch {
      fault = { _tag: "NotJson", text: utf8.beginning(value) }
    }
  }

  const dispatch = (): void => {
    if (laterLines.length > 0) join()
    const [ended, endedFault, size] = [text, fault, bytes]
    const event = { id, event: type === "" ? "message" : type, retry }
    if (id !== undefined) lastEventId = id
    text = undefined
    fault = undefined
    bytes = 0
    type = ""
    id = undefined
    retry = undefined
    if (endedFault?._tag === "NotJson") deliver(Result.fail(endedFault), size)
    else if (endedFault === undefined && ended !== undefined) deliver(Result.succeed({ data: ended, ...event }), size)
  }

  const readField = (name: string, value: string): void => {
    if (name === "event") type = value
    else if (name === "id" && !value.includes("\0")) id = value
    else if (name === "retry" && /^[0-9]+$/.test(value)) {
      retry = Math.min(Number(value), Number.MAX_SAFE_INTEGER)
      retryMillis = retry
    }
  }

  const read = (line: Uint8Array): void => {
    if (line.length === 0) return dispatch()
    if (isData(line)) return append(valueOf(line, 4))
    const nameLength = line.indexOf(colon)
    if (nameLength === 0) return
    if (nameLength < 0) return readField(utf8.decodeLeniently(line), "")
    readField(utf8.decodeLeniently(line.subarray(0, nameLength)), utf8.decodeLeniently(valueOf(line, nameLength)))
  }

  const readFirst = (line: Uint8Array): void => {
    atStart = false
    read(utf8.withoutByteOrderMark(line))
  }

  const keep = (bytes: Uint8Array): void => {
    if (skippingLine) return
    if (partial.fits(bytes)) return partial.add(bytes)
    const head = Uint8Array.of(...partial.bytes().subarray(0, headBytes), ...bytes.subarray(0, headBytes))
    partial.clear()
    skippingLine = true
    // Only a data line may be this long. The decoder ignores any other.
    if (isData(atStart ? utf8.withoutByteOrderMark(head) : head)) tooLarge()
    atStart = false
  }

  const end = (line: Uint8Array): void => {
    if (partial.length() === 0 && !skippingLine && line.length <= lineLimitBytes) {
      // Nearly every line lies within one chunk: it is read without a copy.
      return atStart ? readFirst(line) : read(line)
    }
    keep(line)
    if (skippingLine) {
      skippingLine = false
      return
    }
    const whole = partial.bytes()
    if (atStart) readFirst(whole)
    else read(whole)
    partial.clear()
  }

  return {
    push: (chunk) => {
      let start = 0
      if (afterCarriageReturn && chunk.length > 0) {
        afterCarriageReturn = false
        if (chunk[0] === lineFeed) start = 1
      }
      let nextFeed = find(chunk, lineFeed, start)
      let nextReturn = find(chunk, carriageReturn, start)
      for (let at = Math.min(nextFeed, nextReturn); at < chunk.length; at = Math.min(nextFeed, nextReturn)) {
        const line = chunk.subarray(start, at)
        start = at + 1
        if (at === nextReturn) {
          if (start === chunk.length) afterCarriageReturn = true
          else if (chunk[start] === lineFeed) start++
          nextReturn = find(chunk, carriageReturn, start)
        }
        if (nextFeed < start) nextFeed = find(chunk, lineFeed, start)
        end(line)
      }
      if (start < chunk.length) keep(chunk.subarray(start))
    },
    lastEventId: () => lastEventId,
    retryMillis: () => retryMillis
  }
}

/** The characters that an id cannot contain: they would end its line, or make a reader ignore it. */
const unfitForId = /[\r\n\0]/

/** The characters that an event type cannot contain, for the same reason. */
const unfitForType = /[\r\n]/

/**
 * Encodes an event with this data, and with an id and a type if they are given. An event without a type is a `message`.
 * Each line break in the data starts a new data line, so readers see a line feed; JSON contains none. An id with a line
 * break or a NUL is left out, and so is a type with a line break, because readers would see something else.
 *
 * @example
 * ```ts
 * import { Sse } from "@effect-mcp/transport"
 *
 * export const event = Sse.event("7", "{}") // => "id: 7\ndata: {}\n\n"
 * export const priming = Sse.event("1", "") // => "id: 1\ndata: \n\n"
 * export const plain = Sse.event(undefined, "{}") // => "data: {}\n\n"
 * export const endpoint = Sse.event(undefined, "/messages", "endpoint")
 * // => "event: endpoint\ndata: /messages\n\n"
 * ```
 *
 * @category encoding
 */
export const event = (id: string | undefined, data: string, type?: string): string => {
  const lines = `data: ${data.replace(/\r\n|\r|\n/g, "\ndata: ")}\n\n`
  const typed = type === undefined || unfitForType.test(type) ? lines : `event: ${type}\n${lines}`
  return id === undefined || unfitForId.test(id) ? typed : `id: ${id}\n${typed}`
}

/**
 * Encodes a comment, which readers ignore. It keeps a connection from looking idle.
 *
 * @example
 * ```ts
 * import { Sse } from "@effect-mcp/transport"
 *
 * export const keepAlive = Sse.comment("") // => ": \n\n"
 * ```
 *
 * @category encoding
 */
export const comment = (text: string): string => `: ${text.replace(/\r\n|\r|\n/g, "\n: ")}\n\n`

/**
 * Encodes a reconnection time in milliseconds; a fraction is cut off.
 *
 * @example
 * ```ts
 * import { Sse } from "@effect-mcp/transport"
 *
 * export const inThreeSeconds = Sse.retry(3_000) // => "retry: 3000\n\n"
 * ```
 *
 * @category encoding
 */
export const retry = (millis: number): string => `retry: ${Math.max(0, Math.trunc(millis))}\n\n`

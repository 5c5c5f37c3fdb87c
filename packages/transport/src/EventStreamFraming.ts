/**
 * Server-sent events over bytes, as Streamable HTTP carries messages: the format that the HTML standard calls
 * `text/event-stream`. Pure: bytes come in by chunks of any size and events go out by a callback, so that it serves both
 * halves of the transport and a test alike.
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import type { FrameError } from "@effect-mcp/session/Transport"
import * as Result from "effect/Result"
import * as GrowingBuffer from "./internal/shared/GrowingBuffer.ts"
import * as utf8 from "./internal/shared/utf8.ts"

/**
 * The largest event that is read unless an option says otherwise: 4 MiB of data.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultLimitBytes: number = 4 * 1024 * 1024

/**
 * One event.
 *
 * @category models
 * @since 0.1.0
 */
export interface Event {
  /** Its data. Several lines are joined with line feeds. */
  readonly data: string
  /** The id that it came with; `undefined` if it came without one. See {@link Decoder.lastEventId} for the last that did. */
  readonly id: string | undefined
  /** Its type: `"message"` unless it says otherwise. */
  readonly event: string
  /** How long to wait before the stream is taken up again, in milliseconds, if it came with this event. */
  readonly retry: number | undefined
}

/**
 * Options of {@link decoder}.
 *
 * @category options
 * @since 0.1.0
 */
export interface DecoderOptions {
  /**
   * The most data that one event may carry, in bytes. A larger one is skipped up to its end without being kept, and is
   * reported once as `TooLarge`. The default is {@link defaultLimitBytes}.
   */
  readonly limitBytes?: number | undefined
  /** The last id of the stream that these bytes go on with. The default is `""`: there is none. */
  readonly lastEventId?: string | undefined
}

/**
 * The reading half of one connection.
 *
 * @category models
 * @since 0.1.0
 */
export interface Decoder {
  /**
   * Takes the next bytes. The chunk may begin and end anywhere, also inside a character; it is not kept, so its memory
   * may be used again. When the bytes have come to their end there is nothing to be done: an event that is not complete
   * is none.
   */
  readonly push: (chunk: Uint8Array) => void
  /** The last id that came with an event, also with one that had no data or could not be read; `""` if there is none. */
  readonly lastEventId: () => string
  /** How long to wait before the stream is taken up again, as the peer said last, in milliseconds. */
  readonly retryMillis: () => number | undefined
}

const lineFeed = 0x0A
const carriageReturn = 0x0D
const colon = 0x3A
const space = 0x20

/**
 * So many lines of data are joined at a time. Joined one by one, each line keeps 64 bytes of heap until the event ends,
 * so that an event of 4 MiB in empty lines takes 256 MiB.
 */
const linesPerJoin = 1024

const data = [0x64, 0x61, 0x74, 0x61]

/** What stands before the data on a line of data, at most: a byte order mark, and this. */
const prefixBytes = 3 + "data: ".length

/** From so many bytes of a line it is certain whether it is one of data, whatever stands before it. */
const headBytes = 3 + "data:".length

const isData = (line: Uint8Array): boolean =>
  (line.length === 4 || line[4] === colon) && data.every((byte, index) => line[index] === byte)

/** What stands behind the colon, and behind the one space that may follow it. */
const valueOf = (line: Uint8Array, nameLength: number): Uint8Array =>
  line.subarray(line[nameLength + 1] === space ? nameLength + 2 : nameLength + 1)

/** Where the next such byte is; `Infinity` if there is none. */
const find = (chunk: Uint8Array, byte: number, start: number): number => {
  const at = chunk.indexOf(byte, start)
  return at < 0 ? Number.POSITIVE_INFINITY : at
}

/**
 * A decoder for one connection. It calls `deliver` once per event, in order and before `push` returns:
 *
 * - with the event, and how many bytes of data there were;
 * - with `TooLarge`, once for an event beyond the limit, and without waiting for its end;
 * - with `NotJson` for data that is no UTF-8. Here it departs from the HTML standard, which would have replaced what it
 *   cannot read and gone on with other data than was sent.
 *
 * A bad event costs only itself. In everything else it keeps to the standard: lines end with LF, CR or CRLF; a byte order
 * mark at the start, comments, unknown fields and other fields beyond the limit are passed over; an id with a NUL, and a `retry` that is not all digits,
 * are as if they were not there; an event without a line of data is none, but its id counts. It takes time in proportion to
 * the bytes, however they are cut, and keeps no more of them than twice the limit.
 *
 * @example
 * ```ts
 * import { EventStreamFraming } from "@effect-mcp/transport"
 * import * as Result from "effect/Result"
 *
 * export const events: Array<unknown> = []
 * const decoder = EventStreamFraming.decoder((event) => events.push(Result.merge(event)))
 * decoder.push(new TextEncoder().encode(": hello\r\n\r\nid: 7\r\ndata: {\"jsonrpc\":\"2.0\","))
 * decoder.push(new TextEncoder().encode("\"id\":1,\"result\":{}}\r\n\r\ndata: half"))
 * // => [{ data: "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", id: "7", event: "message", retry: undefined }]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const decoder = (
  deliver: (event: Result.Result<Event, FrameError>, bytes: number) => void,
  options?: DecoderOptions
): Decoder => {
  NumericOption.check(options, { limitBytes: NumericOption.count })
  const limitBytes = options?.limitBytes ?? defaultLimitBytes
  const lineLimitBytes = limitBytes + prefixBytes
  const partial = GrowingBuffer.make(lineLimitBytes)
  // The line that has not ended yet is too long to be kept.
  let skippingLine = false
  // An LF that comes next belongs to the line end before it.
  let afterCarriageReturn = false
  let atStart = true

  // Of the event that has not ended yet.
  let text: string | undefined
  let laterLines: Array<string> = []
  let bytes = 0
  let fault: FrameError | undefined
  let type = ""
  let id: string | undefined
  let retry: number | undefined

  // Of the stream.
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
    // No other line is any good at this length, so that it is as if it were not there.
    if (isData(atStart ? utf8.withoutByteOrderMark(head) : head)) tooLarge()
    atStart = false
  }

  const end = (line: Uint8Array): void => {
    if (partial.length() === 0 && !skippingLine && line.length <= lineLimitBytes) {
      // The whole line stands in this chunk, as nearly all do: no copy.
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

/** What cannot stand in an id: a reader would take it for the end of the line, or pass the id over. */
const unfitForId = /[\r\n\0]/

/** What cannot stand in the name of a type, likewise. */
const unfitForType = /[\r\n]/

/**
 * The text of one event with this data, and with an id and a type if it has them; one without a type is a `message`. Every line break
 * in the data begins a new line, and so comes out as a line feed; JSON has none. An id with a line break or a NUL, and a type with a
 * line break, are left out, since they would come out as something else.
 *
 * @example
 * ```ts
 * import { EventStreamFraming } from "@effect-mcp/transport"
 *
 * export const event = EventStreamFraming.event("7", "{}") // => "id: 7\ndata: {}\n\n"
 * export const priming = EventStreamFraming.event("1", "") // => "id: 1\ndata: \n\n"
 * export const plain = EventStreamFraming.event(undefined, "{}") // => "data: {}\n\n"
 * export const endpoint = EventStreamFraming.event(undefined, "/messages", "endpoint")
 * // => "event: endpoint\ndata: /messages\n\n"
 * ```
 *
 * @category encoding
 * @since 0.1.0
 */
export const event = (id: string | undefined, data: string, type?: string): string => {
  const lines = `data: ${data.replace(/\r\n|\r|\n/g, "\ndata: ")}\n\n`
  const typed = type === undefined || unfitForType.test(type) ? lines : `event: ${type}\n${lines}`
  return id === undefined || unfitForId.test(id) ? typed : `id: ${id}\n${typed}`
}

/**
 * A comment, which readers pass over: it keeps a connection from looking idle.
 *
 * @example
 * ```ts
 * import { EventStreamFraming } from "@effect-mcp/transport"
 *
 * export const keepAlive = EventStreamFraming.comment("") // => ": \n\n"
 * ```
 *
 * @category encoding
 * @since 0.1.0
 */
export const comment = (text: string): string => `: ${text.replace(/\r\n|\r|\n/g, "\n: ")}\n\n`

/**
 * Tells the reader how long to wait before it takes the stream up again, in milliseconds; a fraction is cut off.
 *
 * @example
 * ```ts
 * import { EventStreamFraming } from "@effect-mcp/transport"
 *
 * export const inThreeSeconds = EventStreamFraming.retry(3_000) // => "retry: 3000\n\n"
 * ```
 *
 * @category encoding
 * @since 0.1.0
 */
export const retry = (millis: number): string => `retry: ${Math.max(0, Math.trunc(millis))}\n\n`

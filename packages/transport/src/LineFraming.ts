/**
 * Newline-delimited JSON over bytes: one message a line, as stdio and every other byte stream carries it (STD-02,
 * TRN-04). Pure: bytes come in by chunks of any size and frames go out by a callback, so that it serves a pipe, a socket
 * or a test alike.
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import type { FrameError } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Result from "effect/Result"
import * as FrameText from "./internal/shared/FrameText.ts"
import * as GrowingBuffer from "./internal/shared/GrowingBuffer.ts"
import * as utf8 from "./internal/shared/utf8.ts"

/**
 * The longest line that is read unless an option says otherwise: 4 MiB.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultLimitBytes: number = 4 * 1024 * 1024

/**
 * The most arrays, objects and members that the JSON of a line may have unless an option says otherwise: 100,000.
 * Parsing takes time and memory for each of them, and cannot be interrupted.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultLimitNodes: number = FrameText.defaultLimitNodes

/**
 * Options of {@link decoder}.
 *
 * @category options
 * @since 0.1.0
 */
export interface DecoderOptions {
  /**
   * The longest line to read, in bytes without its newline. A longer one is skipped up to its newline without being
   * kept, and is reported once as `TooLarge`. The default is {@link defaultLimitBytes}.
   */
  readonly limitBytes?: number | undefined
  /**
   * The most arrays, objects and members of a line to read. A line with more is not parsed, and is reported as
   * `TooComplex`. The default is {@link defaultLimitNodes}.
   */
  readonly limitNodes?: number | undefined
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
   * may be used again.
   */
  readonly push: (chunk: Uint8Array) => void
  /** Returns how many bytes of a line are kept whose end has not come. */
  readonly keptBytes: () => number
  /** The bytes have come to their end: what stands after the last newline is a line like any other. */
  readonly finish: () => void
}

const newline = 0x0A
const carriageReturn = 0x0D

const isBlank = (line: Uint8Array): boolean => {
  for (const byte of line) {
    if (byte !== 0x20 && byte !== 0x09 && byte !== carriageReturn) return false
  }
  return true
}

const withoutCarriageReturn = (line: Uint8Array): Uint8Array =>
  line[line.length - 1] === carriageReturn ? line.subarray(0, -1) : line

/**
 * A decoder for one connection. It calls `deliver` once per line, in order and before `push` or `finish` returns:
 *
 * - with the parsed JSON, and how many bytes of it there were;
 * - with `NotJson` for a line that is no JSON or no UTF-8;
 * - with `TooLarge`, as soon as a line has grown beyond the limit;
 * - with `TooComplex` for a line with more arrays, objects and members than the limit.
 *
 * A bad line costs only itself. Lines of white space are passed over, as are a carriage return before the newline and a
 * byte order mark before the first line. It takes time in proportion to the bytes, however they are cut, and keeps no
 * more of them than one line within the limit.
 *
 * @example
 * ```ts
 * import { LineFraming } from "@effect-mcp/transport"
 * import * as Result from "effect/Result"
 *
 * export const frames: Array<unknown> = []
 * const decoder = LineFraming.decoder((frame) => frames.push(Result.merge(frame)))
 * decoder.push(new TextEncoder().encode("{\"jsonrpc\":\"2.0\",\"id\":1,"))
 * decoder.push(new TextEncoder().encode("\"method\":\"ping\"}\nnpm warn deprecated\n"))
 * decoder.finish()
 * // => [{ jsonrpc: "2.0", id: 1, method: "ping" },
 * //     { _tag: "NotJson", text: "npm warn deprecated" }]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const decoder = (
  deliver: (frame: Result.Result<unknown, FrameError>, bytes: number) => void,
  options?: DecoderOptions
): Decoder => {
  NumericOption.check(options, { limitBytes: NumericOption.count, limitNodes: NumericOption.count })
  const limitBytes = options?.limitBytes ?? defaultLimitBytes
  const limitNodes = options?.limitNodes ?? defaultLimitNodes
  const partial = GrowingBuffer.make(limitBytes)
  let skipping = false
  let atStart = true

  const keep = (bytes: Uint8Array): void => {
    if (skipping) return
    const needed = partial.length() + bytes.length
    if (partial.fits(bytes)) return partial.add(bytes)
    skipping = true
    partial.clear()
    deliver(Result.fail({ _tag: "TooLarge", limitBytes }), needed)
  }

  const read = (line: Uint8Array): void => {
    const text = withoutCarriageReturn(atStart && utf8.startsWithByteOrderMark(line) ? line.subarray(3) : line)
    if (!isBlank(text)) deliver(FrameText.parseBytes(text, limitNodes), text.length)
  }

  const end = (): void => {
    if (!skipping) read(partial.bytes())
    partial.clear()
    skipping = false
    atStart = false
  }

  return {
    push: (chunk) => {
      let start = 0
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
        const line = chunk.subarray(start, at)
        start = at + 1
        if (partial.length() === 0 && !skipping && line.length <= limitBytes) {
          // The whole line stands in this chunk, as nearly all do: no copy.
          read(line)
          atStart = false
        } else {
          keep(line)
          end()
        }
      }
      if (start < chunk.length) keep(chunk.subarray(start))
    },
    keptBytes: partial.length,
    finish: () => {
      if (partial.length() > 0) end()
    }
  }
}

/**
 * The line that carries a message, its newline included. JSON escapes every line break inside a string, so the line holds
 * no other newline (STD-02). What is no JSON (a `bigint`, a cycle, `undefined`) fails with `Unserializable`.
 *
 * @example
 * ```ts
 * import { LineFraming } from "@effect-mcp/transport"
 * import * as Result from "effect/Result"
 *
 * export const line = Result.getOrThrow(LineFraming.encode({ jsonrpc: "2.0", id: 1, method: "ping" }))
 * // => "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
 * ```
 *
 * @category encoding
 * @since 0.1.0
 */
export const encode = (message: unknown): Result.Result<string, TransportError.TransportError> => {
  try {
    const json: string | undefined = JSON.stringify(message)
    if (json !== undefined) return Result.succeed(`${json}\n`)
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause: new Error("undefined is not JSON") }))
  } catch (cause) {
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause }))
  }
}

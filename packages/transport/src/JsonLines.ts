/**
 * Newline-delimited JSON over bytes, as stdio and every other byte stream carries messages: one message on each line
 * (STD-02, TRN-04). The decoder takes chunks of any size and calls a function with each frame. It does no I/O, so it
 * works for a pipe, a socket or a test.
 *
 * @stability unstable
 */
import { NumericOption } from "@effect-mcp/session/internal"
import type { FrameError } from "@effect-mcp/session/Transport"
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Result from "effect/Result"
import * as FrameText from "./internal/shared/FrameText.ts"
import * as GrowingBuffer from "./internal/shared/GrowingBuffer.ts"
import * as OutgoingFrame from "./internal/shared/OutgoingFrame.ts"
import * as utf8 from "./internal/shared/utf8.ts"

/**
 * The default of {@link DecoderOptions.maxMessageBytes}: 4 MiB.
 *
 * @category constants
 */
export const defaultMaxMessageBytes: number = 4 * 1024 * 1024

/**
 * The default of {@link DecoderOptions.maxMessageNodes}: 100,000.
 *
 * @category constants
 */
export const defaultMaxMessageNodes: number = FrameText.defaultMaxNodes

/**
 * Options of {@link decoder}.
 *
 * @category options
 */
export interface DecoderOptions {
  /**
   * The longest line to read, in bytes without its newline. The decoder skips a longer line without keeping it, and
   * reports it once as `TooLarge`. Default: {@link defaultMaxMessageBytes}.
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a line to read; an integer beyond 2^53 counts as eight. The decoder does
   * not parse a line with more, and reports it as `TooComplex`: parsing takes time and memory for each of them, and
   * cannot be interrupted. Default: {@link defaultMaxMessageNodes}.
   */
  readonly maxMessageNodes?: number | undefined
}

/**
 * The decoder of one connection.
 *
 * @category models
 */
export interface Decoder {
  /**
   * Takes the next bytes. A chunk may begin and end anywhere, even inside a character. The decoder copies what it
   * keeps, so the caller may reuse the chunk's memory.
   */
  readonly push: (chunk: Uint8Array) => void
  /** Returns the number of bytes kept of a line that has not ended. */
  readonly keptBytes: () => number
  /** Marks the end of the bytes. Text after the last newline is a line like any other. */
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
 * Creates the decoder of one connection. It calls `deliver` once per line, in order, before `push` or `finish` returns:
 *
 * - with the parsed JSON and its length in bytes;
 * - with `NotJson` for a line that is not JSON or not UTF-8;
 * - with `TooLarge` as soon as a line exceeds `maxMessageBytes`;
 * - with `TooComplex` for a line that exceeds `maxMessageNodes`.
 *
 * A bad line does not affect the next one. The decoder ignores lines of white space, a carriage return before the
 * newline, and a byte order mark before the first line. Its time is proportional to the number of bytes, whatever the
 * size of the chunks, and it keeps at most one line within the limit.
 *
 * @example
 * ```ts
 * import { JsonLines } from "@effect-mcp/transport"
 * import * as Result from "effect/Result"
 *
 * export const frames: Array<unknown> = []
 * const decoder = JsonLines.decoder((frame) => frames.push(Result.merge(frame)))
 * decoder.push(new TextEncoder().encode("{\"jsonrpc\":\"2.0\",\"id\":1,"))
 * decoder.push(new TextEncoder().encode("\"method\":\"ping\"}\nnpm warn deprecated\n"))
 * decoder.finish()
 * // => [{ jsonrpc: "2.0", id: 1, method: "ping" },
 * //     { _tag: "NotJson", text: "npm warn deprecated" }]
 * ```
 *
 * @category constructors
 */
export const decoder = (
  deliver: (frame: Result.Result<unknown, FrameError>, bytes: number) => void,
  options?: DecoderOptions
): Decoder => {
  NumericOption.check(options, { maxMessageBytes: NumericOption.count, maxMessageNodes: NumericOption.count })
  const limitBytes = options?.maxMessageBytes ?? defaultMaxMessageBytes
  const maxNodes = options?.maxMessageNodes ?? defaultMaxMessageNodes
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
    if (!isBlank(text)) deliver(FrameText.parseBytes(text, maxNodes), text.length)
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
          // Nearly every line lies within one chunk: it is read without a copy.
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
 * Encodes a message as one line, with its newline. JSON escapes line breaks inside strings, so the line holds no other
 * newline (STD-02). U+2028 and U+2029 are escaped as well, because some readers end a line at them. A value that JSON
 * cannot represent (a `bigint`, a cycle, `undefined`) fails with `Unserializable`.
 *
 * @example
 * ```ts
 * import { JsonLines } from "@effect-mcp/transport"
 * import * as Result from "effect/Result"
 *
 * export const line = Result.getOrThrow(JsonLines.encode({ jsonrpc: "2.0", id: 1, method: "ping" }))
 * // => "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
 * ```
 *
 * @category encoding
 */
export const encode = (message: unknown): Result.Result<string, TransportError.TransportError> =>
  OutgoingFrame.encode(message, "\n")

/** An outgoing frame, encoded as JSON. */
import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { PreparedResult } from "@effect-mcp/session/internal"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

const lineSeparators = /[\u2028\u2029]/g

/**
 * Escapes the two characters that JSON allows in strings, and that some readers take for the end of a line: `readline`
 * of Node, and `splitlines` of Python. V8 stores a text of Latin characters in bytes, and knows that it has neither.
 */
const escaped = (text: string): string =>
  text.includes("\u2028") || text.includes("\u2029")
    ? text.replace(lineSeparators, (found) => found === "\u2028" ? "\\u2028" : "\\u2029")
    : text

/** The parts of a response whose result is prepared. */
interface Prepared {
  readonly result: object
  readonly id: string
  readonly text: string
}

/** Returns the parts of a response whose result is prepared, and `undefined` for any other frame. */
const prepared = (frame: unknown): Prepared | undefined => {
  if (typeof frame !== "object" || frame === null || !("result" in frame) || !("id" in frame)) return undefined
  const { id, result } = frame
  if (typeof result !== "object" || result === null) return undefined
  const text = PreparedResult.textOf(result)
  return text === undefined ? undefined : { result, id: escaped(JSON.stringify(id)), text: escaped(text) }
}

/** Encodes a frame in one of the forms. A value that JSON cannot represent fails with `Unserializable`. */
const encodeWith = <A>(
  frame: unknown,
  form: (text: string, parts: Prepared | undefined) => A
): Result.Result<A, TransportError.TransportError> => {
  try {
    const parts = prepared(frame)
    if (parts !== undefined) {
      return Result.succeed(form(`{"jsonrpc":"2.0","id":${parts.id},"result":${parts.text}}`, parts))
    }
    const text: string | undefined = JSON.stringify(frame)
    if (text !== undefined) return Result.succeed(form(escaped(text), undefined))
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause: new Error("undefined is not JSON") }))
  } catch (cause) {
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause }))
  }
}

/** Encodes a frame, followed by its terminator. A value that JSON cannot represent fails with `Unserializable`. */
export const encode = (frame: unknown, terminator = ""): Result.Result<string, TransportError.TransportError> =>
  encodeWith(frame, (text) => text + terminator)

/**
 * The number of characters from which a text becomes bytes by itself. Shorter ones are joined, because each chunk of
 * bytes is a write of its own.
 */
const longText = 16 * 1024

/** The bytes of the texts of prepared results. */
const preparedBytes = new WeakMap<object, Uint8Array>()

const encoder = new TextEncoder()

const bytesOf = ({ result, text }: Prepared): Uint8Array => {
  const known = preparedBytes.get(result)
  if (known !== undefined) return known
  // The id comes last, because the stream writes each part by itself, and waits after a long one. `Buffer.from` could
  // take the bytes from a pool, which would then live as long as the result.
  const made = encoder.encode(`{"jsonrpc":"2.0","result":${text},"id":`)
  preparedBytes.set(result, made)
  return made
}

/** An encoded frame: its text, or its bytes in parts. The stream must not change the bytes, which responses share. */
export type Encoded = string | ReadonlyArray<Uint8Array>

/**
 * Encodes a frame for a stream of bytes: a short one as text, so that several are joined before they become bytes. A
 * long one becomes bytes at once, because to count the bytes of a text takes as long as to make them. The bytes of a
 * long prepared result are shared by all responses.
 */
export const encodeForBytes = (
  frame: unknown,
  terminator = ""
): Result.Result<Encoded, TransportError.TransportError> =>
  encodeWith(frame, (text, parts) => {
    if (text.length <= longText) return text + terminator
    return parts === undefined
      ? [Buffer.from(text + terminator)]
      : [bytesOf(parts), Buffer.from(`${parts.id}}${terminator}`)]
  })

/** Returns an effect that encodes a frame when it runs. */
export const encoded = (frame: JsonRpc.Frame): Effect.Effect<string, TransportError.TransportError> =>
  Effect.suspend(() => Effect.fromResult(encode(frame)))

const failed = ({ id }: JsonRpc.Response): JsonRpc.Response => JsonRpc.failure(id, McpError.internalError)

/**
 * Replaces replies that JSON cannot represent by internal errors. In a batch, the other replies stay, unless all of
 * them together are too long for one text.
 */
export const replaceUnserializable = (
  reply: JsonRpc.Response | ReadonlyArray<JsonRpc.Response>
): JsonRpc.Response | ReadonlyArray<JsonRpc.Response> => {
  if (!JsonRpc.isBatch(reply)) return failed(reply)
  const replies = reply.map(JsonRpc.serializable)
  return Result.isSuccess(encode(replies)) ? replies : reply.map(failed)
}

/** Fails, because no open stream may carry the frame. */
export const noRoute = (frame: JsonRpc.Frame): Effect.Effect<never, TransportError.TransportError> =>
  Effect.fail(TransportError.make({ _tag: "NoRoute", method: "method" in frame ? frame.method : undefined }))

/** An outgoing frame, encoded as JSON. */
import { JsonRpc, McpError } from "@effect-mcp/protocol"
import * as PreparedResult from "@effect-mcp/session/PreparedResult"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

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
  return text === undefined ? undefined : { result, id: JSON.stringify(id), text }
}

const encodePrepared = (frame: unknown): string | undefined => {
  const parts = prepared(frame)
  return parts === undefined ? undefined : `{"jsonrpc":"2.0","id":${parts.id},"result":${parts.text}}`
}

/** Encodes a frame, followed by its terminator. A value that JSON cannot represent fails with `Unserializable`. */
export const encode = (frame: unknown, terminator = ""): Result.Result<string, TransportError.TransportError> => {
  try {
    const json: string | undefined = encodePrepared(frame) ?? JSON.stringify(frame)
    if (json !== undefined) return Result.succeed(json + terminator)
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause: new Error("undefined is not JSON") }))
  } catch (cause) {
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause }))
  }
}

/** The number of characters from which a text is turned into bytes at once: its bytes are counted in any case. */
const longText = 4096

/** The bytes of the texts of prepared results. */
const preparedBytes = new WeakMap<object, Uint8Array>()

const bytesOf = ({ result, text }: Prepared): Uint8Array => {
  const known = preparedBytes.get(result)
  if (known !== undefined) return known
  // The id comes last, because the stream writes each part by itself, and waits after a long one.
  const made = Buffer.from(`{"jsonrpc":"2.0","result":${text},"id":`)
  preparedBytes.set(result, made)
  return made
}

/** An encoded frame: its text, or its bytes in parts. The sender must not change them. */
export type Encoded = string | ReadonlyArray<Uint8Array>

/**
 * Encodes a frame for a stream of bytes: a short one as text, so that several are joined before they become bytes. A
 * long one becomes bytes at once, because to count the bytes of a text takes as long as to make them. The bytes of a
 * prepared result are shared by all responses.
 */
export const encodeForBytes = (
  frame: unknown,
  terminator = ""
): Result.Result<Encoded, TransportError.TransportError> => {
  try {
    const parts = prepared(frame)
    if (parts !== undefined && parts.text.length > longText) {
      return Result.succeed([bytesOf(parts), Buffer.from(`${parts.id}}${terminator}`)])
    }
  } catch (cause) {
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause }))
  }
  return Result.map(encode(frame, terminator), (text) => text.length > longText ? [Buffer.from(text)] : text)
}

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

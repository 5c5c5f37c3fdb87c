/** An outgoing frame, encoded as JSON. */
import { JsonRpc, McpError } from "@effect-mcp/protocol"
import * as PreparedResult from "@effect-mcp/session/PreparedResult"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** Encodes a response whose result is prepared. Returns `undefined` for any other frame. */
const encodePrepared = (frame: unknown): string | undefined => {
  if (typeof frame !== "object" || frame === null || !("result" in frame) || !("id" in frame)) return undefined
  const text = PreparedResult.textOf(frame.result)
  return text === undefined ? undefined : `{"jsonrpc":"2.0","id":${JSON.stringify(frame.id)},"result":${text}}`
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

/** An outgoing frame, encoded as JSON. */
import type { JsonRpc } from "@effect-mcp/protocol"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** Encodes a frame, followed by its terminator. A value that JSON cannot represent fails with `Unserializable`. */
export const encode = (frame: unknown, terminator = ""): Result.Result<string, TransportError.TransportError> => {
  try {
    const json: string | undefined = JSON.stringify(frame)
    if (json !== undefined) return Result.succeed(json + terminator)
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause: new Error("undefined is not JSON") }))
  } catch (cause) {
    return Result.fail(TransportError.make({ _tag: "Unserializable", cause }))
  }
}

/** Returns an effect that encodes a frame when it runs. */
export const encoded = (frame: JsonRpc.Frame): Effect.Effect<string, TransportError.TransportError> =>
  Effect.suspend(() => Effect.fromResult(encode(frame)))

/** Fails, because no open stream may carry the frame. */
export const noRoute = (frame: JsonRpc.Frame): Effect.Effect<never, TransportError.TransportError> =>
  Effect.fail(TransportError.make({ _tag: "NoRoute", method: "method" in frame ? frame.method : undefined }))

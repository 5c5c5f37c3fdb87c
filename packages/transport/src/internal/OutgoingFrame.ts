import type { JsonRpc } from "@effect-mcp/protocol"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"

/** A frame as it goes out, or why no JSON can say it. */
export const encode = (frame: JsonRpc.Frame): string | TransportError.TransportError => {
  try {
    return JSON.stringify(frame)
  } catch (cause) {
    return TransportError.make({ _tag: "Unserializable", cause })
  }
}

/** No open stream may carry it. */
export const noRoute = (frame: JsonRpc.Frame): Effect.Effect<never, TransportError.TransportError> =>
  Effect.fail(TransportError.make({ _tag: "NoRoute", method: "method" in frame ? frame.method : undefined }))

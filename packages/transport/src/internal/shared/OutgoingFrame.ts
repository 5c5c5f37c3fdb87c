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

/** A frame as it goes out, when it is to. */
export const encoded = (frame: JsonRpc.Frame): Effect.Effect<string, TransportError.TransportError> =>
  Effect.suspend(() => {
    const text = encode(frame)
    return typeof text === "string" ? Effect.succeed(text) : Effect.fail(text)
  })

/** No open stream may carry it. */
export const noRoute = (frame: JsonRpc.Frame): Effect.Effect<never, TransportError.TransportError> =>
  Effect.fail(TransportError.make({ _tag: "NoRoute", method: "method" in frame ? frame.method : undefined }))

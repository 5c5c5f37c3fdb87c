/**
 * The settings of WebSocket connections that both sides share. It imports nothing of Node, because browsers load it.
 */
import * as FrameText from "../shared/FrameText.ts"
import type * as WebSocketFraming from "./WebSocketFraming.ts"

/** The name of the subprotocol. */
export const subprotocol = "mcp"

interface Options {
  readonly maxMessageBytes?: number | undefined
  readonly maxMessageNodes?: number | undefined
  readonly maxPayloadBytes?: number | undefined
}

const messageBytes = ({ maxMessageBytes = 4 * 1024 * 1024 }: Options): number => maxMessageBytes

/** Returns the bounds of a message to read. */
export const messageLimits = (options: Options): WebSocketFraming.Limits => ({
  maxMessageBytes: messageBytes(options),
  maxMessageNodes: options.maxMessageNodes ?? FrameText.defaultMaxNodes
})

/** The length of the longest string on Node. With a longer message, `ws` would throw and end the process. */
export const maxStringLength = 2 ** 29 - 24

/**
 * Returns the largest message to receive. It exceeds the largest to read, so that a message too large costs only
 * itself.
 */
export const maxPayload = (options: Options): number =>
  Math.min(options.maxPayloadBytes ?? 4 * messageBytes(options), maxStringLength)

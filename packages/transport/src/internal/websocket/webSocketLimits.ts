/** The most bytes of a message over WebSocket, unless an option says otherwise. */

import * as FrameText from "../shared/FrameText.ts"
import type * as WebSocketFraming from "./WebSocketFraming.ts"

interface Limits {
  readonly maxMessageBytes?: number | undefined
  readonly maxMessageNodes?: number | undefined
  readonly maxPayloadBytes?: number | undefined
}

const messageBytes = ({ maxMessageBytes = 4 * 1024 * 1024 }: Limits): number => maxMessageBytes

/** The largest message to read. */
export const ofMessages = (limits: Limits): WebSocketFraming.Limits => ({
  limitBytes: messageBytes(limits),
  limitNodes: limits.maxMessageNodes ?? FrameText.defaultMaxNodes
})

/** The longest message to receive at all: one that is only too long to be read shall not cost the connection. */
export const payloadBytes = (limits: Limits): number => limits.maxPayloadBytes ?? 4 * messageBytes(limits)

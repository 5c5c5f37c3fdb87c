/** One WebSocket message as a frame of the transport. */
import type { Inbound } from "@effect-mcp/session/Transport"
import * as Result from "effect/Result"
import * as FrameText from "../shared/FrameText.ts"
import * as utf8 from "../shared/utf8.ts"

/** The bounds of a message to read. */
export interface Limits {
  readonly maxMessageBytes: number
  readonly maxMessageNodes: number
}

/** Parses a message. A binary message is read as if it were text, because some peers send them by mistake. */
export const inbound = (data: string | Uint8Array, { maxMessageBytes, maxMessageNodes }: Limits): Inbound => {
  const bytes = typeof data === "string" ? utf8.byteLength(data) : data.byteLength
  if (bytes > maxMessageBytes) return { frame: Result.fail({ _tag: "TooLarge", limitBytes: maxMessageBytes }), bytes }
  const frame = typeof data === "string"
    ? FrameText.parse(data, maxMessageNodes)
    : FrameText.parseBytes(data, maxMessageNodes)
  return { frame, bytes }
}

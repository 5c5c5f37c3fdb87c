import type { Inbound } from "@effect-mcp/session/Transport"
import * as Result from "effect/Result"
import * as FrameText from "../shared/FrameText.ts"

const encoder = new TextEncoder()

/** How many bytes a text has on the wire. */
export const byteLength = (text: string): number =>
  typeof Buffer === "undefined" ? encoder.encode(text).byteLength : Buffer.byteLength(text)

/** The bounds of one message that is read. */
export interface Limits {
  readonly limitBytes: number
  readonly limitNodes: number
}

/** What came in one message. A binary one is read as if it were text: some send one without knowing. */
export const inbound = (data: string | Uint8Array, { limitBytes, limitNodes }: Limits): Inbound => {
  const bytes = typeof data === "string" ? byteLength(data) : data.byteLength
  if (bytes > limitBytes) return { frame: Result.fail({ _tag: "TooLarge", limitBytes }), bytes }
  const frame = typeof data === "string" ? FrameText.parse(data, limitNodes) : FrameText.parseBytes(data, limitNodes)
  return { frame, bytes }
}

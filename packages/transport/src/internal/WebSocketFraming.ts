import type { Inbound } from "@effect-mcp/session/Transport"
import * as Result from "effect/Result"
import * as utf8 from "./utf8.ts"

const encoder = new TextEncoder()

/** How many bytes a text has on the wire. */
export const byteLength = (text: string): number =>
  typeof Buffer === "undefined" ? encoder.encode(text).byteLength : Buffer.byteLength(text)

const shown = (data: string | Uint8Array): string =>
  utf8.beginning(typeof data === "string" ? encoder.encode(data.slice(0, 200)) : data)

/** What came in one message. A binary one is read as if it were text: some send one without knowing. */
export const inbound = (data: string | Uint8Array, limitBytes: number): Inbound => {
  const bytes = typeof data === "string" ? byteLength(data) : data.byteLength
  if (bytes > limitBytes) return { frame: Result.fail({ _tag: "TooLarge", limitBytes }), bytes }
  try {
    return { frame: Result.succeed(JSON.parse(typeof data === "string" ? data : utf8.decode(data))), bytes }
  } catch {
    return { frame: Result.fail({ _tag: "NotJson", text: shown(data) }), bytes }
  }
}

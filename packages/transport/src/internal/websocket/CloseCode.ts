/** The close frames of both sides: the code and text for each close reason, and the meaning of a received code. */
import { CloseReason } from "@effect-mcp/protocol"

/** The contents of a close frame. */
export interface CloseFrame {
  readonly code: number
  readonly text: string
}

/** The side that closes. A server that shuts down sends another code than one that closes a session. */
export type Side = "client" | "server" | "server shutting down"

/** The most bytes of the text in a close frame. */
const maxTextBytes = 123

const encoder = new TextEncoder()

/** Cuts a text to the room in a close frame, between characters. */
const fitting = (text: string): string => {
  const { read } = encoder.encodeInto(text, new Uint8Array(maxTextBytes))
  return text.slice(0, read)
}

/** Browsers permit a page to send 1000 and codes from 3000 on, so both sides use these. */
const codes: Readonly<Record<CloseReason.CloseReason["_tag"], number>> = {
  Requested: 1000,
  PeerEnded: 1000,
  HandshakeFailed: 4000,
  HandshakeTimeout: 4001,
  Expired: 4002,
  PeerStalled: 4003,
  RepliesOverflow: 4004,
  TransportFailed: 4005,
  Evicted: 4006,
  Superseded: 4007
}

const texts: Readonly<Record<Side, string>> = {
  client: "the client has closed the session",
  server: "the server has closed the session",
  "server shutting down": "the server is shutting down"
}

/** Returns the close frame for the reason why the session ended. */
export const closeFrame = (reason: CloseReason.CloseReason, side: Side): CloseFrame => {
  const code = codes[reason._tag]
  switch (reason._tag) {
    case "Requested":
      return { code: side === "server shutting down" ? 1001 : code, text: texts[side] }
    case "PeerEnded":
      return { code, text: "" }
    case "TransportFailed":
      // The cause belongs only into the log of this side.
      return { code, text: "the transport failed" }
    default:
      return { code, text: fitting(CloseReason.describe(reason)) }
  }
}

/** The meanings of the codes that report an error. */
const meanings: ReadonlyMap<number, string> = new Map([
  [1002, "protocol error"],
  [1003, "unsupported data"],
  [1007, "invalid data"],
  [1008, "policy violation"],
  [1009, "message too big"],
  [1011, "internal error"],
  [1012, "service restart"],
  [1013, "try again later"],
  ...Object.entries(codes).filter(([, code]) => code >= 4000).map(([tag, code]) => [code, tag] as const)
])

const problemOf = (code: number, text: string): string => {
  if (code === 1006) return "the connection broke without a close frame"
  const meaning = meanings.get(code)
  return [
    `the peer closed the connection with code ${code}`,
    meaning === undefined ? "" : ` (${meaning})`,
    text === "" ? "" : `: ${text}`
  ].join("")
}

/** Returns the error of a close code; `undefined` if the peer has closed the connection normally. */
export const problem = (code: number, text: string): Error | undefined =>
  code === 1000 || code === 1001 || code === 1005 ? undefined : new Error(problemOf(code, text))

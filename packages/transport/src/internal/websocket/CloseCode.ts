import { CloseReason } from "@effect-mcp/protocol"

/** What a close frame says. */
export interface Farewell {
  readonly code: number
  readonly text: string
}

/** Who says it: a server goes away when it goes as a whole, and not when it closes one session. */
export type Side = "client" | "server" | "leaving server"

/** How much a close frame has room for. */
const limitBytes = 123

const encoder = new TextEncoder()

/** As much of the text as there is room for, and no part of a character. */
const fitting = (text: string): string => {
  const { read } = encoder.encodeInto(text, new Uint8Array(limitBytes))
  return text.slice(0, read)
}

/** Browsers let a page say 1000, or a code of its own from 4000 on; so both sides have the same. */
const codes: Readonly<Record<CloseReason.CloseReason["_tag"], number>> = {
  Requested: 1000,
  PeerEnded: 1000,
  HandshakeFailed: 4000,
  HandshakeTimeout: 4001,
  Expired: 4002,
  PeerStalled: 4003,
  RepliesOverflow: 4004,
  TransportFailed: 4005,
  Evicted: 4006
}

const words: Readonly<Record<Side, string>> = {
  client: "the client has ended the session",
  server: "the server has ended the session",
  "leaving server": "the server is about to go"
}

/** What is said to the peer when the session has ended for this reason. */
export const farewell = (reason: CloseReason.CloseReason, side: Side): Farewell => {
  const code = codes[reason._tag]
  switch (reason._tag) {
    case "Requested":
      return { code: side === "leaving server" ? 1001 : code, text: words[side] }
    case "PeerEnded":
      return { code, text: "" }
    case "TransportFailed":
      // What has failed on this side is for this side's log.
      return { code, text: "the transport failed" }
    default:
      return { code, text: fitting(CloseReason.describe(reason)) }
  }
}

/** What the codes of the standard mean that say that something has gone wrong. */
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
  if (code === 1006) return "the connection was cut off without a close frame"
  const meaning = meanings.get(code)
  return [
    `the peer closed the connection with code ${code}`,
    meaning === undefined ? "" : ` (${meaning})`,
    text === "" ? "" : `: ${text}`
  ].join("")
}

/** What is wrong where the peer has closed with this code; nothing, where it has ended the connection in good order. */
export const problem = (code: number, text: string): Error | undefined =>
  code === 1000 || code === 1001 || code === 1005 ? undefined : new Error(problemOf(code, text))

/** The report of a conversation in which a law does not hold. */

import type { JsonRpc } from "@effect-mcp/protocol"
import { Report, type Search } from "@effect-mcp/testing/internal"
import type { Conversation } from "./Conversation.ts"
import type { Entry, History } from "./History.ts"

const nameOf = (message: JsonRpc.Message): string => {
  if ("method" in message) {
    const tool = message.params?.["name"]
    const about = typeof tool === "string" ? ` ${tool}` : ""
    return "id" in message ? `${message.method}${about} (${JSON.stringify(message.id)})` : `${message.method}${about}`
  }
  return `${"error" in message ? `error ${message.error.code}` : "result"} (${JSON.stringify(message.id)})`
}

/** Returns the history, line by line: time, place, and event. */
export const transcript = ({ entries }: History): string =>
  Report.transcript(entries, ({ event, session, side }) => event._tag === "Commanded" ? "" : `${side} ${session}`)

/** Mermaid reads a semicolon as the end of a statement and a number sign as an entity. */
const escaped = (text: string): string => text.replaceAll(/[;#]/g, ",")

/**
 * Returns the messages of one session as a Mermaid sequence diagram. A message that was sent and never received ends
 * with a cross.
 */
export const sequenceDiagram = ({ entries }: History, session: number): string => {
  const ours = entries.filter((entry) => entry.session === session)
  const taken = new Set<Entry>()
  const lines = ours.flatMap(({ event, side }, index) => {
    if (event._tag === "SessionEvent" && event.detail._tag === "StateChanged") {
      return [`  Note over ${side}: ${event.detail.to}`]
    }
    if (event._tag === "Ended") {
      return [`  Note over ${side}: request ${event.nonce} ends as ${event.end.kind}`]
    }
    if (event._tag !== "Sent") return []
    const text = JSON.stringify(event.carried)
    const other = side === "client" ? "server" : "client"
    const receipt = ours.slice(index).find((entry) =>
      entry.side === other && entry.event._tag === "Received" && !taken.has(entry) &&
      JSON.stringify(entry.event.message) === text
    )
    if (receipt !== undefined) taken.add(receipt)
    return [`  ${side}${receipt === undefined ? "-x" : "->>"}${other}: ${escaped(nameOf(event.message))}`]
  })
  return ["sequenceDiagram", ...lines].join("\n")
}

const clients = { Handshake: "clients with a handshake", Modern: "clients of 2026-07-28" }

/**
 * Describes a conversation in which laws do not hold, with its history if it ended, and the command that repeats it:
 * `pnpm simulate --conversation`.
 */
export const describe = (
  conversation: Conversation,
  violations: ReadonlyArray<Search.Violation>,
  history: History | undefined
): string => {
  const sessions = new Set(history?.entries.map(({ session }) => session))
  return Report.describe({
    violations,
    setting: conversation,
    clients: clients[conversation.era],
    steps: conversation.commands.map(Report.tagged),
    paragraphs: [
      ...(history === undefined
        ? []
        : [transcript(history), ...Array.from(sessions, (session) => sequenceDiagram(history, session))]),
      `to reproduce it:\n  pnpm simulate --conversation '${JSON.stringify(conversation)}'`
    ]
  })
}

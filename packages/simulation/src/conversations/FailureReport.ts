/**
 * The report of a conversation in which a law did not hold.
 *
 * It contains the commands, the messages with their times, the law and its place, and the call that reproduces the
 * conversation.
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import type { SessionEvent } from "@effect-mcp/session"
import type { Faults } from "@effect-mcp/testing"
import type { Conversation } from "./Conversation.ts"
import type { Violation } from "./ConversationLaws.ts"
import type { Entry, Event, History } from "./History.ts"

/** The greatest number of characters of a message in a report. */
const shown = 200

const shortened = (text: string): string => text.length > shown ? `${text.slice(0, shown)}…` : text

const nameOf = (message: JsonRpc.Message): string => {
  if ("method" in message) {
    const tool = message.params?.["name"]
    const about = typeof tool === "string" ? ` ${tool}` : ""
    return "id" in message ? `${message.method}${about} (${JSON.stringify(message.id)})` : `${message.method}${about}`
  }
  return `${"error" in message ? `error ${message.error.code}` : "result"} (${JSON.stringify(message.id)})`
}

const withoutTag = ({ _tag, ...rest }: { readonly _tag: string }): string =>
  Object.keys(rest).length === 0 ? _tag : `${_tag} ${shortened(JSON.stringify(rest))}`

/** Describes an event of a session in a few words. */
const detailsOf = (event: SessionEvent.SessionEvent): string => {
  switch (event._tag) {
    case "Rejected":
      return `Rejected ${event.method} (${JSON.stringify(event.id)}): ${event.code}`
    case "UnmatchedResponse":
      return `UnmatchedResponse (${JSON.stringify(event.response.id)}): ${event.kind}`
    case "ProgressDropped":
      return `ProgressDropped (${JSON.stringify(event.progressToken)}): ${event.reason}`
    case "SendFailed":
      return `SendFailed: ${event.error.reason._tag}`
    case "Closed":
      return `Closed: ${event.reason._tag}`
    default:
      return event._tag
  }
}

/** Describes an entry in a few words; `undefined` for entries of every conversation. */
const wordsOf = (event: Event): string | undefined => {
  switch (event._tag) {
    case "Commanded":
      return typeof event.command === "string" ? `— ${event.command} —` : `do ${withoutTag(event.command)}`
    case "Sent":
      return `→ ${shortened(JSON.stringify(event.carried))}`
    case "Received":
      return `← ${shortened(JSON.stringify(event.message))}`
    case "Unreadable":
      return `← ${withoutTag(event.error)}`
    case "Unwritable":
      return `→ a message that JSON cannot represent (${JSON.stringify(event.id)})`
    case "SessionEvent":
      return event.detail._tag === "StateChanged"
        ? `${event.detail.from} ⇒ ${event.detail.to}`
        : `· ${detailsOf(event.detail)}`
    case "Opened":
      return event.revision === undefined ? "the handshake failed" : undefined
    case "Started":
      return `request ${event.nonce} starts: ${event.what}, timeout ${event.deadline} ms`
    case "Progressed":
      return `request ${event.nonce} receives progress ${event.progress}`
    case "Ended": {
      const { code, kind } = event.end
      return `request ${event.nonce} ends: ${code === undefined ? kind : `${kind} ${code}`}`
    }
    case "HandlerStarted":
      return `handler ${event.run} starts: ${event.method} (${JSON.stringify(event.id)})`
    case "HandlerEnded":
      return `handler ${event.run} ends: ${event.how}`
    case "StreamLeft":
      return `the stream of ${JSON.stringify(event.id)} is left`
    case "Stepped":
      return `a step runs (${JSON.stringify(event.id)})`
    case "Changed":
      return `notifies of a change of ${event.uri}`
    case "Updated":
      return `receives a change of ${event.uri}`
    case "Logged":
      return `logs ${JSON.stringify(event.data)}`
    case "ReplyHandedOver":
      return undefined
    case "Inspected":
      return `is ${event.state}; in flight: ${event.sent} sent, ${event.served} served`
  }
}

const lineOf = ({ at, event, session, side }: Entry): string | undefined => {
  const words = wordsOf(event)
  const who = event._tag === "Commanded" ? "" : `${side} ${session}`
  return words === undefined ? undefined : `${String(at).padStart(8)} ms  ${who.padEnd(8)}  ${words}`
}

/**
 * Returns the history, line by line: time, place, and event.
 */
export const transcript = ({ entries }: History): string => entries.flatMap((entry) => lineOf(entry) ?? []).join("\n")

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

/** Returns the names of the active faults. */
const faultsOf = (faults: Faults.Faults): string => {
  const present = Object.entries(faults).filter(([, value]) => value !== false && value !== 0)
  return present.length === 0
    ? "no faults"
    : present.map(([name, value]) => value === true ? name : `${name} ${value} ms`).join(", ")
}

/**
 * Returns the conversation as one line, for `pnpm simulate --conversation` and for a test that repeats it.
 */
export const replay = (conversation: Conversation): string => JSON.stringify(conversation)

/**
 * Returns the whole report.
 */
export const describe = (history: History, violations: ReadonlyArray<Violation>): string => {
  const { commands, era, faults, form, interleaving, seed } = history.conversation
  const sessions = [...new Set(violations.map(({ session }) => session))]
  return [
    ...violations.map(({ law, problem, session, side }) => `${law}: ${side} ${session}: ${problem}`),
    "",
    `${era}, ${form}, ${interleaving}, ${faultsOf(faults)}, seed ${seed}, ${commands.length} commands:`,
    ...commands.map((command) => `  ${withoutTag(command)}`),
    "",
    transcript(history),
    ...sessions.flatMap((session) => ["", sequenceDiagram(history, session)]),
    "",
    "to reproduce it:",
    `  pnpm simulate --conversation '${replay(history.conversation)}'`
  ].join("\n")
}

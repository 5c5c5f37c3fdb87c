/**
 * The report of a conversation in which a law did not hold.
 *
 * It contains the commands, the messages with their times, the law and its place, and the call that reproduces the
 * conversation.
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import type { SessionEvent } from "@effect-mcp/session"
import type * as Faults from "../../Faults.ts"
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
      return `ProgressDropped: ${event.reason}`
    case "SendFailed":
      return `SendFailed: ${event.error.reason._tag}`
    case "Closed":
      return `Closed: ${event.reason._tag}`
    default:
      return event._tag
  }
}

/** Describes an entry in a few words; `undefined` for entries of every conversation. */
const wordsOf = (happening: Event): string | undefined => {
  switch (happening._tag) {
    case "Commanded":
      return typeof happening.command === "string" ? `— ${happening.command} —` : `do ${withoutTag(happening.command)}`
    case "Sent":
      return `→ ${shortened(JSON.stringify(happening.message))}`
    case "Received":
      return `← ${shortened(JSON.stringify(happening.message))}`
    case "Unreadable":
      return `← ${withoutTag(happening.error)}`
    case "Unwritable":
      return `→ what cannot be written (${JSON.stringify(happening.id)})`
    case "Event":
      return happening.event._tag === "StateChanged"
        ? `${happening.event.from} ⇒ ${happening.event.to}`
        : `· ${detailsOf(happening.event)}`
    case "Opened":
      return happening.revision === undefined ? "no handshake" : undefined
    case "Started":
      return `request ${happening.nonce} begins: ${happening.what}, within ${happening.deadline} ms`
    case "Stepped":
      return `request ${happening.nonce} sees step ${happening.progress}`
    case "Ended": {
      const { code, kind } = happening.end
      return `request ${happening.nonce} ends: ${code === undefined ? kind : `${kind} ${code}`}`
    }
    case "HandlerStarted":
      return `handler ${happening.run} begins: ${happening.method} (${JSON.stringify(happening.id)})`
    case "HandlerEnded":
      return `handler ${happening.run} ends: ${happening.how}`
    case "Logged":
      return `logs ${JSON.stringify(happening.data)}`
    case "Taken":
      return undefined
    case "Looked":
      return `is ${happening.state}; in flight: ${happening.sent} sent, ${happening.served} served`
  }
}

const lineOf = ({ at, happening, session, side }: Entry): string | undefined => {
  const words = wordsOf(happening)
  const who = happening._tag === "Commanded" ? "" : `${side} ${session}`
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
  const lines = ours.flatMap(({ happening, side }, index) => {
    if (happening._tag === "Event" && happening.event._tag === "StateChanged") {
      return [`  Note over ${side}: ${happening.event.to}`]
    }
    if (happening._tag === "Ended") {
      return [`  Note over ${side}: request ${happening.nonce} ends as ${happening.end.kind}`]
    }
    if (happening._tag !== "Sent") return []
    const text = JSON.stringify(happening.message)
    const other = side === "client" ? "server" : "client"
    const came = ours.slice(index).find((entry) =>
      entry.side === other && entry.happening._tag === "Received" && !taken.has(entry) &&
      JSON.stringify(entry.happening.message) === text
    )
    if (came !== undefined) taken.add(came)
    return [`  ${side}${came === undefined ? "-x" : "->>"}${other}: ${escaped(nameOf(happening.message))}`]
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
  const { commands, faults, form, interleaving, seed } = history.conversation
  const sessions = [...new Set(violations.map(({ session }) => session))]
  return [
    ...violations.map(({ law, problem, session, side }) => `${law}: ${side} ${session}: ${problem}`),
    "",
    `${form}, ${interleaving}, ${faultsOf(faults)}, seed ${seed}, ${commands.length} commands:`,
    ...commands.map((command) => `  ${withoutTag(command)}`),
    "",
    transcript(history),
    ...sessions.flatMap((session) => ["", sequenceDiagram(history, session)]),
    "",
    "to see it again:",
    `  pnpm simulate --conversation '${replay(history.conversation)}'`
  ].join("\n")
}

/** The report of a simulation in which a law does not hold: the violations, the steps, and everything that happened. */

import type { SessionEvent } from "@effect-mcp/session"
import type { Entry, Event } from "./Journal.ts"
import type { Violation } from "./Search.ts"
import type { Setting } from "./Setting.ts"

/** The greatest number of characters of a message that a report shows. */
const shown = 200

/** Returns a value as JSON, shortened. */
export const textOf = (value: unknown): string => {
  const text = String(JSON.stringify(value))
  return text.length > shown ? `${text.slice(0, shown)}…` : text
}

/** Returns a tagged value as text: the tag, and the other members as JSON. */
export const tagged = ({ _tag, ...rest }: { readonly _tag: string }): string =>
  Object.keys(rest).length === 0 ? _tag : `${_tag} ${textOf(rest)}`

/** Describes an event of a session in a few words. */
const detailsOf = (event: SessionEvent.SessionEvent): string => {
  switch (event._tag) {
    case "StateChanged":
      return `${event.from} ⇒ ${event.to}`
    case "Rejected":
      return `· Rejected ${event.method} (${textOf(event.id)}): ${event.code}`
    case "UnmatchedResponse":
      return `· UnmatchedResponse (${textOf(event.response.id)}): ${event.kind}`
    case "ProgressDropped":
      return `· ProgressDropped (${textOf(event.progressToken)}): ${event.reason}`
    case "SendFailed":
      return `· SendFailed: ${event.error.reason._tag}`
    case "Closed":
      return `· Closed: ${event.reason._tag}`
    default:
      return `· ${event._tag}`
  }
}

/** Describes an event in a few words; `undefined` for events of every conversation. */
const wordsOf = <Command extends { readonly _tag: string } | string>(event: Event<Command>): string | undefined => {
  switch (event._tag) {
    case "Commanded":
      return typeof event.command === "string" ? `— ${event.command} —` : `do ${tagged(event.command)}`
    case "Noted":
      return event.text
    case "Sent":
      return `→ ${textOf(event.carried)}`
    case "Received":
      return `← ${textOf(event.message)}`
    case "Unreadable":
      return `← ${tagged(event.error)}`
    case "Unwritable":
      return `→ a message that JSON cannot represent (${textOf(event.id)})`
    case "SessionEvent":
      return detailsOf(event.detail)
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
      return `handler ${event.run} starts: ${event.method} (${textOf(event.id)})`
    case "HandlerEnded":
      return `handler ${event.run} ends: ${event.how}`
    case "StreamLeft":
      return `the stream of ${textOf(event.id)} is left`
    case "Stepped":
      return `a step runs (${textOf(event.id)})`
    case "Changed":
      return `notifies of a change of ${event.uri}`
    case "Updated":
      return `receives a change of ${event.uri}`
    case "Logged":
      return `logs ${textOf(event.data)}`
    case "ReplyHandedOver":
      return undefined
    case "Inspected":
      return `is ${event.state}; in flight: ${event.sent} sent, ${event.served} served`
  }
}

/** Returns what happened, line by line: the time, the side, and the event. */
export const transcript = <Command extends { readonly _tag: string } | string>(
  entries: ReadonlyArray<Entry<Command>>,
  sideOf: (entry: Entry<Command>) => string
): string =>
  entries.flatMap((entry) => {
    const words = wordsOf(entry.event)
    return words === undefined ? [] : `${String(entry.at).padStart(8)} ms  ${sideOf(entry).padEnd(8)}  ${words}`
  }).join("\n")

/** The parts of a report. */
export interface Parts {
  readonly violations: ReadonlyArray<Violation>
  readonly setting: Omit<Setting, "seed">
  /** The revisions of the clients, if the conversation decides them. */
  readonly clients: string | undefined
  readonly steps: ReadonlyArray<string>
  /** Paragraphs after the steps: what happened, and how to reproduce it. */
  readonly paragraphs: ReadonlyArray<string>
}

/** Returns the names of the active faults. */
const faultsOf = ({ faults }: Parts["setting"]): string =>
  Object.entries(faults).flatMap(([name, value]) =>
    value === false || value === 0 ? [] : [value === true ? name : `${name} ${value} ms`]
  ).join(", ") || "none"

/** Describes a conversation in which a law does not hold. */
export const describe = ({ clients, paragraphs, setting, steps, violations }: Parts): string =>
  [
    ...violations.map(({ law, problem }) => `${law}: ${problem}`),
    "",
    `steps (${setting.form === "OneStream" ? "one stream" : "a stream for each request"}, ` +
    `${setting.interleaving.toLowerCase()} interleaving, faults of the wires: ${faultsOf(setting)}` +
    `${clients === undefined ? "" : `, ${clients}`}):`,
    ...steps.map((step, index) => `${String(index + 1).padStart(4)}. ${step}`),
    ...paragraphs.flatMap((paragraph) => ["", paragraph])
  ].join("\n")

/**
 * The report of a failing conversation: the violations, the steps, everything that happened, and how to reproduce it.
 */
import { type ConversationResult, type Line, textOf } from "./Run.ts"
import type { Conversation, Step } from "./Steps.ts"

/** The greatest number of characters of a message that a report shows. */
const shown = 200

const shortened = (text: string): string => text.length > shown ? `${text.slice(0, shown)}…` : text

/** Describes a step. */
export const stepText = <Model, R>(step: Step<Model, R>): string => {
  switch (step._tag) {
    case "Command": {
      const input = step.action.input === undefined ? "" : ` ${textOf(step.action.input)}`
      return `client ${step.client}: ${step.name}${input}${step.overlaps ? ", while others are in flight" : ""}`
    }
    case "Advance":
      return `${step.millis} ms pass`
    case "Interrupt":
      return `client ${step.client} gives up its oldest command in flight`
    case "Cut":
      return `the connection of client ${step.client} breaks`
    case "Stall":
      return `the wire of client ${step.client} towards the ${step.towards} stalls`
    case "Recover":
      return `the wires of client ${step.client} recover`
  }
}

const messageText = ({ entry: { event } }: Extract<Line, { readonly _tag: "Message" }>): string | undefined => {
  switch (event._tag) {
    case "Sent":
      return `→ ${shortened(JSON.stringify(event.message))}`
    case "Received":
      return `← ${shortened(JSON.stringify(event.message))}`
    case "Unreadable":
      return "← a frame that is not readable"
    case "StreamLeft":
      return `→ closes the stream of id ${JSON.stringify(event.id)}`
    default:
      return undefined
  }
}

const lineText = (line: Line): string | undefined => {
  const at = line._tag === "Note" ? line.at : line.entry.at
  const text = line._tag === "Note" ? line.text : messageText(line)
  const client = line.client === undefined ? "" : `client ${line.client}`
  return text === undefined ? undefined : `${String(at).padStart(8)} ms  ${client.padEnd(8)}  ${text}`
}

/** Returns what happened, line by line. */
export const transcript = ({ lines }: ConversationResult): string =>
  lines.flatMap((line) => lineText(line) ?? []).join("\n")

const faultText = <Model, R>({ faults }: Conversation<Model, R>): string => {
  const present = Object.entries(faults).flatMap(([name, value]) =>
    value === false || value === 0 ? [] : [value === true ? name : `${name} ${value} ms`]
  )
  return present.length === 0 ? "none" : present.join(", ")
}

/** The revisions of the clients, in a report. */
const clients = {
  Handshake: ", clients with a handshake",
  All: ", clients of all revisions",
  Given: ""
}

/** Describes a conversation in which something does not hold. */
export const report = <Model, R>(
  conversation: Conversation<Model, R>,
  result: ConversationResult,
  seed: number,
  isReproducible: boolean
): string => {
  const { form, interleaving, revisions, steps } = conversation
  return [
    ...result.violations.map(({ law, problem }) => `${law}: ${problem}`),
    "",
    `steps (${form === "OneStream" ? "one stream" : "a stream for each request"}, ${interleaving.toLowerCase()} ` +
    `interleaving, faults of the wires: ${faultText(conversation)}${clients[revisions]}):`,
    ...steps.map((step, index) => `${String(index + 1).padStart(4)}. ${stepText(step)}`),
    "",
    "what happened (→ sent by the client, ← received by it):",
    transcript(result),
    "",
    isReproducible
      ? `to reproduce it, pass { seed: ${seed}, runs: 1 } to Simulation.check`
      : "this conversation takes another course when it is repeated: a program uses the clock or the random numbers " +
        "of the platform, or keeps state between conversations. Use Effect's Clock and Random, and create all state " +
        `in the effect or Layer of the server. The seed is ${seed}`
  ].join("\n")
}

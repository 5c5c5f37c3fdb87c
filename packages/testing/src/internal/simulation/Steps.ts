/** The steps of a user's conversation and their generator: commands of the user, time that passes, and faults. */
import type { MethodDefinition } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Formatter from "effect/Formatter"
import * as Schema from "effect/Schema"
import { Faults, none } from "../../Faults.ts"
import { choose, oneOf, upTo } from "../arbitrary/generators.ts"
import type { Action } from "./Action.ts"
import { arbitraries, type Setting } from "./Setting.ts"
import type { Disturbance } from "./World.ts"

/** A command under its name. */
export interface Named<Model, R> {
  readonly name: string
  readonly command: { readonly actions: Arbitrary.Arbitrary<Action<Model, R>> }
}

/** A step. Clients are counted from 0. */
export type Step<Model, R> =
  | {
    readonly _tag: "Command"
    readonly client: number
    readonly name: string
    readonly action: Action<Model, R>
    /** Whether the command starts while others are in flight. */
    readonly overlaps: boolean
  }
  | { readonly _tag: "Advance"; readonly millis: number }
  | { readonly _tag: "Interrupt"; readonly client: number }
  | { readonly client: number } & Disturbance

/** Returns a value as text on one line. */
export const textOf = (value: unknown): string => Formatter.format(value)

/** Returns the name of a command, with its input. */
export const titleOf = <Model, R>({ action, name }: Extract<Step<Model, R>, { readonly _tag: "Command" }>): string =>
  action.input === undefined ? name : `${name} ${textOf(action.input)}`

/** Describes a step. */
export const describe = <Model, R>(step: Step<Model, R>): string => {
  switch (step._tag) {
    case "Command":
      return `client ${step.client}: ${titleOf(step)}${step.overlaps ? ", while others are in flight" : ""}`
    case "Advance":
      return `${step.millis} ms pass`
    case "Interrupt":
      return `client ${step.client} gives up its oldest command in flight`
    case "Cut":
      return `the connection of client ${step.client} breaks`
    case "Stall":
    case "Recover":
      return `the wire of client ${step.client} towards the ${step.towards} ${step._tag.toLowerCase()}s`
  }
}

/** The revisions of the clients of a conversation: those with a handshake, all, or those that the program names. */
export type Revisions = "Handshake" | "All" | "Given"

/** A conversation: everything that decides its course. */
export interface Conversation<Model, R> extends Setting {
  readonly revisions: Revisions
  readonly steps: ReadonlyArray<Step<Model, R>>
}

/** A fault of a conversation: one of its wires, or an event that a step causes. */
export type FaultName = keyof Faults | "stall" | "cut" | "interrupt"

/** The bounds of the conversations that are drawn. */
export interface Bounds {
  readonly clients: number
  readonly maxSteps: number
  /** Whether commands may overlap. */
  readonly overlaps: boolean
  readonly faults: ReadonlySet<FaultName>
  /** Whether the program names the revisions of its clients. */
  readonly hasRevisions: boolean
}

const wireFaults = (faults: ReadonlySet<FaultName>): Arbitrary.Arbitrary<Faults> =>
  // One conversation in two has no faults of its wires, so that those of the program show by themselves.
  choose(
    Arbitrary.Constant(none),
    Arbitrary.map(Arbitrary.schema(Faults), (drawn): Faults => ({
      delay: faults.has("delay") ? drawn.delay : 0,
      split: faults.has("split") && drawn.split,
      merge: faults.has("merge") && drawn.merge,
      duplicate: faults.has("duplicate") && drawn.duplicate,
      drop: faults.has("drop") && drawn.drop,
      truncate: faults.has("truncate") && drawn.truncate,
      reorder: faults.has("reorder") && drawn.reorder
    }))
  )

const commandSteps = <Model, R>(
  { command, name }: Named<Model, R>,
  clients: Arbitrary.Arbitrary<number>,
  overlaps: boolean
): Arbitrary.Arbitrary<Step<Model, R>> =>
  Arbitrary.map(
    Arbitrary.all({
      action: command.actions,
      client: clients,
      overlaps: overlaps ? Arbitrary.schema(Schema.Boolean) : Arbitrary.Constant(false)
    }),
    (drawn): Step<Model, R> => ({ _tag: "Command", name, ...drawn })
  )

/** Steps that are no commands: time that passes, and the faults among them that are allowed. */
const eventSteps = <Model, R>(
  faults: ReadonlySet<FaultName>,
  clients: Arbitrary.Arbitrary<number>
): Arbitrary.Arbitrary<Step<Model, R>> => {
  type Drawn = Arbitrary.Arbitrary<Step<Model, R>>
  const ofClient = (_tag: "Interrupt" | "Cut"): Drawn =>
    Arbitrary.map(clients, (client): Step<Model, R> => ({ _tag, client }))
  const ofWire = (_tag: "Stall" | "Recover"): Drawn =>
    Arbitrary.map(
      Arbitrary.all({ client: clients, towards: oneOf<MethodDefinition.Role>("client", "server") }),
      (drawn): Step<Model, R> => ({ _tag, ...drawn })
    )
  const advance: Drawn = Arbitrary.map(oneOf(1, 100, 10_000), (millis): Step<Model, R> => ({ _tag: "Advance", millis }))
  return choose(
    advance,
    ...(faults.has("interrupt") ? [ofClient("Interrupt")] : []),
    ...(faults.has("cut") ? [ofClient("Cut")] : []),
    ...(faults.has("stall") ? [ofWire("Stall"), ofWire("Recover")] : [])
  )
}

/**
 * Draws conversations of these commands. A failing one shrinks to few steps, sequential commands, no
 * faults and a handshake.
 */
export const conversations = <Model, R>(
  [first, ...others]: readonly [Named<Model, R>, ...ReadonlyArray<Named<Model, R>>],
  { clients, faults, hasRevisions, maxSteps, overlaps }: Bounds
): Arbitrary.Arbitrary<Conversation<Model, R>> => {
  const client = upTo(clients - 1)
  const command = choose(
    commandSteps(first, client, overlaps),
    ...others.map((one) => commandSteps(one, client, overlaps))
  )
  const step = choose(command, command, command, eventSteps<Model, R>(faults, client))
  return Arbitrary.all({
    ...arbitraries,
    faults: wireFaults(faults),
    steps: Arbitrary.array(step, { minLength: 1, maxLength: maxSteps }),
    revisions: hasRevisions ? Arbitrary.Constant<Revisions>("Given") : oneOf<Revisions>("Handshake", "All")
  })
}

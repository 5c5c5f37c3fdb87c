/**
 * Typed state machines: tables of rows, each checked by the compiler where it is written, and the two ways to run them.
 *
 * This file names no state and no event. The types of a machine are derived from its rows, so each transition is stated
 * once.
 */
import { trust } from "../trust.ts"

/** A state or an event, identified by its tag. */
export interface Tagged {
  readonly _tag: string
}

/** The variant of a union that has this tag. */
export type Variant<Union extends Tagged, Tag> = Extract<Union, { readonly _tag: Tag }>

/** A row that keeps the state. */
export interface Stay<Action extends string> {
  readonly to: "same"
  readonly action: Action
}

/** A row that leads to another state, which `next` creates. */
export interface Move<To, From, Event, Next, Action> {
  readonly to: To
  readonly action: Action
  readonly next: (state: From, event: Event) => Next
}

/** Every row that is allowed in one cell. Because `to` discriminates the union, an error names the wrong member. */
type Cell<State extends Tagged, From, Event, Action extends string> =
  | Stay<Action>
  | {
    readonly [To in State["_tag"]]: Move<To, From, Event, Variant<State, To>, Action>
  }[State["_tag"]]

/** Every table of a side: at most one row for each state and event, with an action that the event may have. */
type Table<State extends Tagged, Event extends Tagged, Actions> = {
  readonly [From in State["_tag"]]: {
    readonly [Tag in Event["_tag"] & keyof Actions]?: Cell<
      State,
      Variant<State, From>,
      Variant<Event, Tag>,
      Actions[Tag] & string
    >
  }
}

/** Marks members of a table that are not states, and members of its states that are not events, as errors. */
type UnknownNames<Rows, State extends Tagged, Event extends Tagged> =
  & { readonly [From in Exclude<keyof Rows, State["_tag"]>]: "no state has this name" }
  & {
    readonly [From in keyof Rows]: {
      readonly [Tag in Exclude<keyof Rows[From], Event["_tag"]>]: "no event has this name"
    }
  }

/** Keeps the state, and names the action. */
export const stay = <const Action extends string>(action: Action): Stay<Action> => ({ to: "same", action })

/** Returns a table as it is, once the compiler has checked each of its rows. */
export const rowsOf =
  <State extends Tagged, Event extends Tagged, Actions>() =>
  <const Rows extends Table<State, Event, Actions>>(rows: Rows & UnknownNames<Rows, State, Event>): Rows => rows

/** The events that have a row in each of these states. */
export type Legal<Rows, State extends Tagged> = State["_tag"] extends keyof Rows ? keyof Rows[State["_tag"]] & string
  : never

/** The rows of an event in these states. */
type RowIn<Rows, State extends Tagged, Tag> = State["_tag"] extends infer From extends keyof Rows
  ? From extends unknown ? Tag extends keyof Rows[From] ? Rows[From][Tag] : never : never
  : never

/** The state that follows a state by an event. */
export type Next<Rows, All extends Tagged, State extends Tagged, Tag> = State extends unknown
  ? RowIn<Rows, State, Tag> extends infer Row
    ? Row extends { readonly to: infer To } ? "same" extends To ? State : Variant<All, To> : never
  : never
  : never

/** The actions of an event in these states. */
export type ActionIn<Rows, State extends Tagged, Tag> = RowIn<Rows, State, Tag> extends
  { readonly action: infer Action } ? Action
  : never

/** The actions of an event in all states together: `transition` returns one of these, and no other. */
export type ActionsOf<Rows, Tag> = {
  readonly [From in keyof Rows]: Tag extends keyof Rows[From]
    ? Rows[From][Tag] extends { readonly action: infer Action } ? Action : never
    : never
}[keyof Rows]

/** The error message of `step` for a state, or several states, without a common event. */
export type SomeLegal<Rows, State extends Tagged> = [Legal<Rows, State>] extends [never]
  ? { readonly "no event is legal in each of these states": State["_tag"] }
  : unknown

/** A row whose exact types are no longer known. */
export interface AnyRow<State, Event, Action> {
  readonly to: string
  readonly action: Action
  readonly next?: (state: State, event: Event) => State
}

/** A table whose exact types are no longer known. */
export interface AnyRows<State, Event, Action> {
  readonly [state: string]: { readonly [event: string]: AnyRow<State, Event, Action> }
}

/** Finds the row of a state and an event. */
export const rowIn = <State extends Tagged, Event extends Tagged, Action>(
  rows: AnyRows<State, Event, Action>,
  state: State,
  event: Event
): AnyRow<State, Event, Action> | undefined => rows[state._tag]?.[event._tag]

/** Returns the state that a row leads to. */
export const follow = <State, Event>(
  { next }: Pick<AnyRow<State, Event, unknown>, "next">,
  state: State,
  event: Event
): State => next === undefined ? state : next(state, event)

/** Returns a table without its exact types, which were checked where its rows are written. */
export const untyped = <State, Event, Action>(rows: object): AnyRows<State, Event, Action> =>
  trust<AnyRows<State, Event, Action>>(rows)

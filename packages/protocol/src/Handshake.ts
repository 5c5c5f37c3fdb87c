/**
 * The handshake of a session as typed state machines.
 *
 * # Theory
 *
 * A session has two sides, and each side runs its own machine. A machine is a table: for a state and an event, a row
 * names an action and the next state. {@link client}, {@link server} and {@link strictServer} are the machines of
 * sessions. {@link statelessServer} is the machine of a server without sessions.
 *
 * 1. Each event has a source, see {@link EventSource}. A message that this side wants to send is `local`, a received
 *    message is from the `peer`, and the end of a session belongs to its `lifecycle`.
 * 2. A pair without a row is a violation by the source of the event. After a local violation nothing is sent. After a
 *    remote violation the message is rejected or ignored, and the session continues. A lifecycle event is ignored.
 * 3. A state holds exactly the data that is known in it. A profile cannot be read before the handshake produces it.
 * 4. A session never returns to a state that it left. `Closed` is final, and the first reason to close stays.
 * 5. A row decides by the state and the event alone. Capabilities, request ids, limits and params are not its concern.
 *
 * Each transition is stated once, in `internal/handshake/rows.ts`. The types of the machines are derived from the rows.
 * `step` compiles only for a pair that has a row, and returns the state and the action of that row. `transition`
 * accepts any pair, and returns only actions that the event has in some row. The tables in the documentation are
 * generated from the rows.
 *
 * @stability unstable
 */
import type { Action } from "./internal/handshake/actions.ts"
import { type Event, type EventOf, eventSources, type EventTag } from "./internal/handshake/events.ts"
import { clientRows, serverRows, statelessServerRows, strictServerRows } from "./internal/handshake/rows.ts"
import * as StateMachine from "./internal/handshake/StateMachine.ts"
import type { ClientState, ServerState, StatelessServerState } from "./internal/handshake/states.ts"
import { trust } from "./internal/trust.ts"

export * from "./internal/handshake/actions.ts"
export * from "./internal/handshake/events.ts"
export * from "./internal/handshake/states.ts"

/**
 * The rows of a client, as types.
 *
 * @category models
 */
export interface ClientRows extends Readonly<typeof clientRows> {}

/**
 * The rows of a server, as types.
 *
 * @category models
 */
export interface ServerRows extends Readonly<typeof serverRows> {}

/**
 * The rows of a strict server, as types.
 *
 * @category models
 */
export interface StrictServerRows extends Readonly<typeof strictServerRows> {}

/**
 * The rows of a server without sessions, as types.
 *
 * @category models
 */
export interface StatelessServerRows extends Readonly<typeof statelessServerRows> {}

/** A state of either side. */
type AnyState = ClientState | ServerState | StatelessServerState

/**
 * A row as data: the action, and the name of the next state, or `"same"`.
 *
 * @category models
 */
export interface Row {
  readonly to: string
  readonly action: Action
}

/**
 * A transition without a row, with the name of the state and of the event.
 *
 * @category models
 */
export interface Violation<out Kind extends string> {
  readonly _tag: Kind
  readonly state: string
  readonly event: EventTag
}

/** The violation that each event can cause. A lifecycle event causes none. */
type Violations = {
  readonly [Tag in EventTag]: {
    readonly local: Violation<"LocalViolation">
    readonly peer: Violation<"RemoteViolation">
    readonly lifecycle: never
  }[(typeof eventSources)[Tag]]
}

/**
 * The actions of each event in some row of a table. A lifecycle event without a row is ignored.
 *
 * @category models
 */
export type Actions<Rows> = {
  readonly [Tag in EventTag]:
    | StateMachine.ActionsOf<Rows, Tag>
    | ((typeof eventSources)[Tag] extends "lifecycle" ? "Ignore" : never)
}

/**
 * The actions of each event in some row of any machine.
 *
 * @category models
 */
export type AnyActions = {
  readonly [Tag in EventTag]:
    | Actions<ClientRows>[Tag]
    | Actions<ServerRows>[Tag]
    | Actions<StrictServerRows>[Tag]
    | Actions<StatelessServerRows>[Tag]
}

/**
 * A transition by a row: the state that follows, and the action.
 *
 * @category models
 */
export interface Moved<out State, out Performed> {
  readonly _tag: "Moved"
  readonly state: State
  readonly action: Performed
}

/**
 * The outcome of a transition by an event of this name, on any machine or on one of them.
 *
 * @category models
 */
export type Outcome<State, Tag extends EventTag = EventTag, ByTag extends AnyActions = AnyActions> =
  | Moved<State, ByTag[Tag]>
  | Violations[Tag]

/**
 * A checked step: the state that follows, and the action, exactly as the row of the pair has them.
 *
 * @category models
 */
export interface Step<out State, out Performed> {
  readonly state: State
  readonly action: Performed
}

/**
 * The machine of one side.
 *
 * @category models
 */
export interface Machine<Rows, State extends AnyState> {
  /** The rows as data: state, event, row. */
  readonly rows: { readonly [state: string]: { readonly [event: string]: Row } }
  /** Takes one step. A pair that has no row does not compile. */
  readonly step: <From extends State, Tag extends EventTag & StateMachine.Legal<Rows, From>>(
    state: From & StateMachine.SomeLegal<Rows, From>,
    event: EventOf<Tag>
  ) => Step<StateMachine.Next<Rows, State, From, Tag>, StateMachine.ActionIn<Rows, From, Tag>>
  /** Takes one step, or returns the violation if the pair has no row. */
  readonly transition: <Tag extends EventTag>(
    state: State,
    event: EventOf<Tag>
  ) => Moved<State, Actions<Rows>[Tag]> | Violations[Tag]
}

const machine = <Rows extends object, State extends AnyState>(typed: Rows): Machine<Rows, State> => {
  const rows = StateMachine.untyped<State, Event, Action>(typed)
  return {
    rows,
    // The type of `step` admits only pairs that have a row, and derives the result from that row.
    step: (state, event) => {
      const untypedEvent = trust<Event>(event)
      const row = StateMachine.rowIn<State, Event, Action>(rows, state, untypedEvent)
      return trust(row && { state: StateMachine.follow<State, Event>(row, state, untypedEvent), action: row.action })
    },
    // The row is that of the event, so its action is one that the event has in some row.
    transition: (state, event) => {
      const untypedEvent = trust<Event>(event)
      const row = StateMachine.rowIn(rows, state, untypedEvent)
      if (row !== undefined) {
        return trust({ _tag: "Moved", state: StateMachine.follow(row, state, untypedEvent), action: row.action })
      }
      const source = eventSources[untypedEvent._tag]
      return trust(
        source === "lifecycle"
          ? { _tag: "Moved", state, action: "Ignore" }
          : { _tag: source === "local" ? "LocalViolation" : "RemoteViolation", state: state._tag, event: event._tag }
      )
    }
  }
}

/**
 * The machine of a client's session, under a name that editors show instead of its table.
 *
 * @category models
 */
export interface ClientMachine extends Machine<ClientRows, ClientState> {}

/**
 * The machine of a client's session.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * const { action, state } = Handshake.client.step({ _tag: "Idle" }, { _tag: "SendInitialize", offer: "2025-11-25" })
 *
 * export const sent = action // => "Send"
 * export const offer = state.offer // => "2025-11-25"
 * ```
 *
 * @category machines
 */
export const client: ClientMachine = machine<ClientRows, ClientState>(clientRows)

/**
 * The machine of a server's session.
 *
 * @category models
 */
export interface ServerMachine extends Machine<ServerRows, ServerState> {}

/**
 * The machine of a server's session.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * export const outcome = Handshake.server.transition({ _tag: "AwaitingInitialize" }, { _tag: "ReceiveRequest" })
 * // => { _tag: "Moved", state: { _tag: "AwaitingInitialize" }, action: "Reject" }
 * ```
 *
 * @category machines
 */
export const server: ServerMachine = machine<ServerRows, ServerState>(serverRows)

/**
 * The machine of a server's session under the strict policy.
 *
 * @category models
 */
export interface StrictServerMachine extends Machine<StrictServerRows, ServerState> {}

/**
 * The machine of a server's session under the strict policy: no request is served before `notifications/initialized`.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * export const actions = [Handshake.server, Handshake.strictServer].map(({ rows }) =>
 *   rows["Negotiated"]?.["ReceiveRequest"]?.action
 * ) // => ["ReleaseAndDeliver", "Reject"]
 * ```
 *
 * @category machines
 */
export const strictServer: StrictServerMachine = machine<StrictServerRows, ServerState>(strictServerRows)

/**
 * The machine of a server without sessions.
 *
 * @category models
 */
export interface StatelessServerMachine extends Machine<StatelessServerRows, StatelessServerState> {}

/**
 * The machine of a server without sessions: each request stands alone, and the server sends none.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * export const outcome = Handshake.statelessServer.transition({ _tag: "Stateless" }, { _tag: "SendPing" })._tag
 * // => "LocalViolation"
 * ```
 *
 * @category machines
 */
export const statelessServer: StatelessServerMachine = machine<StatelessServerRows, StatelessServerState>(
  statelessServerRows
)

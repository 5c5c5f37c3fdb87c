/**
 * The handshake as a typed state machine. All that decides what may be sent and what is made of what was received, in
 * which state of a session, stands in this file: the states, the events, and one table for each side.
 *
 * A table says, for a state and an event, which state comes next and what the session does. What this side's own program
 * wants to send is judged by the same rows as what the peer sent: a pair without a row is a mistake of whoever caused the
 * event. If that was this side (`LocalViolation`), nothing reaches the wire; if it was the peer (`RemoteViolation`), it is
 * refused and the session goes on. A pair that is illegal and known to be so when the program is written does not compile;
 * one that comes off the wire is a value. The tables are data: the diagrams in the documentation and the coverage of the
 * tests are made from them.
 *
 * @since 0.1.0
 */
import type { CloseReason } from "./CloseReason.ts"
import { trust } from "./internal/trust.ts"
import type { ClientProfile, ServerProfile } from "./Profile.ts"
import type { Revision } from "./Revision.ts"

// =====================================================================================================================
// Events
// =====================================================================================================================

/**
 * What can happen to a session, and what each event brings. `Send…` is what this side's program wants, `Receive…` what the
 * peer did, the rest is nobody's doing.
 *
 * @category models
 * @since 0.1.0
 */
export interface Events {
  /** The client opens the session. */
  readonly SendInitialize: { readonly offer: Revision }
  /** The server's answer has been handed to the outbox, ahead of the answers to whatever came right behind. */
  readonly SendInitializeResult: {}
  readonly SendPing: {}
  /** Any other request. */
  readonly SendRequest: {}
  readonly SendNotification: {}
  /** This side ends the session, or its scope closes. */
  readonly Close: { readonly reason: CloseReason }
  readonly ReceiveInitialize: { readonly profile: ClientProfile }
  /** An `initialize` whose params do not fit. */
  readonly ReceiveInvalidInitialize: {}
  /** The server agreed to a revision that this client speaks. */
  readonly ReceiveInitializeResult: { readonly profile: ServerProfile }
  /** The server refused, answered nonsense, or chose a revision that this client does not speak. */
  readonly ReceiveInitializeFailure: { readonly reason: CloseReason }
  /** `notifications/initialized`. */
  readonly ReceiveInitialized: {}
  readonly ReceivePing: {}
  /** Any other request. */
  readonly ReceiveRequest: {}
  /** A log message for the client, which a server may send before its answer to `initialize` (INIT-10). */
  readonly ReceiveLog: {}
  /** Any other notification. */
  readonly ReceiveNotification: {}
  readonly ReceiveResponse: {}
  /** The handshake took too long. */
  readonly Timeout: { readonly reason: CloseReason }
  /** Nothing more will be received. */
  readonly TransportEnded: { readonly reason: CloseReason }
  /** Everything that was in flight has ended. */
  readonly Drained: {}
}

/**
 * The name of an event.
 *
 * @category models
 * @since 0.1.0
 */
export type EventTag = keyof Events

/**
 * An event of one name.
 *
 * @category models
 * @since 0.1.0
 */
export type EventOf<Tag extends EventTag> = { readonly [T in Tag]: { readonly _tag: T } & Events[T] }[Tag]

/**
 * Any event.
 *
 * @category models
 * @since 0.1.0
 */
export type Event = EventOf<EventTag>

/**
 * Whose doing an event is.
 *
 * @category models
 * @since 0.1.0
 */
export type Cause = "local" | "peer" | "none"

/**
 * Whose doing each event is; it decides what a pair without a row means.
 *
 * @category constants
 * @since 0.1.0
 */
export const causes: { readonly [Tag in EventTag]: Cause } = {
  SendInitialize: "local",
  SendInitializeResult: "local",
  SendPing: "local",
  SendRequest: "local",
  SendNotification: "local",
  Close: "none",
  ReceiveInitialize: "peer",
  ReceiveInvalidInitialize: "peer",
  ReceiveInitializeResult: "peer",
  ReceiveInitializeFailure: "peer",
  ReceiveInitialized: "peer",
  ReceivePing: "peer",
  ReceiveRequest: "peer",
  ReceiveLog: "peer",
  ReceiveNotification: "peer",
  ReceiveResponse: "peer",
  Timeout: "none",
  TransportEnded: "none",
  Drained: "none"
}

// =====================================================================================================================
// States
// =====================================================================================================================

/**
 * A session that ends: what is in flight may finish, up to a bound.
 *
 * @category models
 * @since 0.1.0
 */
export interface Closing {
  readonly _tag: "Closing"
  readonly reason: CloseReason
}

/**
 * A session that has ended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Closed {
  readonly _tag: "Closed"
  readonly reason: CloseReason
}

/**
 * The states of a client's session. Each holds exactly what is known in it.
 *
 * @category models
 * @since 0.1.0
 */
export type ClientState =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Initializing"; readonly offer: Revision }
  | { readonly _tag: "Operating"; readonly profile: ServerProfile }
  | Closing
  | Closed

/**
 * The states of a server's session. `Negotiated` and `Operating` differ in one thing: until the client has said that it is
 * ready, by `notifications/initialized` or by a first ordinary request, the server asks nothing of it but ping (INIT-10).
 *
 * @category models
 * @since 0.1.0
 */
export type ServerState =
  | { readonly _tag: "Opening" }
  | { readonly _tag: "Initializing"; readonly profile: ClientProfile }
  | { readonly _tag: "Negotiated"; readonly profile: ClientProfile }
  | { readonly _tag: "Operating"; readonly profile: ClientProfile }
  | Closing
  | Closed

/**
 * The states of a server that keeps no sessions: whoever asks is answered, nobody is remembered, and nobody can be asked.
 *
 * @category models
 * @since 0.1.0
 */
export type SessionlessServerState =
  | { readonly _tag: "Sessionless" }
  | Closing
  | Closed

// =====================================================================================================================
// Rows
// =====================================================================================================================

/**
 * What a session does about an event.
 *
 * - `Send`: the message may go out. `Hold`: it waits until the peer is ready.
 * - `Answer`: the session answers by itself. `Deliver`: a handler or consumer gets it. `Match`: it completes an exchange.
 * - `Keep`: it waits until the session is established, and is then delivered before anything else.
 * - `Establish`: the client now says `notifications/initialized`, once.
 * - `Release`: what was held goes out. `ReleaseAndDeliver`: both, in this order.
 * - `Refuse`: a request is answered with −32600. `RefuseParams`: with −32602. `Ignore`: dropped, but observable.
 * - `End`: the session begins to end. `Finish`: it has ended.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | "Send"
  | "Hold"
  | "Answer"
  | "Deliver"
  | "Match"
  | "Keep"
  | "Establish"
  | "Release"
  | "ReleaseAndDeliver"
  | "Refuse"
  | "RefuseParams"
  | "Ignore"
  | "End"
  | "Finish"

/** Any state of either side. */
type AnyState = ClientState | ServerState | SessionlessServerState

/** The state of this name. */
type Named<State extends AnyState, Tag> = Extract<State, { readonly _tag: Tag }>

/**
 * One row: the state that follows and what is done. The target stands beside the function that makes it, since a function
 * cannot be drawn; the types keep the two from disagreeing.
 *
 * @category models
 * @since 0.1.0
 */
export interface Row<out To extends string, in From, in Event, out Next> {
  readonly to: To
  readonly does: Decision
  readonly next: (state: From, event: Event) => Next
}

/** The rows that realise a table of legal pairs. */
type Rows<Table extends { readonly [From in keyof Table]: object }, State extends AnyState> = {
  readonly [From in keyof Table]: {
    readonly [Tag in keyof Table[From] & EventTag]: Table[From][Tag] extends infer To extends string
      ? Row<To, Named<State, From>, EventOf<Tag>, Named<State, To>>
      : never
  }
}

/**
 * The legal pairs of a client's session, with the state that follows each.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClientTable {
  readonly Idle: {
    readonly SendInitialize: "Initializing"
    readonly TransportEnded: "Closed"
    readonly Close: "Closed"
  }
  readonly Initializing: {
    readonly ReceiveInitializeResult: "Operating"
    readonly ReceiveInitializeFailure: "Closed"
    readonly ReceivePing: "Initializing"
    readonly ReceiveRequest: "Initializing"
    readonly ReceiveLog: "Initializing"
    readonly ReceiveNotification: "Initializing"
    readonly ReceiveResponse: "Initializing"
    readonly SendPing: "Initializing"
    readonly Timeout: "Closed"
    readonly TransportEnded: "Closed"
    readonly Close: "Closed"
  }
  readonly Operating: {
    readonly SendPing: "Operating"
    readonly SendRequest: "Operating"
    readonly SendNotification: "Operating"
    readonly ReceivePing: "Operating"
    readonly ReceiveRequest: "Operating"
    readonly ReceiveLog: "Operating"
    readonly ReceiveNotification: "Operating"
    readonly ReceiveResponse: "Operating"
    readonly TransportEnded: "Closing"
    readonly Close: "Closing"
  }
  readonly Closing: {
    readonly SendNotification: "Closing"
    readonly ReceivePing: "Closing"
    readonly ReceiveRequest: "Closing"
    readonly ReceiveLog: "Closing"
    readonly ReceiveNotification: "Closing"
    readonly ReceiveResponse: "Closing"
    readonly TransportEnded: "Closing"
    readonly Close: "Closing"
    readonly Drained: "Closed"
  }
  readonly Closed: {}
}

/**
 * The legal pairs of a server's session, with the state that follows each.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServerTable {
  readonly Opening: {
    readonly ReceiveInitialize: "Initializing"
    readonly ReceiveInvalidInitialize: "Opening"
    readonly ReceivePing: "Opening"
    readonly ReceiveRequest: "Opening"
    readonly ReceiveInitialized: "Opening"
    readonly ReceiveNotification: "Opening"
    readonly ReceiveResponse: "Opening"
    readonly SendPing: "Opening"
    readonly SendRequest: "Opening"
    readonly Timeout: "Closed"
    readonly TransportEnded: "Closed"
    readonly Close: "Closed"
  }
  readonly Initializing: {
    readonly SendInitializeResult: "Negotiated"
    readonly TransportEnded: "Closed"
    readonly Close: "Closed"
  }
  readonly Negotiated: {
    readonly ReceiveInitialized: "Operating"
    readonly ReceiveRequest: "Operating"
    readonly ReceiveInitialize: "Negotiated"
    readonly ReceiveInvalidInitialize: "Negotiated"
    readonly ReceivePing: "Negotiated"
    readonly ReceiveNotification: "Negotiated"
    readonly ReceiveResponse: "Negotiated"
    readonly SendPing: "Negotiated"
    readonly SendRequest: "Negotiated"
    readonly SendNotification: "Negotiated"
    readonly TransportEnded: "Closing"
    readonly Close: "Closing"
  }
  readonly Operating: {
    readonly ReceiveInitialize: "Operating"
    readonly ReceiveInvalidInitialize: "Operating"
    readonly ReceiveInitialized: "Operating"
    readonly ReceivePing: "Operating"
    readonly ReceiveRequest: "Operating"
    readonly ReceiveNotification: "Operating"
    readonly ReceiveResponse: "Operating"
    readonly SendPing: "Operating"
    readonly SendRequest: "Operating"
    readonly SendNotification: "Operating"
    readonly TransportEnded: "Closing"
    readonly Close: "Closing"
  }
  readonly Closing: {
    readonly SendNotification: "Closing"
    readonly ReceiveInitialize: "Closing"
    readonly ReceiveInvalidInitialize: "Closing"
    readonly ReceiveInitialized: "Closing"
    readonly ReceivePing: "Closing"
    readonly ReceiveRequest: "Closing"
    readonly ReceiveNotification: "Closing"
    readonly ReceiveResponse: "Closing"
    readonly TransportEnded: "Closing"
    readonly Close: "Closing"
    readonly Drained: "Closed"
  }
  readonly Closed: {}
}

/** A row that stays where it is. */
const stay = <const To extends string>(to: To, does: Decision) => ({
  to,
  does,
  next: <State>(state: State): State => state
})

/** A row that begins to end the session, for the reason that the event brings. */
const end = {
  to: "Closing",
  does: "End",
  next: (_state: unknown, event: { readonly reason: CloseReason }): Closing => ({
    _tag: "Closing",
    reason: event.reason
  })
} as const

/** A row that ends a session that had not begun. */
const never = {
  to: "Closed",
  does: "Finish",
  next: (_state: unknown, event: { readonly reason: CloseReason }): Closed => ({ _tag: "Closed", reason: event.reason })
} as const

/** A row that ends the session for good, for the reason that it began to end with. */
const finish = {
  to: "Closed",
  does: "Finish",
  next: (state: Closing): Closed => ({ _tag: "Closed", reason: state.reason })
} as const

const clientRows: Rows<ClientTable, ClientState> = {
  Idle: {
    SendInitialize: {
      to: "Initializing",
      does: "Send",
      next: (_, event) => ({ _tag: "Initializing", offer: event.offer })
    },
    TransportEnded: never,
    Close: never
  },
  Initializing: {
    ReceiveInitializeResult: {
      to: "Operating",
      does: "Establish",
      next: (_, event) => ({ _tag: "Operating", profile: event.profile })
    },
    ReceiveInitializeFailure: never,
    ReceivePing: stay("Initializing", "Answer"),
    ReceiveRequest: stay("Initializing", "Refuse"),
    ReceiveLog: stay("Initializing", "Keep"),
    ReceiveNotification: stay("Initializing", "Ignore"),
    ReceiveResponse: stay("Initializing", "Match"),
    SendPing: stay("Initializing", "Send"),
    Timeout: never,
    TransportEnded: never,
    Close: never
  },
  Operating: {
    SendPing: stay("Operating", "Send"),
    SendRequest: stay("Operating", "Send"),
    SendNotification: stay("Operating", "Send"),
    ReceivePing: stay("Operating", "Answer"),
    ReceiveRequest: stay("Operating", "Deliver"),
    ReceiveLog: stay("Operating", "Deliver"),
    ReceiveNotification: stay("Operating", "Deliver"),
    ReceiveResponse: stay("Operating", "Match"),
    TransportEnded: end,
    Close: end
  },
  Closing: {
    SendNotification: stay("Closing", "Send"),
    ReceivePing: stay("Closing", "Answer"),
    ReceiveRequest: stay("Closing", "Refuse"),
    ReceiveLog: stay("Closing", "Ignore"),
    ReceiveNotification: stay("Closing", "Ignore"),
    ReceiveResponse: stay("Closing", "Match"),
    TransportEnded: stay("Closing", "Ignore"),
    Close: stay("Closing", "Ignore"),
    Drained: finish
  },
  Closed: {}
}

const serverRows: Rows<ServerTable, ServerState> = {
  Opening: {
    ReceiveInitialize: {
      to: "Initializing",
      does: "Answer",
      next: (_, event) => ({ _tag: "Initializing", profile: event.profile })
    },
    ReceiveInvalidInitialize: stay("Opening", "RefuseParams"),
    ReceivePing: stay("Opening", "Answer"),
    ReceiveRequest: stay("Opening", "Refuse"),
    ReceiveInitialized: stay("Opening", "Ignore"),
    ReceiveNotification: stay("Opening", "Ignore"),
    ReceiveResponse: stay("Opening", "Match"),
    SendPing: stay("Opening", "Send"),
    SendRequest: stay("Opening", "Hold"),
    Timeout: never,
    TransportEnded: never,
    Close: never
  },
  Initializing: {
    SendInitializeResult: {
      to: "Negotiated",
      does: "Send",
      next: (state) => ({ _tag: "Negotiated", profile: state.profile })
    },
    TransportEnded: never,
    Close: never
  },
  Negotiated: {
    ReceiveInitialized: {
      to: "Operating",
      does: "Release",
      next: (state) => ({ _tag: "Operating", profile: state.profile })
    },
    ReceiveRequest: {
      to: "Operating",
      does: "ReleaseAndDeliver",
      next: (state) => ({ _tag: "Operating", profile: state.profile })
    },
    ReceiveInitialize: stay("Negotiated", "Refuse"),
    ReceiveInvalidInitialize: stay("Negotiated", "Refuse"),
    ReceivePing: stay("Negotiated", "Answer"),
    ReceiveNotification: stay("Negotiated", "Deliver"),
    ReceiveResponse: stay("Negotiated", "Match"),
    SendPing: stay("Negotiated", "Send"),
    SendRequest: stay("Negotiated", "Hold"),
    SendNotification: stay("Negotiated", "Send"),
    TransportEnded: end,
    Close: end
  },
  Operating: {
    ReceiveInitialize: stay("Operating", "Refuse"),
    ReceiveInvalidInitialize: stay("Operating", "Refuse"),
    ReceiveInitialized: stay("Operating", "Ignore"),
    ReceivePing: stay("Operating", "Answer"),
    ReceiveRequest: stay("Operating", "Deliver"),
    ReceiveNotification: stay("Operating", "Deliver"),
    ReceiveResponse: stay("Operating", "Match"),
    SendPing: stay("Operating", "Send"),
    SendRequest: stay("Operating", "Send"),
    SendNotification: stay("Operating", "Send"),
    TransportEnded: end,
    Close: end
  },
  Closing: {
    SendNotification: stay("Closing", "Send"),
    ReceiveInitialize: stay("Closing", "Refuse"),
    ReceiveInvalidInitialize: stay("Closing", "Refuse"),
    ReceiveInitialized: stay("Closing", "Ignore"),
    ReceivePing: stay("Closing", "Answer"),
    ReceiveRequest: stay("Closing", "Refuse"),
    ReceiveNotification: stay("Closing", "Ignore"),
    ReceiveResponse: stay("Closing", "Match"),
    TransportEnded: stay("Closing", "Ignore"),
    Close: stay("Closing", "Ignore"),
    Drained: finish
  },
  Closed: {}
}

/** A server that serves no request until the client has said that it is initialized. */
const strictServerRows: Rows<StrictServerTable, ServerState> = {
  ...serverRows,
  Negotiated: { ...serverRows.Negotiated, ReceiveRequest: stay("Negotiated", "Refuse") }
}

/**
 * The legal pairs under the strict policy, in which a request does not stand for `notifications/initialized`.
 *
 * @category models
 * @since 0.1.0
 */
export interface StrictServerTable extends Omit<ServerTable, "Negotiated"> {
  readonly Negotiated: Omit<ServerTable["Negotiated"], "ReceiveRequest"> & { readonly ReceiveRequest: "Negotiated" }
}

/**
 * The legal pairs of a server without sessions. It has operated from the start; an `initialize` is answered all the same, and
 * changes nothing for whoever asks next.
 *
 * @category models
 * @since 0.1.0
 */
export interface SessionlessServerTable {
  readonly Sessionless: {
    readonly ReceiveInitialize: "Sessionless"
    readonly ReceiveInvalidInitialize: "Sessionless"
    readonly ReceiveInitialized: "Sessionless"
    readonly ReceivePing: "Sessionless"
    readonly ReceiveRequest: "Sessionless"
    readonly ReceiveNotification: "Sessionless"
    readonly ReceiveResponse: "Sessionless"
    readonly SendInitializeResult: "Sessionless"
    readonly SendNotification: "Sessionless"
    readonly TransportEnded: "Closing"
    readonly Close: "Closing"
  }
  readonly Closing: ServerTable["Closing"]
  readonly Closed: {}
}

const sessionlessServerRows: Rows<SessionlessServerTable, SessionlessServerState> = {
  Sessionless: {
    ReceiveInitialize: stay("Sessionless", "Answer"),
    ReceiveInvalidInitialize: stay("Sessionless", "RefuseParams"),
    ReceiveInitialized: stay("Sessionless", "Ignore"),
    ReceivePing: stay("Sessionless", "Answer"),
    ReceiveRequest: stay("Sessionless", "Deliver"),
    ReceiveNotification: stay("Sessionless", "Deliver"),
    ReceiveResponse: stay("Sessionless", "Match"),
    SendInitializeResult: stay("Sessionless", "Send"),
    SendNotification: stay("Sessionless", "Send"),
    TransportEnded: end,
    Close: end
  },
  Closing: serverRows.Closing,
  Closed: {}
}

// =====================================================================================================================
// The machine
// =====================================================================================================================

/**
 * What came of an event.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome<State> =
  | { readonly _tag: "Moved"; readonly state: State; readonly does: Decision }
  | { readonly _tag: "LocalViolation"; readonly state: string; readonly event: EventTag }
  | { readonly _tag: "RemoteViolation"; readonly state: string; readonly event: EventTag }

/** A row whose exact types are no longer known. */
type AnyRow<State> = Row<string, State, Event, State>

/**
 * A side's table, and the two ways to use it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Machine<Table extends { readonly [From in keyof Table]: object }, State extends AnyState> {
  /** The table as data: state, event, row. */
  readonly rows: { readonly [state: string]: { readonly [event: string]: AnyRow<State> } }
  /** One step whose legality is known when the program is written: an illegal pair does not compile. */
  readonly step: <From extends State, Tag extends keyof Table[From["_tag"] & keyof Table] & EventTag>(
    state: From,
    event: EventOf<Tag>
  ) => Named<State, Table[From["_tag"] & keyof Table][Tag]>
  /** One step whose legality is known only now. Total: a pair without a row is a value that says whose mistake it is. */
  readonly transition: (state: State, event: Event) => Outcome<State>
}

const machine = <Table extends { readonly [From in keyof Table]: object }, State extends AnyState>(
  typedRows: { readonly [From in keyof Table]: object }
): Machine<Table, State> => {
  // The cells were checked against `Table` where they were written; from here on they are looked up by name.
  const rows = trust<Machine<Table, State>["rows"]>(typedRows)
  const transition = (state: State, event: Event): Outcome<State> => {
    const row = rows[state._tag]?.[event._tag]
    if (row !== undefined) return { _tag: "Moved", state: row.next(state, event), does: row.does }
    const cause = causes[event._tag]
    return cause === "none"
      ? { _tag: "Moved", state, does: "Ignore" }
      : { _tag: cause === "local" ? "LocalViolation" : "RemoteViolation", state: state._tag, event: event._tag }
  }
  return {
    rows,
    // The type of `step` admits only pairs that have a row, and the row's own type says what it leads to.
    step: (state, event) => trust(rows[state._tag]?.[event._tag]?.next(state, trust<Event>(event))),
    transition
  }
}

/**
 * The client's side of a session.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * export const initializing = Handshake.client.step({ _tag: "Idle" }, { _tag: "SendInitialize", offer: "2025-11-25" })
 * export const offer = initializing.offer // known: the pair of types leads to `Initializing`
 * ```
 *
 * @category machines
 * @since 0.1.0
 */
export const client: Machine<ClientTable, ClientState> = machine<ClientTable, ClientState>(clientRows)

/**
 * The server's side of a session.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * export const outcome = Handshake.server.transition({ _tag: "Opening" }, { _tag: "ReceiveRequest" })
 * // => { _tag: "Moved", state: { _tag: "Opening" }, does: "Refuse" }
 * ```
 *
 * @category machines
 * @since 0.1.0
 */
export const server: Machine<ServerTable, ServerState> = machine<ServerTable, ServerState>(serverRows)

/**
 * The server's side under the strict policy: no request is served before `notifications/initialized`.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * export const decisions = [Handshake.server, Handshake.strictServer].map(({ rows }) =>
 *   rows["Negotiated"]?.["ReceiveRequest"]?.does
 * ) // => ["ReleaseAndDeliver", "Refuse"]
 * ```
 *
 * @category machines
 * @since 0.1.0
 */
export const strictServer: Machine<StrictServerTable, ServerState> = machine<StrictServerTable, ServerState>(
  strictServerRows
)

/**
 * A server without sessions: every request stands for itself, and server-initiated requests have nobody to go to.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 *
 * export const outcome = Handshake.sessionlessServer.transition({ _tag: "Sessionless" }, { _tag: "SendPing" })._tag
 * // => "LocalViolation"
 * ```
 *
 * @category machines
 * @since 0.1.0
 */
export const sessionlessServer: Machine<SessionlessServerTable, SessionlessServerState> = machine<
  SessionlessServerTable,
  SessionlessServerState
>(sessionlessServerRows)

/**
 * The subject of a soak: one transport with its server, its client and the possible endings of its sessions. A new
 * transport needs a new subject, and a line in `subjects.ts`.
 */
import type { CloseReason } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { EndingName } from "./EndingName.ts"
import type { Unexpected } from "./Unexpected.ts"

/** The tag of the reason why a session ended. */
export type Reason = CloseReason.CloseReason["_tag"]

/**
 * The lifetime of a server's sessions: `unlimited` for the whole soak, `shortIdle` with a short idle timeout,
 * `shortAge` with a short maximum age.
 */
export type Lifetime = "unlimited" | "shortIdle" | "shortAge"

/** The route of a client: directly to the server, or through a relay that can break the connection. */
export type Route = "direct" | "relayed"

/** The expected outcome of an ending for both sides. */
export interface Expected {
  /**
   * The close reason of the client's session, or the possible ones if there is a race. It is `Requested` as well if the
   * client cannot detect the end of the server's session, and is closed at last.
   */
  readonly client: Reason | ReadonlyArray<Reason>
  /** The close reason or reasons of the server's session; `undefined` if no session or process can report one. */
  readonly server: Reason | ReadonlyArray<Reason> | undefined
  /** The lifetime of the server's sessions. Default: `unlimited`. */
  readonly lifetime?: Lifetime
}

/** The server's side of one session. */
export interface ServerSide {
  readonly closed: Effect.Effect<Reason, Unexpected>
  readonly close: Effect.Effect<void>
}

/** A connection to a server for one session. */
export interface Connection {
  readonly transport: Transport.Transport["Service"]
  /** Returns the server's side, after the handshake. */
  readonly serverSide: Effect.Effect<ServerSide, Unexpected>
  /** Kills the server, which is a child process. */
  readonly kill?: Effect.Effect<void>
  /** Closes the connection permanently: with an orderly end (`destroy`) or without (`reset`). */
  readonly destroy?: Effect.Effect<void>
  readonly reset?: Effect.Effect<void>
  /** Ends the client's output, and not its input. */
  readonly halfClose?: Effect.Effect<void>
}

/** Counts by kind; all are 0 without a session. */
export type Counts = Readonly<Record<string, number>>

/** A running server. */
export interface Server {
  /** Returns a connection for a client whose session will end in this way. */
  readonly dial: (client: string, route: Route, ending: EndingName) => Effect.Effect<Connection, unknown, Scope.Scope>
  /** Returns the sizes of the server's tables. */
  readonly tables: Effect.Effect<Counts>
  /** Starts the server again at the same address, after this one has shut down. */
  readonly restart: (lifetime: Lifetime) => Effect.Effect<Server, unknown, Scope.Scope>
}

/** A transport under test. */
export interface Subject {
  readonly name: string
  /** The share of sessions over this transport, relative to other subjects. */
  readonly weight: number
  /** The number of concurrent sessions, without those that wait for an expiry. */
  readonly concurrency: number
  readonly start: (lifetime: Lifetime) => Effect.Effect<Server, unknown, Scope.Scope>
  /** The possible endings of its sessions. */
  readonly endings: Partial<Readonly<Record<EndingName, Expected>>>
  /** Whether the server can send requests. Default: true. */
  readonly sendsRequests?: boolean
  /** Whether a client's session survives a restart of the server. Default: false. */
  readonly survivesRestart?: boolean
  /** Whether in-flight requests get a response after the client's output ends. Default: false. */
  readonly answersHalfClosed?: boolean
  /** The longest duration of a handshake, for endings that interrupt it. Default: 8 ms. */
  readonly handshakeMillis?: number
}

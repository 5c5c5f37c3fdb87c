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
 * The lifetime of a server's sessions: `patient` for the whole soak, `idle` with a short idle timeout, `ageing` for a
 * few seconds in any case.
 */
export type Terms = "patient" | "idle" | "ageing"

/** The route of a client: directly to the server, or through a relay that can break the connection. */
export type Route = "direct" | "relayed"

/** The expected outcome of an ending for both sides. */
export interface Expected {
  /**
   * The close reason of the client's session, or the possible ones if there is a race. It is `Requested` as well if the
   * client cannot detect the end of the server's session, and is closed at last.
   */
  readonly client: Reason | ReadonlyArray<Reason>
  /** The close reason of the server's session, likewise; `undefined` without a session or a process to report it. */
  readonly server: Reason | ReadonlyArray<Reason> | undefined
  /** The terms of the server. Default: `patient`. */
  readonly terms?: Terms
}

/** The server's side of one session. */
export interface FarSide {
  readonly closed: Effect.Effect<Reason, Unexpected>
  readonly close: Effect.Effect<void>
}

/** A connection to a server for one session. */
export interface Line {
  readonly transport: Transport.Transport["Service"]
  /** Returns the server's side, after the handshake. */
  readonly farSide: Effect.Effect<FarSide, Unexpected>
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
  readonly dial: (client: string, route: Route, ending: EndingName) => Effect.Effect<Line, unknown, Scope.Scope>
  /** Returns the sizes of the server's tables. */
  readonly tables: Effect.Effect<Counts>
  /** Starts the server again at the same address, after this one has shut down. */
  readonly restart: (terms: Terms) => Effect.Effect<Server, unknown, Scope.Scope>
}

/** A transport under test. */
export interface Subject {
  readonly name: string
  /** The share of sessions over this transport, relative to other subjects. */
  readonly weight: number
  /** The number of concurrent sessions, without those that wait for an expiry. */
  readonly concurrency: number
  readonly start: (terms: Terms) => Effect.Effect<Server, unknown, Scope.Scope>
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

/**
 * What is soaked: one transport, how to start a server behind it, how to reach that, and which endings its sessions can come to. A new
 * transport is one more of these, and one line in `subjects.ts`.
 */
import type { CloseReason } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { EndingName } from "./EndingName.ts"
import type { Unexpected } from "./Unexpected.ts"

/** Why a session ended, in a word. */
export type Reason = CloseReason.CloseReason["_tag"]

/**
 * How long a server keeps its sessions: `patient` for as long as the soak lasts, `idle` only while they are used or have said
 * `initialize`, `ageing` for a few seconds in any case.
 */
export type Terms = "patient" | "idle" | "ageing"

/** Where the client goes: to the server, or to a relay before it, which can break what goes through it. */
export type Way = "direct" | "relayed"

/** What both sides are to see of an ending. */
export interface Expected {
  /**
   * Why the client's session ends, or why it may where that is a race. `Requested` also where it cannot know that the server's has
   * ended, and is closed in the end.
   */
  readonly client: Reason | ReadonlyArray<Reason>
  /** Why the server's session ends, likewise; nothing where nobody is left to say, or there was none. */
  readonly server: Reason | ReadonlyArray<Reason> | undefined
  /** Default `patient`. */
  readonly terms?: Terms
}

/** The server's side of one session. */
export interface FarSide {
  readonly closed: Effect.Effect<Reason, Unexpected>
  readonly close: Effect.Effect<void>
}

/** A way to a server for one session. */
export interface Line {
  readonly transport: Transport.Transport["Service"]
  /** The server's side, once the client's is operating. */
  readonly farSide: Effect.Effect<FarSide, Unexpected>
  /** The server, a child process, is killed. */
  readonly kill?: Effect.Effect<void>
  /** Breaks it for good, in good order as far as the network can tell (`destroy`), or not (`reset`). */
  readonly destroy?: Effect.Effect<void>
  readonly reset?: Effect.Effect<void>
  /** The client's sending ends, and its reading does not. */
  readonly halfClose?: Effect.Effect<void>
}

/** How much of each kind there is; all of it is nothing while there is no session. */
export type Counts = Readonly<Record<string, number>>

/** A server that has been started. */
export interface Server {
  /** A way to it for the client of this name, whose session is to come to this end. */
  readonly dial: (client: string, way: Way, ending: EndingName) => Effect.Effect<Line, unknown, Scope.Scope>
  /** The sizes of its tables. */
  readonly tables: Effect.Effect<Counts>
  /** Starts it once more, where it was. To be used when this one has gone. */
  readonly again: (terms: Terms) => Effect.Effect<Server, unknown, Scope.Scope>
}

/** One transport. */
export interface Subject {
  readonly name: string
  /** How many of the sessions are over it, beside the others. */
  readonly weight: number
  /** How many of its sessions there are at a time, beside those that wait for something to expire. */
  readonly concurrency: number
  readonly start: (terms: Terms) => Effect.Effect<Server, unknown, Scope.Scope>
  /** The endings that its sessions can come to. */
  readonly endings: Partial<Readonly<Record<EndingName, Expected>>>
  /** Whether the server can ask its client something. Default: yes. */
  readonly asks?: boolean
  /** Whether a client goes on with a server that was started anew, as if nothing had been. Default: no. */
  readonly survives?: boolean
  /** Whether what is in flight is still answered when the client's sending ends. Default: that is not promised. */
  readonly answersHalfClosed?: boolean
  /** How long a handshake takes at most, for those who break it off. Default 8 ms. */
  readonly handshakeMillis?: number
}

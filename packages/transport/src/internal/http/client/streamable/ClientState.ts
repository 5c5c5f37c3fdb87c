/** The state that all parts of one Streamable HTTP client connection share. */
import type { JsonRpc } from "@effect-mcp/protocol"
import { monotonicMillis } from "@effect-mcp/session/internal"
import type { Inbound, TransportEvent } from "@effect-mcp/session/Transport"
import type * as TransportError from "@effect-mcp/session/TransportError"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { InboundBuffer } from "../../../shared/InboundBuffer.ts"
import type { McpEndpoint, Membership } from "../McpEndpoint.ts"
import type { ReconnectDelay } from "./ReconnectDelay.ts"

/** One session of the server. A renewed session is another one, even if the server gives it the same id. */
export interface SessionIdentity {
  /** The session id, if the server has given one. */
  readonly id: string | undefined
  /** The time of its start on the monotonic clock, in milliseconds. */
  readonly openedAt: number
  /** Whether it replaces a lost session. */
  readonly isRenewed: boolean
  /** Whether a request was answered in it. */
  answered: boolean
}

/** The renewal of a lost session, in progress. All that need the new session wait for it. */
export interface Renewal {
  readonly lost: SessionIdentity
  readonly done: Deferred.Deferred<void, TransportError.TransportError>
}

/** The parts of a connection's settings that its state carries. */
export interface Settings {
  readonly maxMessageBytes: number
  readonly maxMessageNodes: number
  readonly reconnect: ReconnectDelay
}

/** The current time in milliseconds, on a clock that never jumps. */
export const millisNow: Effect.Effect<number> = Effect.map(Clock.Clock, monotonicMillis)

/** Creates the identity of a session that starts now. */
export const sessionIdentity = (id: string | undefined, isRenewed: boolean): Effect.Effect<SessionIdentity> =>
  Effect.map(millisNow, (openedAt) => ({ id, openedAt, isRenewed, answered: false }))

export class ClientState {
  readonly endpoint: McpEndpoint
  readonly settings: Settings
  readonly #inbound = new InboundBuffer()
  #report: ((event: TransportEvent) => void) | undefined
  readonly #closed = Deferred.makeUnsafe<never, TransportError.TransportError>()

  /** The `initialize` request of the session, which a renewal sends again. */
  initializeRequest: JsonRpc.Request | undefined
  /** The negotiated revision, after the handshake. */
  revision: Membership["revision"]
  /** The current session. */
  session: SessionIdentity
  /** The renewal of the current session, in progress or failed. */
  renewal: Renewal | undefined

  constructor(endpoint: McpEndpoint, settings: Settings, session: SessionIdentity) {
    this.endpoint = endpoint
    this.settings = settings
    this.session = session
  }

  /** Called with each frame before it is delivered, if a part of the connection has set it. */
  watch: ((inbound: Inbound) => void) | undefined

  /** Delivers a frame to the session of the program. */
  readonly deliver = (inbound: Inbound): void => {
    this.watch?.(inbound)
    this.#inbound.deliver(inbound)
  }

  /** Reports an event; without a subscriber, it is lost. */
  report(event: TransportEvent): void {
    this.#report?.(event)
  }

  /** Starts to deliver frames and events, beginning with the frames that arrived before. */
  subscribe(deliver: (inbound: Inbound) => void, report: ((event: TransportEvent) => void) | undefined): void {
    this.#report = report
    this.#inbound.subscribe(deliver)
  }

  /** Discards all frames and events from now on. */
  unsubscribe(): void {
    this.#inbound.close()
    this.#report = undefined
  }

  /** Ends the connection with a failure: its session is lost and cannot be renewed. */
  fail(cause: Cause.Cause<TransportError.TransportError>): void {
    Deferred.doneUnsafe(this.#closed, Exit.failCause(cause))
  }

  /** Waits until {@link fail} is called, and fails with its error. */
  get failed(): Effect.Effect<never, TransportError.TransportError> {
    return Deferred.await(this.#closed)
  }

  /** Waits for the renewal in progress, and fails if it fails. */
  get ready(): Effect.Effect<void, TransportError.TransportError> {
    return Effect.suspend(() => this.renewal === undefined ? Effect.void : Deferred.await(this.renewal.done))
  }

  /** Returns the headers of a session's messages. */
  membership(session: SessionIdentity): Membership {
    return { session: session.id, revision: this.revision }
  }
}

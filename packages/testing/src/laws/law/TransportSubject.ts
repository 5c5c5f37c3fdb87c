/**
 * The subject of the laws of transports: how to obtain a transport, and which faults a test can inject.
 *
 * @stability unstable
 */
import type { Transport } from "@effect-mcp/session"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * The client's end of a transport.
 *
 * @category models
 */
export type ClientEnd = Transport.Transport["Service"]

/** An action on the served transport. It is done when the effect ends; its consequences may follow later. */
type Act<Served> = (served: Served) => Effect.Effect<void, unknown>

/** Puts bytes on the wire that no session has sent, directly after the bytes already there. */
type Inject<Served> = (served: Served, bytes: Uint8Array) => Effect.Effect<void, unknown>

/**
 * The faults that a test can inject into a transport. Each is optional, and each adds laws. All of them affect the
 * connection that was opened from the served transport.
 *
 * @category models
 */
export interface SubjectFaults<Served> {
  /**
   * Stops the server from reading until `end`, such as by stopping its process. Buffers on the way may still fill, with
   * up to 24 MiB. The connection may be gone afterwards.
   */
  readonly stall?: { readonly begin: Act<Served>; readonly end: Act<Served> }
  /** Breaks the connection, or kills its peer, without a message before. */
  readonly cut?: Act<Served>
  /**
   * Ends the client's direction in good order, while the server's continues. The server receives the end after all
   * messages.
   */
  readonly halfClose?: Act<Served>
  /** Fails the next message that the client sends. */
  readonly failWrite?: Act<Served>
  /** Sends bytes to the client, on a transport that carries each message as a line of JSON (STD-02, TRN-04). */
  readonly injectToClient?: Inject<Served>
  /** Sends bytes to the server, likewise, if the server can answer without a stream of the request. */
  readonly injectToServer?: Inject<Served>
  /** The greatest length of a line, in bytes, that the ends read. Adds the laws of lines that are too long. */
  readonly maxMessageBytes?: number
}

/**
 * A transport to test. `Served` is the client's end, and whatever `faults` need to reach its connection.
 *
 * @category models
 */
export interface Subject<Served extends ClientEnd = ClientEnd> {
  /**
   * Starts a server that serves `LawServer.make()` under `LawServer.options`, and returns the client's end of the
   * transport to it. Each use starts another server, which ends with the scope.
   */
  readonly serve: Effect.Effect<Served, unknown, Scope.Scope>
  /**
   * One stream for all messages, or one for each request of the client (`Connection.request`). In the second form, a
   * stalled or broken stream affects one request. Default: `OneStream`.
   */
  readonly form?: "OneStream" | "StreamPerRequest"
  /**
   * Whether the transport exists only in revisions with a handshake (`Connection.handshakeOnly`), or its server serves
   * no others. Default: no; every law that can hold in revision 2026-07-28 is checked in that revision as well, and a
   * connection serves both eras at the same time.
   */
  readonly handshakeOnly?: boolean
  /**
   * Whether the session starts with the response to `initialize`, so that any other request before it is rejected,
   * `ping` included (SHS-25). Then there is no connection either that requests of revision 2026-07-28 have in common.
   * Default: no; a ping is answered, and requests directly after `initialize` are served.
   */
  readonly sessionFirst?: boolean
  /** The number of runs of a property. Default: 20. A transport that starts a process for each run may use fewer. */
  readonly runs?: number
  /** Waits until the server has observed the end of the connection. */
  readonly ended?: Act<Served>
  /**
   * Shuts the server down in good order. Adds the law of the streams of `subscriptions/listen`, which end with a result
   * (SUB-07).
   */
  readonly shutDown?: Act<Served>
  /** The faults that a test can inject. Default: none. */
  readonly faults?: SubjectFaults<Served>
  /**
   * Whether messages may get lost, arrive twice, or overtake each other. Then only the laws are checked that hold
   * nevertheless. Default: no.
   */
  readonly lossy?: boolean
  /** The time limit of a law. Default: 15 seconds. */
  readonly timeout?: Duration.Input
}

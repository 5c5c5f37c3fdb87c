/**
 * What is judged by the laws of transports: how to come by a transport, and which faults can be made to happen to it.
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

/** Something done with the transport that was served. It is done when the effect ends; what follows from it may come later. */
type Act<Served> = (served: Served) => Effect.Effect<void, unknown>

/** Puts bytes on the wire that no session has sent, right behind what is there. */
type Inject<Served> = (served: Served, bytes: Uint8Array) => Effect.Effect<void, unknown>

/**
 * The faults that can be made to happen to a transport. Each is optional, and each that is there puts the transport through more
 * laws. All of them happen to the connection that was opened from what was served.
 *
 * @category models
 */
export interface SubjectFaults<Served> {
  /**
   * The server takes no bytes any more, until it does again: a process that is stopped, a socket that nobody reads. Buffers on the
   * way may still fill, with up to 24 MiB. The connection may be gone when it ends.
   */
  readonly stall?: { readonly begin: Act<Served>; readonly end: Act<Served> }
  /** The connection breaks off, or its peer is gone, without a word before. */
  readonly cut?: Act<Served>
  /** The client's sending ends in good order, and the server's goes on. The server hears of it behind what was sent. */
  readonly halfClose?: Act<Served>
  /** The next message that the client sends cannot be written. */
  readonly failWrite?: Act<Served>
  /** Bytes for the client, on a transport that carries each message as a line of JSON (STD-02, TRN-04). */
  readonly injectToClient?: Inject<Served>
  /** Bytes for the server, likewise, where what they ask for is answered without a stream of its own. */
  readonly injectToServer?: Inject<Served>
  /** The longest line in bytes that the ends read which bytes are injected for. */
  readonly maxMessageBytes?: number
}

/**
 * A transport to be judged. `Served` is the client's end, with whatever `faults` need besides to get at its connection.
 *
 * @category models
 */
export interface Subject<Served extends ClientEnd = ClientEnd> {
  /**
   * Starts a server that serves `LawServer.make()` under `LawServer.options`, and gives the client's end of the transport
   * to it. Each use starts a server of its own, which ends with the scope.
   */
  readonly serve: Effect.Effect<Served, unknown, Scope.Scope>
  /**
   * One stream for everything, or one for each request of the client (`Connection.request`), where a stalled or broken stream is the
   * matter of one request. Default: `OneStream`.
   */
  readonly form?: "OneStream" | "StreamPerRequest"
  /**
   * What a connection carries belongs to a session, which begins with the answer to `initialize`: whatever else is asked before, ping
   * included, is refused (SHS-25). Default: no, a ping is answered, and what comes right behind `initialize` is served.
   */
  readonly sessionFirst?: boolean
  /** How often a property is tried. Default 20; a transport that starts a process for each can afford fewer. */
  readonly runs?: number
  /** Waits until the server has seen the end of the connection, so that it can be judged whether it ever does. */
  readonly ended?: Act<Served>
  /** The faults that can be made to happen. Default: none. */
  readonly faults?: SubjectFaults<Served>
  /**
   * Messages may get lost, come twice, or overtake each other. What is promised then is less, and only that is judged. Default: no.
   */
  readonly lossy?: boolean
  /** How long one law may take before it counts as broken; nothing of it is to be that slow. Default 15 seconds. */
  readonly patience?: Duration.Input
}

/**
 * The port below a session: how frames come and go. One shape serves memory, stdio and WebSocket (one stream for
 * everything) and Streamable HTTP (a stream per request, and at most one standalone stream) alike. A transport knows
 * nothing of schemas, states or matching.
 *
 * @since 0.1.0
 */
import type { CloseReason, JsonRpc, Profile, Revision } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Principal } from "./Principal.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * The inbound frame, or stream, that a message belongs to. A transport makes it, knows it again by identity, and gives it
 * any content it likes; the session carries it and never looks inside.
 *
 * @category models
 * @since 0.1.0
 */
export type StreamOrigin = object

/**
 * Bytes that did not become a frame; the frames before and after them are unharmed (law 7).
 *
 * - `NotJson`: they are no JSON, or no UTF-8; `text` is their beginning, at most 200 characters.
 * - `TooLarge`: they are more than `limitBytes`; they were skipped up to the frame's end.
 * - `TooComplex`: as JSON they have more arrays, objects and members than `limitNodes`, namely `nodes`; they were not
 *   parsed.
 *
 * @category models
 * @since 0.1.0
 */
export type FrameError =
  | { readonly _tag: "NotJson"; readonly text: string }
  | { readonly _tag: "TooLarge"; readonly limitBytes: number }
  | { readonly _tag: "TooComplex"; readonly nodes: number; readonly limitNodes: number }

/**
 * One inbound frame.
 *
 * @category models
 * @since 0.1.0
 */
export interface Inbound {
  readonly frame: Result.Result<unknown, FrameError>
  /** Absent where the transport has one stream for everything. */
  readonly origin?: StreamOrigin
  /**
   * How many bytes it came in, where it came in bytes. The memory that is held of such a frame is counted, and bounded.
   */
  readonly bytes?: number
  /** Who sent it, where somebody has found out. */
  readonly principal?: Principal | undefined
}

/**
 * What only a transport can know.
 *
 * - `StreamLost`: a stream from the server broke off; `method` is that of its request, or `undefined` for the standalone stream. It
 *   will be taken up again after `retryAfterMillis`; `undefined` says that it will not.
 * - `StreamResumed`: it was taken up again, behind the last event that had come; the standalone stream from now on, where the server
 *   had refused to go on behind that event.
 * - `SessionRenewed`: the server knew nothing of the session any more, so the transport has shaken hands anew. What the server
 *   remembered of it, such as subscriptions and the log level, is gone.
 * - `RevisionMismatch`: a message came under another revision than was agreed on, which this side speaks, too.
 *
 * @category models
 * @since 0.1.0
 */
export type TransportEvent =
  | {
    readonly _tag: "StreamLost"
    readonly method: string | undefined
    readonly cause: unknown
    readonly retryAfterMillis: number | undefined
  }
  | { readonly _tag: "StreamResumed"; readonly method: string | undefined }
  | { readonly _tag: "SessionRenewed" }
  | { readonly _tag: "RevisionMismatch"; readonly agreed: Revision.Revision; readonly said: Revision.Revision }

/**
 * What a transport tells its session beside frames. Nothing in it suspends or throws.
 *
 * @category models
 * @since 0.1.0
 */
export interface Hooks {
  /**
   * Nobody will take what belongs to this origin any more: the handlers of its requests are interrupted, as if the requests had been
   * cancelled, and the origin is settled.
   */
  readonly abandon: (origin: StreamOrigin) => void
  /** Something that whoever watches the session should see. */
  readonly report: (event: TransportEvent) => void
}

/**
 * One outbound frame: a message, or the replies to a batch.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outbound {
  readonly message: JsonRpc.Frame
  /** The inbound frame it belongs to; absent: it belongs to none, and takes the standalone stream. */
  readonly replyTo: StreamOrigin | undefined
  /** It is the reply to the request of `replyTo`, after which nothing more belongs to it. */
  readonly last: boolean
}

/**
 * Why the peer's side of a connection came to its end in good order.
 *
 * @category models
 * @since 0.1.0
 */
export interface End {
  /** How the peer exited, if it is a child process of ours. */
  readonly exit: CloseReason.ProcessExit | undefined
  /**
   * Only the peer's sending has ended, and it may still read: a half-close. Handlers then finish and their replies go out;
   * otherwise nobody is left to reply to, and they are interrupted.
   */
  readonly writable: boolean
}

/**
 * A connection in use by one session. It lives in the scope it was connected in; when that scope closes, the transport
 * closes by its own ladder and leaves nothing behind.
 *
 * @category models
 * @since 0.1.0
 */
export interface Connection {
  /**
   * Reads until the peer's side ends. Calls `deliver` once per frame, in order within an origin; `deliver` never
   * suspends and never throws. Run exactly once; frames that came earlier are kept for it.
   */
  readonly run: (deliver: (inbound: Inbound) => void, hooks?: Hooks) => Effect.Effect<End, TransportError>
  /**
   * Hands one message over. It succeeds once the transport has taken the message, suspends while the transport's own
   * buffer is full, and fails at once with `NoRoute` where no stream may carry it. The session calls it one message at a
   * time, so that order is kept; a connection with `endExchange` has many streams, and there it is one message at a time for each
   * origin. Each effect is run once, right after it was made; one that is an `Exit` already costs no fiber. `PeerEnded` and
   * `WriteFailed` end the session, other failures concern this message only.
   */
  readonly send: (outbound: Outbound) => Effect.Effect<void, TransportError>
  /**
   * The stream of this origin, or the standalone one, took nothing for the write timeout, so its message is given up,
   * and interrupted next: break the stream off. Without it, the rest of the stream would follow a message that is
   * missing. Called only where there is a stream for each origin; with one for everything the session ends.
   */
  readonly stalled?: (origin: StreamOrigin | undefined) => void
  /**
   * The exchange of this origin ended without a reply: close its stream. `rejected`: its frame was rejected, and the
   * session has sent as many errors in this second as it may (`maxMalformedRepliesPerSecond`); a transport that
   * answers each frame answers it itself. Absent if there is one stream.
   */
  readonly endExchange?: (origin: StreamOrigin, rejected?: boolean) => void
  /**
   * Lets go of what the stream of this origin is carried over, while the exchange goes on: the peer comes back for what is said
   * meanwhile. `false` where it could not, and nothing has changed. Absent where no stream can be taken up again.
   */
  readonly detachStream?: (origin: StreamOrigin) => Effect.Effect<boolean>
  /**
   * Carries one outgoing request in a stream of its own, for transports that open one per request. It runs until that
   * stream has ended, and interrupting it gives the stream up; its failure ends this one exchange only. What the stream
   * brings comes through `run`'s `deliver`. Where it is absent, requests go through `send` like everything else.
   */
  readonly request?: (message: JsonRpc.Request) => Effect.Effect<void, TransportError>
  /** The handshake is done; from now on the transport may say so in its headers. */
  readonly onHandshake?: (profile: Profile.Profile) => void
  /** The session has come to its end for this reason, and closes the scope of the connection next. */
  readonly onSessionEnd?: (reason: CloseReason.CloseReason) => void
}

/**
 * Where a session gets its connection. The one thing a program swaps to move from memory to a child process to a socket:
 * `Layer.provide` a different transport, and nothing else changes.
 *
 * @example
 * ```ts
 * import { ClientSession, MemoryTransport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const program = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return yield* session.callTool("add", { a: 15, b: 27 })
 * })
 *
 * export const overMemory = (pair: MemoryTransport.Pair) =>
 *   program.pipe(
 *     Effect.provide(Layer.provide(ClientSession.layer({ info }), MemoryTransport.layer(pair.client)))
 *   )
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class Transport extends Context.Service<Transport, {
  /**
   * Opens the connection in the caller's scope. Transports that carry one session only fail with `InUse` the second
   * time.
   */
  readonly connect: Effect.Effect<Connection, TransportError, Scope.Scope>
}>()("@effect-mcp/session/Transport") {}

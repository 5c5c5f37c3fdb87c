/**
 * The port between a session and its transport. One interface serves transports with one stream for all messages
 * (memory, stdio, sockets, WebSocket), and transports with a stream for each request and at most one standalone
 * stream (Streamable HTTP). A transport does not depend on schemas, states or the matching of responses.
 *
 * @stability unstable
 */
import type { CloseReason, JsonRpc, Profile, RequestId, Revision } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Principal } from "./Principal.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * The inbound frame or stream that a message belongs to. A transport creates it, with any content, and recognizes it by
 * identity. The session passes it on and never reads it.
 *
 * @category models
 */
export type StreamOrigin = object

/**
 * Bytes that did not become a frame. The frames before and after them are not affected (law 7).
 *
 * - `NotJson`: the bytes are no JSON or no UTF-8. `text` is their beginning, at most 200 characters.
 * - `TooLarge`: the frame has more than `limitBytes` bytes. The transport skips it.
 * - `TooComplex`: the frame has `nodes` arrays, objects and members, more than `limitNodes`. An integer beyond 2^53
 *   counts as eight. The transport does not parse it.
 *
 * @category models
 */
export type FrameError =
  | { readonly _tag: "NotJson"; readonly text: string }
  | { readonly _tag: "TooLarge"; readonly limitBytes: number }
  | { readonly _tag: "TooComplex"; readonly nodes: number; readonly limitNodes: number }

/**
 * One inbound frame.
 *
 * @category models
 */
export interface Inbound {
  /** The parsed JSON of the frame, or the reason why there is none. */
  readonly frame: Result.Result<unknown, FrameError>
  /** The stream of the frame. Absent if the transport has one stream for everything. */
  readonly origin?: StreamOrigin
  /**
   * The number of bytes of the frame, if the transport received bytes. With it, the session counts and bounds the
   * memory of the frame.
   */
  readonly bytes?: number
  /** The authenticated sender. Absent if the sender is anonymous. */
  readonly principal?: Principal | undefined
}

/**
 * Events that only a transport can know.
 *
 * - `SendFailed`: one message could not be sent. An answer to a question of the server, or a cancellation, that the
 *   server did not acknowledge may have been sent several times before.
 * - `StreamLost`: a stream of the server ended early. `method` and `id` are those of its request, and `tool` is the
 *   tool that it calls; `undefined` for the standalone stream. The transport resumes the stream after
 *   `retryAfterMillis`, and the call waits; if that is `undefined`, the transport does not.
 * - `StreamResumed`: the stream continues after the last event that arrived. If the server rejected the last event id
 *   of the standalone stream, the stream continues with new messages.
 * - `SessionRenewed`: the server no longer knew the session, so the transport repeated the handshake. The server has
 *   lost the state of the old session, such as subscriptions and the log level. It waits for no answer any longer, so
 *   the session interrupts the handlers of the server's requests.
 * - `ToolDropped`: the server annotates an argument of this `tool` as a header in a way that is invalid, so the tool
 *   was removed from the list (SHE-26).
 * - `RevisionMismatch`: the header of a request declared another supported revision than the negotiated one. The
 *   session keeps the negotiated revision.
 *
 * @category models
 */
export type TransportEvent =
  | { readonly _tag: "SendFailed"; readonly method: string | undefined; readonly error: TransportError }
  | {
    readonly _tag: "StreamLost"
    readonly method: string | undefined
    readonly id?: RequestId.RequestId
    readonly tool?: string
    readonly cause: unknown
    readonly retryAfterMillis: number | undefined
  }
  | {
    readonly _tag: "StreamResumed"
    readonly method: string | undefined
    readonly id?: RequestId.RequestId
    readonly tool?: string
  }
  | { readonly _tag: "SessionRenewed" }
  | { readonly _tag: "ToolDropped"; readonly tool: string; readonly problem: string }
  | {
    readonly _tag: "RevisionMismatch"
    readonly negotiated: Revision.Revision
    readonly received: Revision.Revision
  }

/**
 * Functions of the session that its transport calls. They neither suspend nor throw.
 *
 * @category models
 */
export interface Hooks {
  /**
   * Ends the exchange of an origin whose stream has no reader left. The handlers of its requests are interrupted, as if
   * the requests were cancelled. In revision 2026-07-28 a client cancels a request by closing its stream, so the
   * transport calls this at once.
   */
  readonly abandon: (origin: StreamOrigin) => void
  /** Reports an event of the transport to the observers of the session. */
  readonly report: (event: TransportEvent) => void
  /** Returns whether the session knows the request that a response answers, or that a notification cancels. */
  readonly knows?: (message: JsonRpc.Response | JsonRpc.Notification) => boolean
}

/**
 * A request whose session may move to another process, which can go on with it. The stream of the request keeps its
 * events for that process.
 *
 * @category models
 */
export interface MovableRequest {
  /** The id of the session. */
  readonly session: string
  /** The number of the owner of the session. That of a later owner is higher. */
  readonly epoch: number
  /** The messages of the request that an earlier owner has sent; `undefined` for a request that begins here. */
  readonly earlier: EarlierMessages | undefined
  /**
   * Sets whether the stream of the request stays open when the session moves, for the next owner. At first it ends. The
   * first call says that a handler runs, which replies to the request itself.
   */
  readonly keep: (isKept: boolean) => void
  /** Returns whether the client can resume the stream of the request. Otherwise nothing goes on at the next owner. */
  readonly canResume: () => boolean
  /** Returns whether this process certainly has the session now. */
  readonly isOwned: () => boolean
}

/**
 * The messages of a request that an earlier owner of its session has sent.
 *
 * @category models
 */
export interface EarlierMessages {
  /** The ids of the questions. */
  readonly questions: ReadonlySet<RequestId.RequestId>
  /** The highest progress; `undefined` for none. */
  readonly progress: number | undefined
  /** The stored request, as the host has found it. */
  readonly call: unknown
  /** Called when this process waits for the answers to the questions that are open. */
  readonly adopted: () => void
}

/**
 * One outbound frame: a message, or the replies to a batch.
 *
 * @category models
 */
export interface Outbound {
  /** The frame to send. */
  readonly message: JsonRpc.Frame
  /** The origin that the message belongs to. Without one, the message takes the standalone stream. */
  readonly replyTo: StreamOrigin | undefined
  /** Whether the message is the reply to the request of `replyTo`, which no other message of this origin follows. */
  readonly last: boolean
}

/**
 * The regular end of the peer's side of a connection.
 *
 * @category models
 */
export interface End {
  /** The exit of the peer, if it is a child process of this one. */
  readonly exit: CloseReason.ProcessExit | undefined
  /**
   * Whether the peer still reads: a half-close. Handlers then finish, and their replies are sent. Otherwise handlers
   * are interrupted.
   */
  readonly writable: boolean
}

/**
 * The connection of one session. It lives in the scope in which it was opened. When that scope closes, the transport
 * releases all its resources.
 *
 * @category models
 */
export interface Connection {
  /**
   * Reads until the peer's side ends. Calls `deliver` once per frame, in order within an origin; `deliver` neither
   * suspends nor throws. The session runs this exactly once. The transport keeps frames that arrive earlier.
   */
  readonly run: (deliver: (inbound: Inbound) => void, hooks?: Hooks) => Effect.Effect<End, TransportError>
  /**
   * Sends one message. Succeeds when the transport has accepted the message, and suspends while its buffer is full
   * (back-pressure). Fails at once with `NoRoute` if no stream can carry the message. `PeerEnded` and `WriteFailed` end
   * the session; other failures affect only this message.
   *
   * The session sends one message at a time, so that order is kept; with `endExchange`, one message at a time for each
   * origin. It runs each effect once, directly after the call. An effect that is an `Exit` needs no fiber.
   */
  readonly send: (outbound: Outbound) => Effect.Effect<void, TransportError>
  /**
   * Closes the stream of this origin, or the standalone stream, because it took no bytes for `limits.writeTimeout`.
   * Next the session interrupts the sending of its message. An open stream would continue after a missing message.
   * Called only if the connection has `endExchange`; with one stream for everything, the session ends instead.
   */
  readonly stalled?: (origin: StreamOrigin | undefined) => void
  /**
   * Closes the stream of this origin, because its exchange ended without a reply. `rejected` means that its frame was
   * rejected, and that the session has sent all the errors that it can in this second (`maxMalformedRepliesPerSecond`).
   * A transport that replies to each frame then replies itself. Absent if the connection has one stream for everything.
   */
  readonly endExchange?: (origin: StreamOrigin, rejected?: boolean) => void
  /**
   * Closes the HTTP response of this origin, and keeps the exchange running; the peer reconnects for later messages.
   * Returns `false`, and changes nothing, if that is not possible. Absent if no stream can be resumed.
   */
  readonly detachStream?: (origin: StreamOrigin) => Effect.Effect<boolean>
  /**
   * Returns the request of this origin, if its session may move to another process; `undefined` otherwise. Absent if
   * sessions never move.
   */
  readonly movable?: (origin: StreamOrigin) => MovableRequest | undefined
  /**
   * Sends one request in a stream of its own. Runs until that stream has ended; interrupting it closes the stream. Its
   * failure ends only this exchange. The messages of the stream are delivered by `run`. Absent if the connection has
   * one stream for everything; then `send` sends requests.
   */
  readonly request?: (message: JsonRpc.Request) => Effect.Effect<void, TransportError>
  /**
   * Whether the transport exists only in revisions with a handshake, so that the client need not ask the server whether
   * it serves others. Default: no.
   */
  readonly handshakeOnly?: boolean
  /**
   * The longest time in milliseconds for which handlers go on after a half-close, if it is shorter than
   * `Limits.gracefulTimeout`. For a transport whose peer ends this process soon after it.
   */
  readonly halfCloseMillis?: number
  /**
   * Completes when a peer that this transport starts has written its first byte, to standard output or error. Until
   * then the peer may not have started, so its silence says nothing about it. Absent if the peer runs already.
   */
  readonly started?: Effect.Effect<void>
  /**
   * Returns a JSON value of the peer without the secrets that this side sends. A text remains a text. A client uses it
   * for the errors of its handshake, because a transport changes neither results nor the `data` of error responses.
   * Absent if the transport hides none.
   */
  readonly hideSecrets?: (value: unknown) => unknown
  /**
   * Whether the transport authenticates the senders of messages. A message without a principal is then from an
   * anonymous sender, which lacks every scope. Default: no, and a sender without a principal lacks none.
   */
  readonly authenticates?: boolean
  /**
   * Whether the program has an authorization for the server, so that sending may fail as `AuthorizationRequired`. A
   * call then waits for the person within its deadline. Default: no, and a call that fails so ends with that error.
   */
  readonly hasAuthorization?: boolean
  /** Called after the handshake. From then on the transport can use the profile, for example in its headers. */
  readonly onHandshake?: (profile: Profile.Profile) => void
  /** Called when the session begins to end, with the reason. Its requests may still have time to finish. */
  readonly onSessionEnding?: (reason: CloseReason.CloseReason) => void
  /** Called when the session ends, with the reason. Next the session closes the scope of the connection. */
  readonly onSessionEnd?: (reason: CloseReason.CloseReason) => void
}

/**
 * The transport of a session. A program changes its transport by providing another Layer: memory, a child process or a
 * socket. `TransportSuite` of `@effect-mcp/testing/vitest` tests an implementation.
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
 */
export class Transport extends Context.Service<Transport, {
  /**
   * Opens the connection in the scope of the caller. A transport that carries one session fails with `InUse` when it is
   * connected again.
   */
  readonly connect: Effect.Effect<Connection, TransportError, Scope.Scope>
}>()("@effect-mcp/session/Transport") {}

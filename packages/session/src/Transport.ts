/**
 * The port between a session and its transport. One interface serves memory, stdio and WebSocket, which have one stream
 * for everything, and Streamable HTTP, which has a stream per request and at most one standalone stream. A transport
 * knows nothing of schemas, states or matching.
 */
import type { CloseReason, JsonRpc, Profile, Revision } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Principal } from "./Principal.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * The inbound frame, or stream, that a message belongs to. A transport makes it with any content, and recognizes it by
 * identity. The session passes it on and never reads it.
 *
 * @category models
 */
export type StreamOrigin = object

/**
 * Bytes that did not become a frame. The frames before and after them are not affected (law 7).
 *
 * - `NotJson`: the bytes are no JSON, or no UTF-8. `text` is their beginning, at most 200 characters.
 * - `TooLarge`: the frame has more than `limitBytes`. It is skipped to its end.
 * - `TooComplex`: the frame has `nodes` arrays, objects and members, more than `limitNodes`. It is not parsed.
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
  readonly frame: Result.Result<unknown, FrameError>
  /** The stream of the frame. Absent if the transport has one stream for everything. */
  readonly origin?: StreamOrigin
  /**
   * The number of bytes of the frame on the wire, if it came in bytes. With it, the memory of the frame is counted and
   * bounded.
   */
  readonly bytes?: number
  /** The authenticated sender. */
  readonly principal?: Principal | undefined
}

/**
 * Events that only a transport can know.
 *
 * - `StreamLost`: a stream from the server broke off. `method` is that of its request, or `undefined` for the
 *   standalone stream. The transport resumes it after `retryAfterMillis`, and not at all if that is `undefined`.
 * - `StreamResumed`: the stream goes on after the last event that arrived. If the server refused to resume the
 *   standalone stream there, it goes on from now.
 * - `SessionRenewed`: the server no longer knew the session, so the transport did a new handshake. The server has lost
 *   the state of the old session, such as subscriptions and the log level.
 * - `RevisionMismatch`: the header of a request declared another supported revision than the negotiated one. The
 *   session keeps the negotiated revision.
 *
 * @category models
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
  | { readonly _tag: "RevisionMismatch"; readonly negotiated: Revision.Revision; readonly received: Revision.Revision }

/**
 * The calls of a transport to its session beside frames. Neither suspends or throws.
 *
 * @category models
 */
export interface Hooks {
  /**
   * Ends an origin whose stream has no reader left: the handlers of its requests are interrupted, as if the requests
   * had been cancelled, and its exchange ends.
   */
  readonly abandon: (origin: StreamOrigin) => void
  /** Reports an event to the observers of the session. */
  readonly report: (event: TransportEvent) => void
}

/**
 * One outbound frame: a message, or the replies to a batch.
 *
 * @category models
 */
export interface Outbound {
  readonly message: JsonRpc.Frame
  /** The inbound frame that the message belongs to. Without one it takes the standalone stream. */
  readonly replyTo: StreamOrigin | undefined
  /** The message is the reply to the request of `replyTo`, after which no other message belongs to it. */
  readonly last: boolean
}

/**
 * The orderly end of the peer's side of a connection.
 *
 * @category models
 */
export interface End {
  /** The exit of the peer, if it is a child process of this one. */
  readonly exit: CloseReason.ProcessExit | undefined
  /**
   * Only the peer's sending has ended, and it still reads: a half-close. Handlers then finish and their replies are
   * sent. Otherwise no reader is left, and handlers are interrupted.
   */
  readonly writable: boolean
}

/**
 * A connection in use by one session. It lives in the scope that it was connected in. When that scope closes, the
 * transport closes in its own steps and leaves nothing open.
 *
 * @category models
 */
export interface Connection {
  /**
   * Reads until the peer's side ends. Calls `deliver` once per frame, in order within an origin; `deliver` never
   * suspends and never throws. The session runs it exactly once. Frames that arrive earlier are kept for it.
   */
  readonly run: (deliver: (inbound: Inbound) => void, hooks?: Hooks) => Effect.Effect<End, TransportError>
  /**
   * Sends one message. It succeeds once the transport has taken the message, and suspends while the buffer of the
   * transport is full. It fails at once with `NoRoute` if no stream may carry the message. The session sends one
   * message at a time, so that order is kept. A connection with `endExchange` has many streams, and there it is one
   * message at a time for each origin. The session runs each effect once, right after it was made. An effect that is an
   * `Exit` costs no fiber. `PeerEnded` and `WriteFailed` end the session; other failures concern this message only.
   */
  readonly send: (outbound: Outbound) => Effect.Effect<void, TransportError>
  /**
   * Breaks off the stream of this origin, or the standalone stream: it took no bytes for the write timeout, and its
   * message is interrupted next. Otherwise the rest of the stream would follow a message that is missing. Called only
   * if there is a stream for each origin; with one stream for everything the session ends.
   */
  readonly stalled?: (origin: StreamOrigin | undefined) => void
  /**
   * Closes the stream of this origin, because its exchange ended without a reply. `rejected`: its frame was rejected,
   * and the session has sent all errors that it may in this second (`maxMalformedRepliesPerSecond`). A transport that
   * answers each frame answers it itself. Absent if there is one stream.
   */
  readonly endExchange?: (origin: StreamOrigin, rejected?: boolean) => void
  /**
   * Closes the HTTP response, or its like, of this origin and keeps the exchange running; the peer reconnects for later
   * messages. Returns `false` if that is impossible, and then nothing has changed. Absent if no stream can be resumed.
   */
  readonly detachStream?: (origin: StreamOrigin) => Effect.Effect<boolean>
  /**
   * Sends one request in a stream of its own, for transports that open a stream per request. It runs until that stream
   * has ended, and interrupting it closes the stream. Its failure ends this one exchange only. The messages of the
   * stream come through `deliver` of `run`. If it is absent, requests go through `send`.
   */
  readonly request?: (message: JsonRpc.Request) => Effect.Effect<void, TransportError>
  /** Called when the handshake is done. From now on the transport may use the profile, for example in its headers. */
  readonly onHandshake?: (profile: Profile.Profile) => void
  /** Called when the session ends for this reason. Next it closes the scope of the connection. */
  readonly onSessionEnd?: (reason: CloseReason.CloseReason) => void
}

/**
 * The source of a session's connection. A program moves from memory to a child process to a socket by `Layer.provide`
 * with another transport, and nothing else changes.
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
   * Opens the connection in the scope of the caller. A transport for one session fails with `InUse` the second time.
   */
  readonly connect: Effect.Effect<Connection, TransportError, Scope.Scope>
}>()("@effect-mcp/session/Transport") {}

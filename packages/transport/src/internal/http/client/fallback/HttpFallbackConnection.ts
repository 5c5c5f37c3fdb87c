/** The connection of a client that detects whether its server supports Streamable HTTP or HTTP+SSE (SSE-07, SSE-08). */
import { type JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import type { Connection, End, Inbound, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { responsesIn } from "../responseIn.ts"

type Port = Transport["Service"]
type Work = Effect.Effect<void, TransportError.TransportError>
type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** The statuses that do not mean that the server supports no POST: of authorization, size, frequency or time. */
const unrelatedStatuses: ReadonlySet<number> = new Set([
  401,
  402,
  403,
  407,
  408,
  409,
  413,
  421,
  423,
  425,
  429,
  431,
  451
])

/** The status for a method that a server does not support, which some send for a POST to the path of a stream. */
const notImplemented = 501

/** Returns whether the error may mean that the server does not support Streamable HTTP (SSE-07). */
const mayLackStreamable = ({ reason }: TransportError.TransportError): boolean =>
  reason._tag === "Rejected" && !unrelatedStatuses.has(reason.status) &&
  ((reason.status >= 400 && reason.status < 500) || reason.status === notImplemented)

/** Returns whether the server does not accept the client, or not yet. */
const isOfAuthorization = ({ reason }: TransportError.TransportError): boolean =>
  reason._tag === "Unauthenticated" || reason._tag === "AuthorizationRequired" || reason._tag === "AuthorizationFailed"

/** The error of a request without a handshake to a server of HTTP+SSE. */
const withoutHandshake = TransportError.make({
  _tag: "Rejected",
  status: 405,
  problem: "the server supports HTTP+SSE only, which needs a handshake",
  retryAfterMillis: undefined
})

type Detected = "Streamable" | "HttpSse"

const peerEnded = Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))

/** The error of a request that was sent before the end: the server may have carried it out. */
const exchangeEnded = Exit.fail(TransportError.make({ _tag: "ExchangeEnded" }))

/** The transport that a server supports. The first message of any connection detects it, for all connections. */
class Detection {
  #detected: Detected | undefined
  #detection: Deferred.Deferred<void> | undefined

  /** The detected transport. */
  get detected(): Detected | undefined {
    return this.#detected
  }

  /** Waits for the detection in progress, if there is one. */
  get detection(): Effect.Effect<void> | undefined {
    return this.#detection === undefined ? undefined : Deferred.await(this.#detection)
  }

  /** Starts a detection. Returns a function that ends it, with or without a result. */
  begin(): () => void {
    const detection = Deferred.makeUnsafe<void>()
    this.#detection = detection
    return () => {
      if (this.#detection === detection) this.#detection = undefined
      Deferred.doneUnsafe(detection, Exit.void)
    }
  }

  /** Stores the detected transport. */
  set(detected: Detected): void {
    this.#detected ??= detected
    if (this.#detection !== undefined) Deferred.doneUnsafe(this.#detection, Exit.void)
  }
}

/** The requests that wait for their responses on a connection with one stream. */
class PendingResponses {
  readonly #responses = new Map<unknown, Deferred.Deferred<void, TransportError.TransportError>>()
  #ended = false

  /** Completes the requests whose responses are in a frame. */
  receive({ frame }: Inbound): void {
    if (Result.isFailure(frame)) return
    for (const { id } of responsesIn(frame.success)) {
      const response = this.#responses.get(id)
      if (response !== undefined) Deferred.doneUnsafe(response, Exit.void)
    }
  }

  /** Fails all requests: the connection has ended. */
  end(): void {
    this.#ended = true
    for (const response of this.#responses.values()) Deferred.doneUnsafe(response, exchangeEnded)
  }

  /** Sends a request, and waits for its response. */
  request(connection: Connection, message: JsonRpc.Request): Work {
    return Effect.suspend(() => {
      const response = Deferred.makeUnsafe<void, TransportError.TransportError>()
      if (this.#ended) return peerEnded
      this.#responses.set(message.id, response)
      return Effect.ensuring(
        Effect.andThen(connection.send({ message, replyTo: undefined, last: false }), Deferred.await(response)),
        Effect.sync(() => {
          if (this.#responses.get(message.id) === response) this.#responses.delete(message.id)
        })
      )
    })
  }
}

/**
 * Opens a connection before the transport is detected. It sends its first message over Streamable HTTP, and again over
 * HTTP+SSE if the server seems not to support that (SSE-07). Other connections wait for the result.
 */
const open = Effect.fnUntraced(function*(
  detection: Detection,
  streamablePort: Port,
  httpSsePort: Port
): Effect.fn.Return<Connection, TransportError.TransportError, Scope.Scope> {
  const scope = yield* Effect.scope
  const streamableScope = yield* Scope.fork(scope)
  const streamable = yield* Scope.provide(streamablePort.connect, streamableScope)
  const opened = Deferred.makeUnsafe<Connection>()
  const opening = Semaphore.makeUnsafe(1)
  const pending = new PendingResponses()
  let httpSse: Connection | undefined
  let isStreamable = false
  let isDetecting = false

  const chooseStreamable = () => {
    if (isStreamable || httpSse !== undefined) return
    isStreamable = true
    detection.set("Streamable")
  }

  const openHttpSse = opening.withPermits(1)(
    Effect.uninterruptibleMask((restore): Effect.Effect<Connection, TransportError.TransportError> => {
      if (httpSse !== undefined) return Effect.succeed(httpSse)
      const httpSseScope = Scope.forkUnsafe(scope)
      return restore(Scope.provide(httpSsePort.connect, httpSseScope)).pipe(
        Effect.onError((cause) => Scope.close(httpSseScope, Exit.failCause(cause))),
        Effect.tap((connection) => {
          httpSse = connection
          detection.set("HttpSse")
          Deferred.doneUnsafe(opened, Exit.succeed(connection))
          return Scope.close(streamableScope, Exit.void)
        })
      )
    })
  )

  const tryBoth = (act: (connection: Connection) => Work, restore: Restore): Work => {
    const end = isDetecting ? undefined : detection.begin()
    isDetecting = true
    return restore(act(streamable)).pipe(
      Effect.tap(() => Effect.sync(chooseStreamable)),
      Effect.catchIf(
        (error) => mayLackStreamable(error) && !isStreamable,
        (first) =>
          Effect.flatMap(
            Effect.mapError(restore(openHttpSse), (error) => isOfAuthorization(error) ? error : first),
            (connection) => restore(act(connection))
          )
      ),
      Effect.ensuring(Effect.sync(() => {
        if (end === undefined) return
        isDetecting = false
        end()
      }))
    )
  }

  const pass = (act: (connection: Connection) => Work): Work =>
    // The check and the start of the detection are one step, so that only one connection starts it.
    Effect.uninterruptibleMask((restore): Work => {
      if (httpSse !== undefined) return restore(act(httpSse))
      const { detected, detection: inProgress } = detection
      if (isStreamable || detected === "Streamable") return restore(act(streamable))
      if (detected === "HttpSse") return restore(Effect.flatMap(openHttpSse, act))
      // A second message of the connection that detects does not wait for the first, and is tried over both, too.
      return inProgress === undefined || isDetecting
        ? tryBoth(act, restore)
        : restore(Effect.andThen(inProgress, pass(act)))
    })

  /**
   * Sends a request without a handshake. The older transport has none, so only a rejection of `initialize`, which
   * follows, detects it. It does not follow after an error of a revision without a handshake (SSE-08).
   */
  const requestModern = (message: JsonRpc.Request): Work =>
    Effect.suspend(() => {
      if (httpSse !== undefined || detection.detected === "HttpSse") return Effect.fail(withoutHandshake)
      return Effect.tap(
        streamable.request?.(message) ?? Effect.fail(withoutHandshake),
        () => Effect.sync(chooseStreamable)
      )
    })

  const request = (message: JsonRpc.Request): Work =>
    RequestMetadata.isIn(message.params?.["_meta"])
      ? requestModern(message)
      : pass((connection) => connection.request?.(message) ?? pending.request(connection, message))

  const receive = (deliver: (inbound: Inbound) => void) => (inbound: Inbound): void => {
    deliver(inbound)
    pending.receive(inbound)
  }

  return {
    run: (deliver, hooks) => {
      const receiveFirst = (inbound: Inbound) => {
        chooseStreamable()
        deliver(inbound)
      }
      const first = Effect.suspend((): Effect.Effect<Connection | End, TransportError.TransportError> =>
        httpSse === undefined
          ? Effect.raceFirst(streamable.run(receiveFirst, hooks), Deferred.await(opened))
          : Effect.succeed(httpSse)
      )
      return Effect.flatMap(first, (connectionOrEnd) =>
        "run" in connectionOrEnd
          ? Effect.ensuring(connectionOrEnd.run(receive(deliver), hooks), Effect.sync(() => pending.end()))
          : Effect.succeed(connectionOrEnd))
    },
    send: (outbound) => pass((connection) => connection.send(outbound)),
    request,
    hasAuthorization: streamable.hasAuthorization === true,
    onHandshake: (profile) => (httpSse ?? streamable).onHandshake?.(profile),
    onSessionEnd: (reason) => (httpSse ?? streamable).onSessionEnd?.(reason),
    hideSecrets: (value) => {
      const { hideSecrets } = httpSse ?? streamable
      return hideSecrets === undefined ? value : hideSecrets(value)
    }
  }
})

/** Creates the transport: Streamable HTTP, or HTTP+SSE if the server does not support that. */
export const make = (streamable: Port, httpSse: Port): Port => {
  const detection = new Detection()
  return {
    connect: Effect.suspend(() => {
      switch (detection.detected) {
        case "Streamable":
          return streamable.connect
        case "HttpSse":
          return httpSse.connect
        case undefined:
          return open(detection, streamable, httpSse)
      }
    })
  }
}

/**
 * Joins two transports: forwards every message between a client and a server unchanged, also messages that this library
 * does not know. `proxy.ts` uses it.
 *
 * This is no session, so it checks no methods, capabilities or schemas. It records only the requests in flight, because
 * it answers them if the connection to the server is lost.
 */
import { ErrorCode, JsonRpc, McpError, Revision } from "@effect-mcp/protocol"
import { type Transport, TransportError } from "@effect-mcp/session"
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/** The greatest number of requests in flight. */
const maxRequests = 1024

/** The bytes that may wait in each direction. The read loop of a transport cannot wait, and it reads large chunks. */
const maxWaitingBytes = 64 * 1024 * 1024

/** The approximate cost of a message besides its own bytes. */
const messageBytes = 256

/**
 * The delay of a cancellation whose request has its own stream. A cancellation that overtakes its request would be
 * ignored. The stream of the request closes after the cancellation is sent.
 */
const cancellationDelay = "500 millis"
const closeStreamDelay = "1 second"

/** The time to send the remaining messages after one side has ended. */
const finishTimeout = "10 seconds"

/** A request in flight. */
interface InFlight {
  /** The frame of the client that contains the request. */
  readonly origin: Transport.StreamOrigin | undefined
  readonly method: string
  /** The fiber that carries the request, if the request has its own stream. */
  carrier: Fiber.Fiber<void> | undefined
}

const failure = (id: JsonRpc.Request["id"] | null, code: number, message: string): JsonRpc.Failure =>
  JsonRpc.failure(id, new McpError.McpError({ code, message }))

/** The members of the response to `initialize` that transports need. Over HTTP, later messages carry the revision. */
const InitializeResult = Schema.Struct({
  protocolVersion: Schema.Literals(Revision.legacy),
  serverInfo: Schema.Struct({ name: Schema.String, version: Schema.String })
})
const decodeInitializeResult = Schema.decodeUnknownOption(InitializeResult)

const Cancelled = Schema.Struct({ requestId: Schema.Union([Schema.String, Schema.Finite]) })
const decodeCancelled = Schema.decodeUnknownOption(Cancelled)

/** Creates the queue of one direction, and handles its messages in order. */
const makeDirection = Effect.fnUntraced(function*<A>(handle: (message: A) => Effect.Effect<void, never, Scope.Scope>) {
  const messages = yield* Queue.unbounded<readonly [message: A, bytes: number], Cause.Done>()
  let waitingBytes = 0
  const loop = yield* Queue.take(messages).pipe(
    Effect.flatMap(([message, bytes]) => {
      waitingBytes -= bytes
      return handle(message)
    }),
    Effect.forever,
    Effect.ignore,
    Effect.forkScoped
  )
  return {
    /** Adds a message. Returns false if the queue is full. */
    offer: (message: A, bytes: number): boolean => {
      const cost = bytes + messageBytes
      if (waitingBytes + cost > maxWaitingBytes) return false
      waitingBytes += cost
      Queue.offerUnsafe(messages, [message, cost])
      return true
    },
    /** Accepts no more messages, and waits until all are handled. */
    finish: Effect.andThen(Queue.end(messages), Fiber.await(loop))
  }
})

/**
 * Forwards all messages between a client and a server until one of them ends. A client that has stopped sending still
 * receives the responses to its requests. Fails with the error of a connection that breaks.
 */
export const join = Effect.fnUntraced(function*(
  client: Transport.Connection,
  server: Transport.Connection,
  log: (problem: string) => void
): Effect.fn.Return<void, TransportError.TransportError, Scope.Scope> {
  const inFlight = new Map<JsonRpc.Request["id"], InFlight>()
  const clientLost = yield* Deferred.make<never, TransportError.TransportError>()
  const serverLost = yield* Deferred.make<never, TransportError.TransportError>()
  let onAllAnswered: (() => void) | undefined
  let onInitialized: (() => void) | undefined

  const onSendError = (lost: typeof serverLost) => (error: TransportError.TransportError): Effect.Effect<void> =>
    error.reason._tag === "WriteFailed" || error.reason._tag === "PeerEnded"
      ? Effect.asVoid(Deferred.fail(lost, error))
      : Effect.sync(() => log(error.message))

  // ===================================================================================================================
  // To the client
  // ===================================================================================================================

  const toClient = yield* makeDirection((outbound: Transport.Outbound) =>
    Effect.catch(client.send(outbound), onSendError(clientLost))
  )

  const sendToClient = (outbound: Transport.Outbound, bytes = 0): void => {
    if (toClient.offer(outbound, bytes)) return
    const error = TransportError.make({ _tag: "WriteFailed", cause: "the client does not read its messages" })
    Deferred.doneUnsafe(clientLost, Exit.fail(error))
  }

  const forwardResponse = (response: JsonRpc.Response, bytes = 0): void => {
    const { id } = response
    const request = id === undefined || id === null ? undefined : inFlight.get(id)
    // An error response may have no id.
    if (request === undefined) return sendToClient({ message: response, replyTo: undefined, last: false }, bytes)
    if (id !== undefined && id !== null) inFlight.delete(id)
    if (request.method === "initialize" && "result" in response) {
      const result = Option.getOrUndefined(decodeInitializeResult(response.result))
      if (result !== undefined) {
        const { protocolVersion: revision, serverInfo: info } = result
        server.onHandshake?.({ revision, info, capabilities: {}, instructions: undefined })
        client.onHandshake?.({ revision, info: undefined, capabilities: {} })
      }
    }
    sendToClient({ message: response, replyTo: request.origin, last: true }, bytes)
    if (request.method === "initialize") onInitialized?.()
    if (inFlight.size === 0) onAllAnswered?.()
  }

  const fromServer = ({ bytes = 0, frame }: Transport.Inbound): void => {
    if (Result.isFailure(frame)) return log(`the server sent a malformed frame: ${frame.failure._tag}`)
    const messages = JsonRpc.messages(frame.success)
    for (const message of messages) {
      const share = bytes / messages.length
      if (!("method" in message)) forwardResponse(message, share)
      // The stream that the message belongs to is unknown here. A client over stdio has only one.
      else sendToClient({ message, replyTo: undefined, last: false }, share)
    }
  }

  // ===================================================================================================================
  // To the server
  // ===================================================================================================================

  /** Answers a request that the server can no longer answer. */
  const answerUnsent = (id: JsonRpc.Request["id"]) => (error: TransportError.TransportError): Effect.Effect<void> =>
    Effect.sync(() => {
      if (inFlight.has(id)) forwardResponse(failure(id, ErrorCode.InternalError, error.message))
    })

  const handle = Effect.fnUntraced(function*(message: JsonRpc.Message) {
    if (JsonRpc.isRequest(message)) {
      const { id } = message
      if (server.request === undefined) {
        return yield* Effect.catch(server.send({ message, replyTo: undefined, last: false }), answerUnsent(id))
      }
      const exchange = Effect.catch(server.request(message), answerUnsent(id))
      const carrier = yield* Effect.forkScoped(exchange, { startImmediately: true })
      const request = inFlight.get(id)
      if (request !== undefined) request.carrier = carrier
      if (message.method === "initialize") yield* awaitInitialized(id)
      return
    }
    const carrier = "method" in message && message.method === "notifications/cancelled"
      ? cancel(message.params)
      : undefined
    const send = Effect.catch(server.send({ message, replyTo: undefined, last: false }), onSendError(serverLost))
    if (carrier === undefined) return yield* send
    yield* Effect.forkScoped(
      Effect.andThen(Effect.delay(send, cancellationDelay), Effect.delay(Fiber.interrupt(carrier), closeStreamDelay))
    )
  })

  /** Waits for the response to `initialize`: over HTTP it has the session id that later messages need. */
  const awaitInitialized = (id: JsonRpc.Request["id"]): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      if (!inFlight.has(id)) return resume(Effect.void)
      onInitialized = () => resume(Effect.void)
    })

  /** Removes a cancelled request. Returns the fiber of its stream, which some servers keep open. */
  const cancel = (params: unknown): Fiber.Fiber<void> | undefined => {
    const id = Option.getOrUndefined(decodeCancelled(params))?.requestId
    const request = id === undefined ? undefined : inFlight.get(id)
    if (id === undefined || request === undefined) return undefined
    inFlight.delete(id)
    if (request.origin !== undefined) client.endExchange?.(request.origin)
    if (inFlight.size === 0) onAllAnswered?.()
    return request.carrier
  }

  const toServer = yield* makeDirection(handle)

  const sendToServer = (message: JsonRpc.Message, bytes: number): void => {
    if (toServer.offer(message, bytes)) return
    const error = TransportError.make({ _tag: "WriteFailed", cause: "the server does not read its messages" })
    Deferred.doneUnsafe(serverLost, Exit.fail(error))
  }

  const fromClient = ({ bytes = 0, frame, origin }: Transport.Inbound): void => {
    const reject = (id: JsonRpc.Request["id"] | null, code: number, problem: string) =>
      sendToClient({ message: failure(id, code, problem), replyTo: origin, last: true })
    const forwardRequest = (message: JsonRpc.Request, bytes: number): void => {
      const { id, method } = message
      if (inFlight.has(id)) return reject(id, ErrorCode.InvalidRequest, "a request with this id is in flight")
      if (inFlight.size >= maxRequests) {
        return reject(id, ErrorCode.Overloaded, `${maxRequests} requests are in flight, the limit; try again later`)
      }
      inFlight.set(id, { origin, method, carrier: undefined })
      sendToServer(message, bytes)
    }
    const receive = (frame: unknown, bytes: number): void => {
      const classified = JsonRpc.classify(frame)
      switch (classified._tag) {
        case "Batch":
          return classified.frames.forEach((inner) =>
            Array.isArray(inner) ? undefined : receive(inner, bytes / classified.frames.length)
          )
        case "Request":
          return forwardRequest(classified.message, bytes)
        case "Malformed": {
          const { answerable, id, problem } = classified.malformed
          return answerable ? reject(id ?? null, ErrorCode.InvalidRequest, problem) : log(problem)
        }
        default:
          return sendToServer(classified.message, bytes)
      }
    }
    if (Result.isSuccess(frame)) return receive(frame.success, bytes)
    const { failure: error } = frame
    const problem = error._tag === "TooLarge"
      ? `Message too large: the limit is ${error.limitBytes} bytes`
      : "Parse error"
    reject(null, ErrorCode.ParseError, problem)
  }

  const allAnswered = Effect.callback<void>((resume) => {
    if (inFlight.size === 0) return resume(Effect.void)
    onAllAnswered = () => resume(Effect.void)
  })

  // ===================================================================================================================
  // Shutdown
  // ===================================================================================================================

  /** Sends the remaining messages of the client, and waits for the responses to its requests. */
  const onClientEnd = Effect.gen(function*() {
    yield* toServer.finish
    yield* allAnswered
    yield* toClient.finish
  })
  const readClient = Effect.flatMap(
    client.run(fromClient),
    ({ writable }) => writable ? Effect.asVoid(Effect.timeoutOption(onClientEnd, finishTimeout)) : Effect.void
  )

  /** Answers each request in flight with an error, and sends the remaining messages of the server. */
  const onServerEnd = Effect.suspend(() => {
    for (const id of inFlight.keys()) {
      forwardResponse(failure(id, ErrorCode.InternalError, "the connection to the server has ended"))
    }
    return toClient.finish
  })
  const readServer = Effect.raceFirst(server.run(fromServer), Deferred.await(serverLost)).pipe(
    Effect.exit,
    Effect.tap(() => Effect.timeoutOption(onServerEnd, finishTimeout)),
    Effect.flatMap((exit) => Effect.asVoid(exit))
  )
  yield* Effect.raceFirst(Effect.raceFirst(readClient, readServer), Deferred.await(clientLost))
})

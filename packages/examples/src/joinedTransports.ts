/**
 * Two transports joined: messages of either end are sent to the other end unchanged, also those that this library does
 * not know. It is no session, so it checks no methods, capabilities or schemas. It keeps only the requests in flight,
 * because it has to answer a request whose connection is lost.
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

/** The most requests in flight. */
const limit = 1024

/** The most bytes that wait in each direction. The reader of a transport cannot wait, and it reads large chunks. */
const waitingBytes = 64 * 1024 * 1024

/** The approximate cost of a message besides its own bytes. */
const messageBytes = 256

/**
 * The time that a request with its own stream may take to arrive. Its cancellation waits that long: sent earlier, it
 * could arrive first and be ignored. The stream of the request is kept open until then.
 */
const overtakenWithin = "500 millis"
const letGoAfter = "1 second"

/** The time to send the remaining messages after one end has closed. */
const finishWithin = "10 seconds"

/** The requests in flight. */
interface Asked {
  /** The frame of the client that contains the request. */
  readonly origin: Transport.StreamOrigin | undefined
  readonly method: string
  /** The fiber that carries the request, if each request has its own stream. */
  carrier: Fiber.Fiber<void> | undefined
}

const failure = (id: JsonRpc.Request["id"] | null, code: number, message: string): JsonRpc.Failure =>
  JsonRpc.failure(id, new McpError.McpError({ code, message }))

/** The profile in the response to `initialize`. Over HTTP, later messages carry its revision. */
const Agreed = Schema.Struct({
  protocolVersion: Schema.Literals(Revision.supported),
  serverInfo: Schema.Struct({ name: Schema.String, version: Schema.String })
})
const agreedIn = Schema.decodeUnknownOption(Agreed)

const Cancelled = Schema.Struct({ requestId: Schema.Union([Schema.String, Schema.Finite]) })
const cancelledIn = Schema.decodeUnknownOption(Cancelled)

/** One direction: handles each message, in order. */
const direction = Effect.fnUntraced(function*<A>(act: (message: A) => Effect.Effect<void, never, Scope.Scope>) {
  const messages = yield* Queue.unbounded<readonly [message: A, bytes: number], Cause.Done>()
  let waiting = 0
  const passing = yield* Queue.take(messages).pipe(
    Effect.flatMap(([message, bytes]) => {
      waiting -= bytes
      return act(message)
    }),
    Effect.forever,
    Effect.ignore,
    Effect.forkScoped
  )
  return {
    /** Returns whether there is room for a message. */
    offer: (message: A, bytes: number): boolean => {
      const all = bytes + messageBytes
      if (waiting + all > waitingBytes) return false
      waiting += all
      Queue.offerUnsafe(messages, [message, all])
      return true
    },
    /** Accepts no more messages, and waits until all are sent. */
    finish: Effect.andThen(Queue.end(messages), Fiber.await(passing))
  }
})

/**
 * Forwards all messages between a client, at the front, and a server, at the back, until one of them ends. A client
 * that has stopped sending still gets its responses. Fails with the error of a broken connection.
 */
export const join = Effect.fnUntraced(function*(
  front: Transport.Connection,
  back: Transport.Connection,
  log: (problem: string) => void
): Effect.fn.Return<void, TransportError.TransportError, Scope.Scope> {
  const under = new Map<JsonRpc.Request["id"], Asked>()
  /** The error of a connection that breaks. */
  const clientLost = yield* Deferred.make<never, TransportError.TransportError>()
  const serverLost = yield* Deferred.make<never, TransportError.TransportError>()
  let answered: (() => void) | undefined
  let opened: (() => void) | undefined

  const unsent = (lost: typeof serverLost) => (error: TransportError.TransportError): Effect.Effect<void> =>
    error.reason._tag === "WriteFailed" || error.reason._tag === "PeerEnded"
      ? Effect.asVoid(Deferred.fail(lost, error))
      : Effect.sync(() => log(error.message))

  // ===================================================================================================================
  // To the client
  // ===================================================================================================================

  const toClient = yield* direction((outbound: Transport.Outbound) =>
    Effect.catch(front.send(outbound), unsent(clientLost))
  )

  const say = (outbound: Transport.Outbound, bytes = 0): void => {
    if (toClient.offer(outbound, bytes)) return
    const error = TransportError.make({ _tag: "WriteFailed", cause: "the client takes nothing" })
    Deferred.doneUnsafe(clientLost, Exit.fail(error))
  }

  const answer = (response: JsonRpc.Response, bytes = 0): void => {
    const { id } = response
    const asked = id === undefined || id === null ? undefined : under.get(id)
    // An error response may have no id.
    if (asked === undefined) return say({ message: response, replyTo: undefined, last: false }, bytes)
    if (id !== undefined && id !== null) under.delete(id)
    if (asked.method === "initialize" && "result" in response) {
      const agreed = Option.getOrUndefined(agreedIn(response.result))
      if (agreed !== undefined) {
        const { protocolVersion: revision, serverInfo: info } = agreed
        back.onHandshake?.({ revision, info, capabilities: {}, instructions: undefined })
        front.onHandshake?.({ revision, info: undefined, capabilities: {} })
      }
    }
    say({ message: response, replyTo: asked.origin, last: true }, bytes)
    if (asked.method === "initialize") opened?.()
    if (under.size === 0) answered?.()
  }

  const fromServer = ({ bytes = 0, frame }: Transport.Inbound): void => {
    if (Result.isFailure(frame)) return log(`the server said what is no message: ${frame.failure._tag}`)
    const messages = JsonRpc.messages(frame.success)
    for (const message of messages) {
      const each = bytes / messages.length
      if (!("method" in message)) answer(message, each)
      // The stream of the message is not known here; a client over stdio has only one.
      else say({ message, replyTo: undefined, last: false }, each)
    }
  }

  // ===================================================================================================================
  // To the server
  // ===================================================================================================================

  /** Answers a request that the server will not answer any more. */
  const unanswerable = (id: JsonRpc.Request["id"]) => (error: TransportError.TransportError): Effect.Effect<void> =>
    Effect.sync(() => {
      if (under.has(id)) answer(failure(id, ErrorCode.InternalError, error.message))
    })

  const pass = Effect.fnUntraced(function*(message: JsonRpc.Message) {
    if (JsonRpc.isRequest(message)) {
      const { id } = message
      if (back.request === undefined) {
        return yield* Effect.catch(back.send({ message, replyTo: undefined, last: false }), unanswerable(id))
      }
      const carried = Effect.catch(back.request(message), unanswerable(id))
      const carrier = yield* Effect.forkScoped(carried, { startImmediately: true })
      const asked = under.get(id)
      if (asked !== undefined) asked.carrier = carrier
      if (message.method === "initialize") yield* answeredTo(id)
      return
    }
    const cancelled = "method" in message && message.method === "notifications/cancelled"
      ? forget(message.params)
      : undefined
    const sent = Effect.catch(back.send({ message, replyTo: undefined, last: false }), unsent(serverLost))
    if (cancelled === undefined) return yield* sent
    yield* Effect.forkScoped(
      Effect.andThen(Effect.delay(sent, overtakenWithin), Effect.delay(Fiber.interrupt(cancelled), letGoAfter))
    )
  })

  /** Waits for the response to `initialize`: over HTTP it has the session id that later messages need. */
  const answeredTo = (id: JsonRpc.Request["id"]): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      if (!under.has(id)) return resume(Effect.void)
      opened = () => resume(Effect.void)
    })

  /** Ends the stream of a cancelled request, because some servers keep it open. */
  const forget = (params: unknown): Fiber.Fiber<void> | undefined => {
    const id = Option.getOrUndefined(cancelledIn(params))?.requestId
    const asked = id === undefined ? undefined : under.get(id)
    if (id === undefined || asked === undefined) return undefined
    under.delete(id)
    if (asked.origin !== undefined) front.endExchange?.(asked.origin)
    if (under.size === 0) answered?.()
    return asked.carrier
  }

  const toServer = yield* direction(pass)

  const ask = (message: JsonRpc.Request, origin: Transport.StreamOrigin | undefined, bytes: number): void => {
    const refuse = (code: number, problem: string) =>
      say({ message: failure(message.id, code, problem), replyTo: origin, last: true })
    if (under.has(message.id)) return refuse(ErrorCode.InvalidRequest, "This id is in use")
    if (under.size >= limit) return refuse(ErrorCode.Overloaded, "Too many requests are under way")
    under.set(message.id, { origin, method: message.method, carrier: undefined })
    tell(message, bytes)
  }

  const tell = (message: JsonRpc.Message, bytes: number): void => {
    if (toServer.offer(message, bytes)) return
    const error = TransportError.make({ _tag: "WriteFailed", cause: "the server takes nothing" })
    Deferred.doneUnsafe(serverLost, Exit.fail(error))
  }

  const fromClient = ({ bytes = 0, frame, origin }: Transport.Inbound): void => {
    const refuse = (id: JsonRpc.Request["id"] | null, code: number, problem: string) =>
      say({ message: failure(id, code, problem), replyTo: origin, last: true })
    const hear = (frame: unknown, bytes: number): void => {
      const classified = JsonRpc.classify(frame)
      switch (classified._tag) {
        case "Batch":
          return classified.frames.forEach((inner) =>
            Array.isArray(inner) ? undefined : hear(inner, bytes / classified.frames.length)
          )
        case "Request":
          return ask(classified.message, origin, bytes)
        case "Malformed": {
          const { answerable, id, problem } = classified.malformed
          return answerable ? refuse(id ?? null, ErrorCode.InvalidRequest, problem) : log(problem)
        }
        default:
          return tell(classified.message, bytes)
      }
    }
    if (Result.isSuccess(frame)) return hear(frame.success, bytes)
    const { failure: fault } = frame
    refuse(
      null,
      ErrorCode.ParseError,
      fault._tag === "TooLarge" ? `A message may have ${fault.limitBytes} bytes` : "Parse error"
    )
  }

  const finished = Effect.callback<void>((resume) => {
    if (under.size === 0) return resume(Effect.void)
    answered = () => resume(Effect.void)
  })

  // ===================================================================================================================
  // Shutdown
  // ===================================================================================================================

  /** Sends the remaining messages of the client, and waits for the responses to its requests. */
  const clientEnded = Effect.gen(function*() {
    yield* toServer.finish
    yield* finished
    yield* toClient.finish
  })
  const client = Effect.flatMap(
    front.run(fromClient),
    ({ writable }) => writable ? Effect.asVoid(Effect.timeoutOption(clientEnded, finishWithin)) : Effect.void
  )

  /** Sends the remaining messages of the server, and an error for each request in flight. */
  const serverEnded = Effect.suspend(() => {
    for (const id of under.keys()) {
      answer(failure(id, ErrorCode.InternalError, "The connection to the server has ended"))
    }
    return toClient.finish
  })
  const server = Effect.raceFirst(back.run(fromServer), Deferred.await(serverLost)).pipe(
    Effect.exit,
    Effect.tap(() => Effect.timeoutOption(serverEnded, finishWithin)),
    Effect.flatMap((exit) => Effect.asVoid(exit))
  )
  yield* Effect.raceFirst(Effect.raceFirst(client, server), Deferred.await(clientLost))
})

/**
 * Two transports joined: what one end says the other hears, member for member, also where nobody here knows what it means. It is not a
 * session, so it has no opinion of methods, capabilities or schemas. All it keeps is which requests are under way, since a request whose
 * way is lost has to be answered by whoever knows that.
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

/** How many requests may be under way. */
const limit = 1024

/** How much may wait in each direction, in bytes. Nobody can say "wait" to what is read, and it comes in great pieces. */
const waitingBytes = 64 * 1024 * 1024

/** What a message costs beside its own bytes, about. */
const messageBytes = 256

/**
 * How long a request may be on its way that has a stream of its own. What cancels it waits so long, or it might come first, and be lost;
 * and what carries it is not given up before.
 */
const overtakenWithin = "500 millis"
const letGoAfter = "1 second"

/** How long there is for what is still to be said when one end has gone. */
const finishWithin = "10 seconds"

/** What was asked and is not answered. */
interface Asked {
  /** The frame of the client that it came in. */
  readonly origin: Transport.StreamOrigin | undefined
  readonly method: string
  /** What carries it, where each request has a stream of its own. */
  carrier: Fiber.Fiber<void> | undefined
}

const failure = (id: JsonRpc.Request["id"] | null, code: number, message: string): JsonRpc.Failure =>
  JsonRpc.failure(id, new McpError.McpError({ code, message }))

/** What of the answer to `initialize` a transport wants to know: over HTTP, later messages name the revision. */
const Agreed = Schema.Struct({
  protocolVersion: Schema.Literals(Revision.supported),
  serverInfo: Schema.Struct({ name: Schema.String, version: Schema.String })
})
const agreedIn = Schema.decodeUnknownOption(Agreed)

const Cancelled = Schema.Struct({ requestId: Schema.Union([Schema.String, Schema.Finite]) })
const cancelledIn = Schema.decodeUnknownOption(Cancelled)

/** One direction: does something with each message, in the order they came. */
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
    /** Whether there is room for it. */
    offer: (message: A, bytes: number): boolean => {
      const all = bytes + messageBytes
      if (waiting + all > waitingBytes) return false
      waiting += all
      Queue.offerUnsafe(messages, [message, all])
      return true
    },
    /** Takes no more, and waits until all is passed on. */
    finish: Effect.andThen(Queue.end(messages), Fiber.await(passing))
  }
})

/**
 * Passes everything between a client, at the front, and a server, at the back, until one of them ends. A client that has no more to
 * say is still answered. Fails with what broke.
 */
export const join = Effect.fnUntraced(function*(
  front: Transport.Connection,
  back: Transport.Connection,
  log: (problem: string) => void
): Effect.fn.Return<void, TransportError.TransportError, Scope.Scope> {
  const under = new Map<JsonRpc.Request["id"], Asked>()
  /** What breaks the way to either end. */
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
    // An error may belong to no request that can be named.
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
      // Which stream it came on is not known here; a client over stdio has one only.
      else say({ message, replyTo: undefined, last: false }, each)
    }
  }

  // ===================================================================================================================
  // To the server
  // ===================================================================================================================

  /** The server will not answer this any more; somebody has to. */
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

  /** A client over one stream may go on behind `initialize` at once; over a stream per request, its answer names the session to go on in. */
  const answeredTo = (id: JsonRpc.Request["id"]): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      if (!under.has(id)) return resume(Effect.void)
      opened = () => resume(Effect.void)
    })

  /** A request that was cancelled is answered by nobody, and not every server lets go of what carries it. */
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
  // The end
  // ===================================================================================================================

  /** What the client has said still goes to the server, and what was asked is answered. */
  const clientEnded = Effect.gen(function*() {
    yield* toServer.finish
    yield* finished
    yield* toClient.finish
  })
  const client = Effect.flatMap(
    front.run(fromClient),
    ({ writable }) => writable ? Effect.asVoid(Effect.timeoutOption(clientEnded, finishWithin)) : Effect.void
  )

  /** What the server has said still goes to the client, and so does that it will say no more. */
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

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

/** How many requests may be under way, and how many messages may wait in each direction. */
const limit = 1024

/** How long the server has for what it was asked when the client has no more to say. */
const finishWithin = "10 seconds"

/** What was asked and is not answered. */
interface Asked {
  /** The frame of the client that it came in. */
  readonly origin: Transport.Origin | undefined
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

/** Does something with each message, in the order they came, until no more will come. */
const each = <A>(
  messages: Queue.Dequeue<A, Cause.Done>,
  act: (message: A) => Effect.Effect<void, never, Scope.Scope>
) => Effect.forkScoped(Effect.ignore(Effect.forever(Effect.flatMap(Queue.take(messages), act))))

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
  const toServer = yield* Queue.dropping<JsonRpc.Message, Cause.Done>(limit)
  const toClient = yield* Queue.dropping<Transport.Outbound, Cause.Done>(limit)
  const broken = yield* Deferred.make<never, TransportError.TransportError>()
  let answered: (() => void) | undefined
  let isLeaving = false

  // ===================================================================================================================
  // To the client
  // ===================================================================================================================

  const say = (outbound: Transport.Outbound): void => {
    if (!isLeaving && !Queue.offerUnsafe(toClient, outbound)) {
      const error = TransportError.make({ _tag: "WriteFailed", cause: "the client takes nothing" })
      Deferred.doneUnsafe(broken, Exit.fail(error))
    }
  }

  const answer = (response: JsonRpc.Response): void => {
    const { id } = response
    const asked = id === undefined || id === null ? undefined : under.get(id)
    // An error may belong to no request that can be named.
    if (asked === undefined) return say({ message: response, via: undefined, last: false })
    if (id !== undefined && id !== null) under.delete(id)
    if (asked.method === "initialize" && "result" in response) {
      const agreed = Option.getOrUndefined(agreedIn(response.result))
      if (agreed !== undefined) {
        const { protocolVersion: revision, serverInfo: info } = agreed
        back.established?.({ revision, info, capabilities: {}, instructions: undefined })
        front.established?.({ revision, info: undefined, capabilities: {} })
      }
    }
    say({ message: response, via: asked.origin, last: true })
    if (under.size === 0) answered?.()
  }

  const fromServer = ({ frame }: Transport.Inbound): void => {
    if (Result.isFailure(frame)) return log(`the server said what is no message: ${frame.failure._tag}`)
    for (const message of JsonRpc.messages(frame.success)) {
      if (!("method" in message)) answer(message)
      // Which stream it came on is not known here; a client over stdio has one only.
      else say({ message, via: undefined, last: false })
    }
  }

  // ===================================================================================================================
  // To the server
  // ===================================================================================================================

  const ask = (message: JsonRpc.Request, origin: Transport.Origin | undefined): void => {
    const refuse = (code: number, problem: string) =>
      say({ message: failure(message.id, code, problem), via: origin, last: true })
    if (under.has(message.id)) return refuse(ErrorCode.InvalidRequest, "This id is in use")
    if (under.size >= limit) return refuse(ErrorCode.Overloaded, "Too many requests are under way")
    under.set(message.id, { origin, method: message.method, carrier: undefined })
    tell(message)
  }

  const tell = (message: JsonRpc.Message): void => {
    if (Queue.offerUnsafe(toServer, message)) return
    const error = TransportError.make({ _tag: "WriteFailed", cause: "the server takes nothing" })
    Deferred.doneUnsafe(broken, Exit.fail(error))
  }

  const fromClient = ({ frame, origin }: Transport.Inbound): void => {
    const refuse = (id: JsonRpc.Request["id"] | null, code: number, problem: string) =>
      say({ message: failure(id, code, problem), via: origin, last: true })
    const hear = (frame: unknown): void => {
      const classified = JsonRpc.classify(frame)
      switch (classified._tag) {
        case "Batch":
          return classified.frames.forEach((inner) => Array.isArray(inner) ? undefined : hear(inner))
        case "Request":
          return ask(classified.message, origin)
        case "Malformed": {
          const { answerable, id, problem } = classified.malformed
          return answerable ? refuse(id ?? null, ErrorCode.InvalidRequest, problem) : log(problem)
        }
        default:
          return tell(classified.message)
      }
    }
    if (Result.isSuccess(frame)) return hear(frame.success)
    const { failure: fault } = frame
    refuse(
      null,
      ErrorCode.ParseError,
      fault._tag === "TooLarge" ? `A message may have ${fault.limitBytes} bytes` : "Parse error"
    )
  }

  /** The server will not answer this any more; somebody has to. */
  const unanswerable = (id: JsonRpc.Request["id"]) => (error: TransportError.TransportError): Effect.Effect<void> =>
    Effect.sync(() => {
      if (under.has(id)) answer(failure(id, ErrorCode.InternalError, error.message))
    })

  const unsent = (error: TransportError.TransportError): Effect.Effect<void> =>
    error.reason._tag === "WriteFailed" || error.reason._tag === "PeerEnded"
      ? Effect.asVoid(Deferred.fail(broken, error))
      : Effect.sync(() => log(error.message))

  const pass = Effect.fnUntraced(function*(message: JsonRpc.Message) {
    if ("method" in message && "id" in message) {
      const { id } = message
      if (back.request === undefined) {
        return yield* Effect.catch(back.send({ message, via: undefined, last: false }), unanswerable(id))
      }
      const carried = Effect.catch(back.request(message), unanswerable(id))
      const carrier = yield* Effect.forkScoped(carried, { startImmediately: true })
      const asked = under.get(id)
      if (asked !== undefined) asked.carrier = carrier
      return
    }
    const cancelled = "method" in message && message.method === "notifications/cancelled"
      ? forget(message.params)
      : undefined
    yield* Effect.catch(back.send({ message, via: undefined, last: false }), unsent)
    if (cancelled !== undefined) yield* Fiber.interrupt(cancelled)
  })

  /** A request that was cancelled is answered by nobody. What carries it can be given up once the server knows. */
  const forget = (params: unknown): Fiber.Fiber<void> | undefined => {
    const id = Option.getOrUndefined(cancelledIn(params))?.requestId
    const asked = id === undefined ? undefined : under.get(id)
    if (id === undefined || asked === undefined) return undefined
    under.delete(id)
    if (asked.origin !== undefined) front.settle?.(asked.origin)
    if (under.size === 0) answered?.()
    return asked.carrier
  }

  const finished = Effect.callback<void>((resume) => {
    if (under.size === 0) return resume(Effect.void)
    answered = () => resume(Effect.void)
  })

  const passing = yield* each(toServer, pass)
  const answering = yield* each(toClient, (outbound) => Effect.catch(front.send(outbound), unsent))

  /** What the client has said still goes to the server, and what was asked is answered. */
  const finish = Effect.gen(function*() {
    yield* Queue.end(toServer)
    yield* Fiber.await(passing)
    yield* finished
    isLeaving = true
    yield* Queue.end(toClient)
    yield* Fiber.await(answering)
  })
  const client = Effect.flatMap(
    front.run(fromClient),
    ({ writable }) => writable ? Effect.asVoid(Effect.timeoutOption(finish, finishWithin)) : Effect.void
  )
  const server = Effect.asVoid(back.run(fromServer))
  yield* Effect.raceFirst(Effect.raceFirst(client, server), Deferred.await(broken))
})

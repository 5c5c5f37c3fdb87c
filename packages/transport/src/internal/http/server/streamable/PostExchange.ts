/** One POST and its response: the stream origin of the message that the POST carries. */
import { ErrorCode, JsonRpc, McpError, type RequestId } from "@effect-mcp/protocol"
import type { EarlierMessages, MovableRequest } from "@effect-mcp/session/Transport"
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import type { SseResponseBody } from "../SseResponseBody.ts"
import type { SseStream } from "../SseStream.ts"
import type { StreamWatchdog, Timeout } from "../StreamWatchdog.ts"
import * as AboutRequests from "./AboutRequests.ts"
import * as PostRules from "./PostRules.ts"
import * as StreamTakeover from "./StreamTakeover.ts"

/** The decision on the response to a POST. `Accepted`: there is no reply. */
export type PostOutcome =
  | {
    readonly _tag: "Json"
    readonly body: string
    readonly status: number
    /** The scopes that the request needs and its sender lacks: the response has a challenge. */
    readonly scopes?: ReadonlyArray<string> | undefined
  }
  | { readonly _tag: "EventStream"; readonly body: SseResponseBody }
  | { readonly _tag: "Accepted" }

/** The form of responses; see `StreamableHttpServer.Options`. */
export type ResponseMode = "adaptive" | "json" | "stream"

const accepted: PostOutcome = { _tag: "Accepted" }

const invalidRequest: PostOutcome = {
  _tag: "Json",
  body: JSON.stringify(
    JsonRpc.failure(undefined, { code: ErrorCode.InvalidRequest, message: "Invalid request" })
  ),
  status: 400
}

const tooManyRejected: PostOutcome = {
  _tag: "Json",
  body: JSON.stringify(
    JsonRpc.failure(undefined, {
      code: ErrorCode.Overloaded,
      message: "Too many messages were rejected; try again later"
    })
  ),
  status: 429
}

/** Returns the status of a reply. An error that the client should retry has 429 in every era. */
const statusOf = (reply: JsonRpc.Frame, message: JsonRpc.Classified, rules: PostRules.PostRules): number => {
  if (JsonRpc.isBatch(reply) || !("error" in reply)) return 200
  return reply.error.code === ErrorCode.Overloaded ? 429 : rules.statusOf(reply.error.code, message)
}

/** Returns the scopes that the sender of a message lacks, as the reply to it says. */
const scopesOf = (reply: JsonRpc.Frame, message: JsonRpc.Classified): ReadonlyArray<string> | undefined =>
  JsonRpc.isBatch(reply) || !("error" in reply) ||
    // The error of the call of an earlier request. The same request would receive it again, whatever its sender may do.
    (message._tag === "Request" && message.message.method === "tasks/result")
    ? undefined
    : McpError.missingScopes(reply.error)

/** Returns the ids of the requests in the message of a POST. */
const requestIdsIn = (message: JsonRpc.Classified): ReadonlyArray<RequestId.RequestId> => {
  if (message._tag === "Request") return [message.message.id]
  if (message._tag !== "Batch") return []
  return JsonRpc.messages(message.frames).flatMap((inner) => JsonRpc.isRequest(inner) ? [inner.id] : [])
}

const sessionEnded: JsonRpc.ErrorObject = { code: ErrorCode.InternalError, message: "The session has ended" }

const notTaken: JsonRpc.ErrorObject = {
  code: ErrorCode.InternalError,
  message: "The message could not be stored; send it again"
}

/** Returns the reply to a request that an earlier owner has begun, and that this one has refused to go on with. */
const refused = (reply: JsonRpc.Frame): JsonRpc.Frame =>
  !JsonRpc.isBatch(reply) && "error" in reply && !McpError.isOutcomeUnknown(reply.error)
    ? JsonRpc.failure(reply.id, StreamTakeover.outcomeUnknown)
    : reply

/**
 * The status of a request that the session did not answer. 503 says that it was not carried out, and a client or a
 * proxy may send it again.
 */
const unansweredStatus = (error: JsonRpc.ErrorObject): number => McpError.isOutcomeUnknown(error) ? 502 : 503

/** The connection, or the server without sessions, that an exchange belongs to. */
export interface Owner {
  readonly mode: ResponseMode
  /** The time that a request continues without a client that reads its response, in milliseconds. */
  readonly detachedMillis: number
  readonly watchdog: StreamWatchdog
  /** Whether the client understands priming events, and can resume the stream after one. */
  readonly sendsPrimingEvents: boolean
  /** Whether the session has begun to end. Absent without a session. */
  readonly isEnding?: boolean
  readonly openStream: (exchange: PostExchange) => SseStream
  /** Cancels the requests of an exchange that no client reads. */
  readonly abandon: (exchange: PostExchange) => void
  /** Removes an exchange that has ended, and its stream if it has one. `ids` are those of its requests. */
  readonly remove: (
    exchange: PostExchange,
    stream: SseStream | undefined,
    ids: ReadonlyArray<RequestId.RequestId>
  ) => void
}

/**
 * One POST and its response. The first message decides the response: a reply is sent as JSON, and any other message
 * opens an event stream.
 *
 * An exchange has *ended* after its reply, or when it is certain that there is none. It is *detached* while no client
 * reads its response; the owner abandons it after a time.
 */
export class PostExchange {
  readonly #owner: Owner
  readonly #rules: PostRules.PostRules
  /** The message of the POST, until the exchange has ended: a slowly read response must not keep it in memory. */
  #message: JsonRpc.Classified | undefined
  #outcome: PostOutcome | undefined
  #resume: ((outcome: PostOutcome) => void) | undefined
  #stream: SseStream | undefined
  /** The messages of its request that an earlier owner of the session has sent. */
  readonly #earlier: EarlierMessages | undefined
  #isDetached = false
  #isRejected = false
  #isKept = false
  #isTaken = false
  #timeout: Timeout | undefined

  constructor(
    owner: Owner,
    message: JsonRpc.Classified,
    rules: PostRules.PostRules = PostRules.handshake,
    earlier?: EarlierMessages
  ) {
    this.#owner = owner
    this.#message = message
    this.#rules = rules
    this.#earlier = earlier
  }

  /** Goes on with a stream of an earlier owner of the session. No client reads it yet. */
  continueOn(stream: SseStream): void {
    this.#stream = stream
    this.#markDetached()
  }

  /** Returns its request, as one that the next owner of its session may go on with; `undefined` for another message. */
  movable(session: Pick<MovableRequest, "epoch" | "isOwned" | "session">): MovableRequest | undefined {
    if (this.#message?._tag !== "Request") return undefined
    return {
      ...session,
      earlier: this.#earlier,
      keep: (isKept) => {
        this.#isKept = isKept
        this.#isTaken = true
      },
      canResume: () => this.#stream?.canResume === true
    }
  }

  /** Whether it goes on with a request of an earlier owner that no handler has taken. */
  get isRefused(): boolean {
    return this.#earlier !== undefined && !this.#isTaken
  }

  /** The decision on the response, if there is one already. */
  get outcome(): PostOutcome | undefined {
    return this.#outcome
  }

  /** Whether the reply is an error, or the session or server ended before it. */
  get isRejected(): boolean {
    return this.#isRejected
  }

  /** The ids of the requests in its message, until it has ended. */
  get requests(): ReadonlyArray<RequestId.RequestId> {
    return this.#message === undefined ? [] : requestIdsIn(this.#message)
  }

  get #isEnded(): boolean {
    return this.#message === undefined
  }

  #decide(outcome: PostOutcome): void {
    if (this.#outcome !== undefined) return
    this.#outcome = outcome
    this.#resume?.(outcome)
  }

  /** Waits for the decision on the response. An interrupted caller calls `disconnect`. */
  get decided(): Effect.Effect<PostOutcome> {
    return Effect.callback<PostOutcome>((resume) => {
      if (this.#outcome !== undefined) return resume(Effect.succeed(this.#outcome))
      this.#resume = (outcome) => resume(Effect.succeed(outcome))
      return Effect.sync(() => {
        this.#resume = undefined
      })
    })
  }

  /** Records that the client disconnected before it had its response. */
  disconnect(): void {
    if (this.#outcome === undefined) this.#markDetached()
    else if (this.#outcome._tag === "EventStream") this.#outcome.body.close()
  }

  /** Opens the event stream before there is a message, unless the response is decided or must be JSON. */
  startStream(): void {
    if (this.#outcome !== undefined || this.#isEnded || this.#isDetached || this.#owner.mode === "json") return
    // An answer or a cancellation may wait until it is stored. It has no response but its acknowledgement.
    if (this.requests.length === 0) return
    if (!this.#rules.opensEarly) return
    this.#openStream(true)
  }

  #openStream(flushesHeaders: boolean): SseStream {
    const stream = this.#owner.openStream(this)
    this.#stream = stream
    this.#decide({ _tag: "EventStream", body: this.attach(stream, undefined) })
    if (flushesHeaders) stream.flushHeaders()
    if (this.#owner.sendsPrimingEvents) stream.sendPrimingEvent()
    return stream
  }

  /** Makes a body of its stream in place of the one before, with the events after this one. */
  attach(stream: SseStream, after: string | undefined): SseResponseBody {
    const body = stream.attach(after)
    body.onClose(() => {
      if (!stream.isAttached) this.#markDetached()
    })
    this.#markAttached()
    return body
  }

  /** Sends a message in the response. `last`: the message is the reply. */
  write(frame: JsonRpc.Frame, last: boolean): Effect.Effect<void, TransportError.TransportError> {
    const posted = this.#message
    if (posted === undefined) return OutgoingFrame.noRoute(frame)
    // The next owner of the session goes on with the request.
    if (last && this.isRefused && this.#owner.isEnding === true) {
      const stream = this.#stream
      this.#end()
      stream?.release()
      return Effect.void
    }
    const message = last && this.isRefused ? refused(frame) : frame
    const encoded = OutgoingFrame.encode(message)
    if (Result.isFailure(encoded)) return Effect.fail(encoded.failure)
    const body = encoded.success
    if (last) this.#isRejected = "error" in message
    if (this.#stream !== undefined) return this.#writeEvent(this.#stream, body, last)
    const scopes = last ? scopesOf(message, posted) : undefined
    const status = scopes !== undefined ? 403 : last ? statusOf(message, posted, this.#rules) : 200
    // An error with its own status is JSON in every mode: the headers of a stream would have sent 200.
    if (last && (this.#owner.mode !== "stream" || status !== 200)) {
      const wasDetached = this.#isDetached
      this.#end()
      this.#decide({ _tag: "Json", body, status, scopes })
      return wasDetached ? OutgoingFrame.noRoute(message) : Effect.void
    }
    return this.#owner.mode === "json" || this.#isDetached
      ? OutgoingFrame.noRoute(message)
      : this.#writeEvent(this.#openStream(false), body, last)
  }

  #writeEvent(stream: SseStream, body: string, last: boolean): Effect.Effect<void, TransportError.TransportError> {
    const written = last && this.isRefused ? this.#writeRefusal(stream, body) : stream.write(body)
    return last ? Effect.ensuring(written, Effect.sync(() => this.finish())) : written
  }

  /** Writes the reply to a refused request, after cancellations of the questions that its earlier owner has asked. */
  #writeRefusal(stream: SseStream, reply: string): Effect.Effect<void, TransportError.TransportError> {
    const questions = Array.from(this.#earlier?.questions ?? [])
    const cancellations = questions.map((id) => JSON.stringify(StreamTakeover.cancellationOf(id)))
    return Effect.forEach([...cancellations, reply], (event) => stream.write(event), { discard: true })
  }

  /** Ends the exchange after its reply, or without one. `rejected`: the session sends no more errors for now. */
  finish(rejected = false): void {
    const message = this.#message
    if (message === undefined) return
    if (rejected && this.requests.length === 0 && AboutRequests.of(message).length > 0) return this.#refuse(notTaken)
    this.#end()
    if (this.#outcome === undefined) {
      // A session limits the errors it sends for malformed frames; a POST always gets its response.
      const isMalformed = message._tag === "Malformed" && message.malformed.meant === undefined
      this.#decide(isMalformed ? invalidRequest : rejected ? tooManyRejected : accepted)
    }
    this.#stream?.end()
  }

  /** Aborts the response of its stream, because the client reads nothing. */
  abortResponse(): void {
    this.#stream?.abortResponse()
  }

  /** Ends the exchange with this error for each of its requests, because the session or the server ends. */
  fail(error: JsonRpc.ErrorObject = sessionEnded): void {
    const message = this.#message
    if (message === undefined) return
    const replies = this.requests.map((id) => JsonRpc.failure(id, error))
    const body = JSON.stringify(message._tag === "Batch" ? replies : replies[0])
    const stream = this.#stream
    this.#isRejected = true
    this.#end()
    if (stream === undefined) {
      return this.#decide(replies.length === 0 ? accepted : { _tag: "Json", body, status: unansweredStatus(error) })
    }
    if (replies.length > 0) stream.endWith(body)
    else stream.end()
  }

  /**
   * Ends the exchange because the session goes on at another process. If that has the session already (`isSuperseded`),
   * it ends the stream of the exchange, or goes on with it. Otherwise only a request goes on that is stored, and whose
   * stream the client can resume. One of an earlier owner is stored also if no handler has taken it here.
   */
  leave(error: JsonRpc.ErrorObject, isSuperseded: boolean): void {
    const stream = this.#stream
    // An answer or a cancellation that is not stored yet: its sender may send it again.
    if (this.#message !== undefined && this.requests.length === 0) return this.#refuse(error)
    const goesOn = isSuperseded || ((this.#isKept || this.isRefused) && stream?.canResume === true)
    if (stream === undefined || this.#isEnded || !goesOn) return this.fail(error)
    this.#isRejected = true
    this.#end()
    if (isSuperseded) stream.supersede()
    else stream.release()
  }

  #refuse(error: JsonRpc.ErrorObject): void {
    this.#end()
    this.#decide({ _tag: "Json", body: JSON.stringify(JsonRpc.failure(undefined, error)), status: 503 })
  }

  /** Ends the response and keeps the stream. Returns whether the client can resume it (SHS-04). */
  detachStream(): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      if (this.#isEnded || this.#isDetached || !this.#owner.sendsPrimingEvents) return Effect.succeed(false)
      this.startStream()
      return this.#stream === undefined ? Effect.succeed(false) : this.#stream.detach()
    })
  }

  #end(): void {
    const ids = this.requests
    this.#message = undefined
    this.#markAttached()
    this.#owner.remove(this, this.#stream, ids)
  }

  #markAttached(): void {
    this.#isDetached = false
    if (this.#timeout !== undefined) this.#owner.watchdog.cancel(this.#timeout)
    this.#timeout = undefined
  }

  /** Abandons the request after a lost connection: at once, or after `detachedMillis`. */
  #markDetached(): void {
    if (this.#isEnded || this.#isDetached) return
    const { detachedMillis, watchdog } = this.#owner
    this.#isDetached = true
    if (this.#rules.isCancelledByLoss) return this.#owner.abandon(this)
    this.#timeout = watchdog.schedule(detachedMillis, () => this.#owner.abandon(this))
  }
}

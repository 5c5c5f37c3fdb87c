import { ErrorCode, JsonRpc } from "@effect-mcp/protocol"
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import type { SseResponseBody } from "../SseResponseBody.ts"
import type { SseStream } from "../SseStream.ts"
import type { StreamWatchdog, Timeout } from "../StreamWatchdog.ts"

/**
 * What a POST is answered with. `Reply`: one body of JSON. `Events`: a stream. `Nothing`: it wanted no reply, or gets none.
 */
export type Answer =
  | { readonly _tag: "Reply"; readonly body: string; readonly status: number }
  | { readonly _tag: "Events"; readonly reader: SseResponseBody }
  | { readonly _tag: "Nothing" }

/** How a request is answered; see the server's options. */
export type Mode = "adaptive" | "json" | "stream"

const nothing: Answer = { _tag: "Nothing" }

const malformed: Answer = {
  _tag: "Reply",
  body: JSON.stringify(
    JsonRpc.failure(undefined, { code: ErrorCode.InvalidRequest, message: "Invalid request" })
  ),
  status: 400
}

const tooManyRejected: Answer = {
  _tag: "Reply",
  body: JSON.stringify(
    JsonRpc.failure(undefined, {
      code: ErrorCode.Overloaded,
      message: "Too many messages were rejected; try again later"
    })
  ),
  status: 429
}

/**
 * The status of a reply: whether this was a message that may come at all, and whether it may be tried again. An error in answer to a
 * request is a reply like any other, whatever its code; but one to `initialize` that is out of place must not pass for the beginning
 * of a session.
 */
const statusOf = (reply: JsonRpc.Frame, frame: unknown): number => {
  if (JsonRpc.isBatch(reply) || !("error" in reply)) return 200
  if (reply.error.code === ErrorCode.Overloaded) return 429
  const classified = JsonRpc.classify(frame)
  if (classified._tag !== "Request") return 400
  return classified.message.method === "initialize" && reply.error.code === ErrorCode.InvalidRequest ? 400 : 200
}

/** What those are told whose session ends before they have their reply. */
const ended: JsonRpc.ErrorObject = { code: ErrorCode.InternalError, message: "The session has ended" }

/** What an exchange needs of the connection it belongs to. */
export interface Host {
  readonly mode: Mode
  /** How long a request goes on that nobody listens to, in milliseconds. */
  readonly detachedMillis: number
  readonly watchdog: StreamWatchdog
  /** Whether the streams of this client begin with an event to come back behind. */
  readonly primes: boolean
  readonly openStream: (exchange: PostExchange) => SseStream
  /** Nobody listens, and nobody will. */
  readonly abandon: (exchange: PostExchange) => void
  /** It is over, and so is its stream, if it has one. */
  readonly forget: (exchange: PostExchange, stream: SseStream | undefined) => void
}

/**
 * One POST and its answer: the origin of what it brought. It is answered as soon as there is something to be said: with JSON, if
 * that is the reply, and otherwise with a stream.
 */
export class PostExchange {
  readonly #host: Host
  /** The message of the POST, until the exchange is over: a response that is read slowly must not hold the request. */
  #frame: unknown
  #answer: Answer | undefined
  #tell: ((answer: Answer) => void) | undefined
  #stream: SseStream | undefined
  #over = false
  #left = false
  #refused = false
  #timeout: Timeout | undefined

  constructor(host: Host, frame: unknown) {
    this.#host = host
    this.#frame = frame
  }

  /** The answer, if there is one already. */
  get answer(): Answer | undefined {
    return this.#answer
  }

  /** The reply was an error, or there will be none. */
  get isRefused(): boolean {
    return this.#refused
  }

  #decide(answer: Answer): void {
    if (this.#answer !== undefined) return
    this.#answer = answer
    this.#tell?.(answer)
  }

  /** Waits for the answer. Whoever does not wait any more says so with `leave`. */
  get answered(): Effect.Effect<Answer> {
    return Effect.callback<Answer>((resume) => {
      if (this.#answer !== undefined) return resume(Effect.succeed(this.#answer))
      this.#tell = (answer) => resume(Effect.succeed(answer))
      return Effect.sync(() => {
        this.#tell = undefined
      })
    })
  }

  /** Whoever waited for the answer has left. */
  leave(): void {
    if (this.#answer === undefined) this.#leave()
    else if (this.#answer._tag === "Events") this.#answer.reader.leave()
  }

  /** Answers with a stream, though nothing has been said yet. */
  begin(): void {
    if (this.#answer !== undefined || this.#over || this.#left || this.#host.mode === "json") return
    this.#open(true)
  }

  #open(aloud: boolean): SseStream {
    const stream = this.#host.openStream(this)
    this.#stream = stream
    this.#decide({ _tag: "Events", reader: this.read(stream, undefined) })
    if (aloud) stream.hail()
    if (this.#host.primes) stream.prime()
    return stream
  }

  /** Begins a reader of its stream, in place of the one before. */
  read(stream: SseStream, after: string | undefined, onLeave?: () => void): SseResponseBody {
    const reader = stream.read(after, () => {
      onLeave?.()
      if (!stream.isRead) this.#leave()
    })
    this.#return()
    return reader
  }

  /** Says something to whoever sent this. */
  say(message: JsonRpc.Frame, last: boolean): Effect.Effect<void, TransportError.TransportError> {
    if (this.#over) return OutgoingFrame.noRoute(message)
    const encoded = OutgoingFrame.encode(message)
    if (Result.isFailure(encoded)) return Effect.fail(encoded.failure)
    const body = encoded.success
    if (last) this.#refused = "error" in message
    if (this.#stream !== undefined) return this.#write(this.#stream, body, last)
    const status = last ? statusOf(message, this.#frame) : 200
    // A refusal of what was no request has a status to be seen by.
    if (last && (this.#host.mode !== "stream" || status !== 200)) {
      const left = this.#left
      this.#end()
      this.#decide({ _tag: "Reply", body, status })
      return left ? OutgoingFrame.noRoute(message) : Effect.void
    }
    return this.#host.mode === "json" || this.#left
      ? OutgoingFrame.noRoute(message)
      : this.#write(this.#open(false), body, last)
  }

  #write(stream: SseStream, body: string, last: boolean): Effect.Effect<void, TransportError.TransportError> {
    const written = stream.write(body)
    return last ? Effect.ensuring(written, Effect.sync(() => this.settle())) : written
  }

  /**
   * It ended without a reply, or after it. `rejected`: the session has rejected it, and sends no more errors for now.
   */
  settle(rejected = false): void {
    if (this.#over) return
    const frame = this.#frame
    this.#end()
    if (this.#answer === undefined) {
      // The session may have had enough of complaining about such, but whoever sent it asks no more often than it is told.
      const classified = JsonRpc.classify(frame)
      const isLost = classified._tag === "Malformed" && classified.malformed.meant === undefined
      this.#decide(isLost ? malformed : rejected ? tooManyRejected : nothing)
    }
    this.#stream?.end()
  }

  /** Breaks off the response of its stream, which takes nothing. */
  breakOffStream(): void {
    this.#stream?.breakOff()
  }

  /** The session ends before it, or the server. */
  breakOff(why: JsonRpc.ErrorObject = ended): void {
    if (this.#over) return
    const ids = JsonRpc.messages(this.#frame).flatMap((message) => JsonRpc.isRequest(message) ? [message.id] : [])
    const replies = ids.map((id) => JsonRpc.failure(id, why))
    const body = JSON.stringify(Array.isArray(this.#frame) ? replies : replies[0])
    const stream = this.#stream
    this.#refused = true
    this.#end()
    if (stream === undefined) {
      return this.#decide(replies.length === 0 ? nothing : { _tag: "Reply", body, status: 503 })
    }
    if (replies.length > 0) stream.endWith(body)
    else stream.end()
  }

  /** Lets the response go and keeps the stream, if the client can come back to it, and knows that it may have to (SHS-04). */
  release(): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      if (this.#over || this.#left || !this.#host.primes) return Effect.succeed(false)
      this.begin()
      return this.#stream === undefined ? Effect.succeed(false) : this.#stream.release()
    })
  }

  #end(): void {
    this.#over = true
    this.#frame = undefined
    this.#return()
    this.#host.forget(this, this.#stream)
  }

  /** Somebody listens again. */
  #return(): void {
    this.#left = false
    if (this.#timeout !== undefined) this.#host.watchdog.cancel(this.#timeout)
    this.#timeout = undefined
  }

  /** Nobody listens. That cancels nothing (SHS-10), but it has a bound. */
  #leave(): void {
    if (this.#over || this.#left) return
    const { watchdog, detachedMillis } = this.#host
    this.#left = true
    this.#timeout = watchdog.schedule(detachedMillis, () => this.#host.abandon(this))
  }
}

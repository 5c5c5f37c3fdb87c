/** The connection of one session over HTTP+SSE: POSTs carry messages in, and one event stream carries them out. */
import type { Principal } from "@effect-mcp/session/Principal"
import type { Connection, End, Inbound, Outbound, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Sse from "../../../../Sse.ts"
import { InboundBuffer } from "../../../shared/InboundBuffer.ts"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import { SseResponseBody } from "../SseResponseBody.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"

/** The settings of all connections of a server. */
export interface Options {
  readonly watchdog: StreamWatchdog
  /** The characters that wait for the client before senders wait. */
  readonly capacity: number
}

type Outcome = Exit.Exit<End, TransportError.TransportError>

const disconnected: Outcome = Exit.succeed({ exit: undefined, writable: false })

const stalled = Exit.fail(
  TransportError.make({ _tag: "WriteFailed", cause: new Error("the client does not read its event stream") })
)

const peerEnded = Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))

/**
 * The connection of one session, and its transport. It is closed when its event stream closes, because the client
 * cannot resume the stream.
 */
export class HttpSseServerConnection {
  readonly #watchdog: StreamWatchdog
  readonly #body: SseResponseBody
  readonly #inbound = new InboundBuffer()
  #resumeRun: ((outcome: Outcome) => void) | undefined
  #outcome: Outcome | undefined
  #isUsed = false
  #isEnded = false

  /** `endpoint` is the reference for POSTs, which the first event carries (SSE-02). */
  constructor(endpoint: string, { capacity, watchdog }: Options) {
    this.#watchdog = watchdog
    this.#body = new SseResponseBody({ budget: watchdog.budget, capacity, now: watchdog.now, missed: undefined })
    this.#body.onClose(() => this.#onClose())
    this.#body.put(Sse.event(undefined, endpoint, "endpoint"))
  }

  /** Whether the session has ended, or its stream has closed. */
  get isClosed(): boolean {
    return this.#isEnded || this.#body.isClosed
  }

  /** Connects the session, once. */
  get connect(): Transport["Service"]["connect"] {
    const connection: Connection = {
      authenticates: true,
      run: (deliver) => this.run(deliver),
      send: (outbound) => this.send(outbound)
    }
    return Effect.suspend(() => {
      if (this.#isUsed) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      this.#isUsed = true
      return Effect.acquireRelease(Effect.succeed(connection), () => Effect.sync(() => this.close()))
    })
  }

  run(deliver: (inbound: Inbound) => void): Effect.Effect<End, TransportError.TransportError> {
    return Effect.callback<End, TransportError.TransportError>((resume) => {
      this.#inbound.subscribe(deliver)
      if (this.#outcome !== undefined) return resume(this.#outcome)
      this.#resumeRun = resume
    })
  }

  send({ message }: Outbound): Effect.Effect<void, TransportError.TransportError> {
    const encoded = OutgoingFrame.encode(message)
    if (Result.isFailure(encoded)) return Effect.fail(encoded.failure)
    const data = encoded.success
    const event = Sse.event(undefined, data, "message")
    if (this.#body.isFull) return Effect.flatMap(this.#body.room, () => this.#put(event))
    return this.#put(event)
  }

  #put(event: string): Effect.Effect<void, TransportError.TransportError> {
    if (this.isClosed) return this.#body.isAborted ? stalled : peerEnded
    this.#body.put(event)
    return Effect.void
  }

  /** Delivers the message of a POST. */
  post(frame: unknown, bytes: number, principal: Principal | undefined): void {
    this.#inbound.deliver({ frame: Result.succeed(frame), bytes, principal })
  }

  /** Starts the response with the event stream, once, and returns its body. */
  start(): SseResponseBody {
    this.#watchdog.watch(this.#body)
    return this.#body
  }

  /** Ends the stream after its buffered events, because the session has ended. */
  close(): void {
    this.#isEnded = true
    this.#inbound.close()
    this.#body.finish()
  }

  #onClose(): void {
    this.#watchdog.unwatch(this.#body)
    this.#outcome = this.#body.isAborted ? stalled : disconnected
    this.#resumeRun?.(this.#outcome)
  }
}

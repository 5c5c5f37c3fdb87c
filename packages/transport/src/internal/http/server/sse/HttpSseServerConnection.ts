import type { Principal } from "@effect-mcp/session/Principal"
import type { Connection, End, Inbound, Outbound, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Sse from "../../../../Sse.ts"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import { SseResponseBody } from "../SseResponseBody.ts"
import type { StreamWatchdog } from "../StreamWatchdog.ts"

/** What all connections of a server have in common. */
export interface Options {
  readonly watchdog: StreamWatchdog
  /** How many characters may wait for one reader. */
  readonly capacity: number
}

type Outcome = Exit.Exit<End, TransportError.TransportError>

const left: Outcome = Exit.succeed({ exit: undefined, writable: false })

const stalled = Exit.fail(
  TransportError.make({ _tag: "WriteFailed", cause: new Error("the client takes nothing of its stream") })
)

const peerEnded = Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))

/**
 * A session's connection over HTTP+SSE: what POSTs bring in, and the one stream that leads out, which is there from the beginning. When
 * the stream is lost so is the connection: nobody can come back to it. It is the transport of the session as well, by which it is
 * recognized again in what a host keeps.
 */
export class HttpSseServerConnection {
  readonly #watchdog: StreamWatchdog
  readonly #reader: SseResponseBody
  #release: (() => void) | undefined
  #deliver: ((inbound: Inbound) => void) | undefined
  #early: Array<Inbound> = []
  #resume: ((outcome: Outcome) => void) | undefined
  #outcome: Outcome | undefined
  #used = false
  #closed = false

  /** `endpoint` says where to POST to. Nothing is said before it (SSE-02). */
  constructor(endpoint: string, { watchdog, capacity }: Options) {
    this.#watchdog = watchdog
    this.#reader = new SseResponseBody({
      budget: watchdog.budget,
      capacity,
      now: watchdog.now,
      past: undefined,
      onLeave: () => this.#leave()
    })
    this.#reader.put(Sse.event(undefined, endpoint, "endpoint"))
  }

  /** Has the session ended, or its stream? */
  get isOver(): boolean {
    return this.#closed || this.#reader.hasLeft
  }

  /** What the session gets to see of it. */
  get connect(): Transport["Service"]["connect"] {
    const connection: Connection = {
      run: (deliver) => this.run(deliver),
      send: (outbound) => this.send(outbound)
    }
    return Effect.suspend(() => {
      if (this.#used) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      this.#used = true
      return Effect.acquireRelease(Effect.succeed(connection), () => Effect.sync(() => this.close()))
    })
  }

  run(deliver: (inbound: Inbound) => void): Effect.Effect<End, TransportError.TransportError> {
    return Effect.callback<End, TransportError.TransportError>((resume) => {
      this.#deliver = deliver
      for (const inbound of this.#early.splice(0)) deliver(inbound)
      if (this.#outcome !== undefined) return resume(this.#outcome)
      this.#resume = resume
    })
  }

  send({ message }: Outbound): Effect.Effect<void, TransportError.TransportError> {
    const encoded = OutgoingFrame.encode(message)
    if (Result.isFailure(encoded)) return Effect.fail(encoded.failure)
    const data = encoded.success
    const event = Sse.event(undefined, data, "message")
    if (this.#reader.isFull) return Effect.flatMap(this.#reader.room, () => this.#put(event))
    return this.#put(event)
  }

  #put(event: string): Effect.Effect<void, TransportError.TransportError> {
    if (this.isOver) return this.#reader.isBrokenOff ? stalled : peerEnded
    this.#reader.put(event)
    return Effect.void
  }

  /** A POST came. */
  post(frame: unknown, bytes: number, principal: Principal | undefined): void {
    const inbound: Inbound = { frame: Result.succeed(frame), bytes, principal }
    if (this.#deliver === undefined) this.#early.push(inbound)
    else this.#deliver(inbound)
  }

  /** Begins to read the stream, which is done once. `release` is called when nobody reads it any more. */
  listen(release: () => void): SseResponseBody {
    this.#release = release
    this.#watchdog.watch(this.#reader)
    return this.#reader
  }

  /** The session has ended: the stream ends behind what has been said. */
  close(): void {
    this.#closed = true
    this.#early = []
    this.#reader.finish()
  }

  #leave(): void {
    this.#watchdog.unwatch(this.#reader)
    this.#outcome = this.#reader.isBrokenOff ? stalled : left
    this.#resume?.(this.#outcome)
    this.#release?.()
  }
}

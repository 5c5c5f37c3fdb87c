/** The body of one HTTP response that is an event stream: a buffer between the stream and the client. */
import type { EventStoreError, Replay, StoredEvent } from "@effect-mcp/session/EventStore"
import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Sse from "../../../Sse.ts"

/** The stored events of a stream that a reconnecting client missed. */
export interface Missed {
  /** The id of the last event that was sent. */
  after: string
  readonly replay: (after: string) => Effect.Effect<Replay | undefined, EventStoreError>
  /** Runs an effect while no event is added to the stream. */
  readonly inTurn: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

const encoder = new TextEncoder()

/** A text with one character beyond Latin-1 takes two bytes for each. */
const bytesPerCharacter = 2

/** The characters of missed events that are sent at a time. */
const pieceCharacters = 65_536

/**
 * The body of a response with the events of one stream. Events wait in a buffer until the client reads them; senders
 * wait for `room` while the buffer is full. A body that resumes a stream first sends the missed events from the store.
 *
 * `finish` ends the body after its buffered events, `abort` at once. It also closes when the client disconnects.
 */
export class SseResponseBody {
  readonly #capacity: number
  readonly #now: () => number
  readonly #budget: MemoryBudget.MemoryBudget
  readonly #closed: Array<() => void> = []
  /** The bytes of the buffer that are charged to the budget of the process. */
  #charge = 0
  #missed: Missed | undefined
  /** The rest of the missed events that the store returned last. */
  #replayed: Iterator<StoredEvent> | undefined
  /** Events that are not in the store, which are sent after the missed ones. */
  readonly #afterReplay: Array<string> = []
  #buffer: Array<string> = []
  #length = 0
  #isFinished = false
  #isClosed = false
  #isAborted = false
  #fiber: Fiber.Fiber<unknown, unknown> | undefined
  #wake: (() => void) | undefined
  readonly #senders: Array<() => void> = []
  /** The time at which the client last read something, or at which there was nothing to read. */
  takenAt: number

  constructor(options: {
    readonly budget: MemoryBudget.MemoryBudget
    /** The number of characters from which on the buffer is full. */
    readonly capacity: number
    readonly now: () => number
    readonly missed: Missed | undefined
  }) {
    this.#budget = options.budget
    this.#capacity = options.capacity
    this.#now = options.now
    this.#missed = options.missed
    this.takenAt = options.now()
  }

  /** Whether missed events are still to be sent, so that new events are read from the store, too. */
  get isReplaying(): boolean {
    return this.#missed !== undefined
  }

  /** Whether senders should wait. An empty buffer is never full; while the process is short of memory any other is. */
  get isFull(): boolean {
    return this.#length > 0 && (!(this.#length < this.#capacity) || MemoryBudget.isScarce(this.#budget))
  }

  /** Returns whether something waits for the client that it could have read since this time. */
  isStalledSince(then: number): boolean {
    return (this.#length > 0 || this.isReplaying) && this.takenAt <= then
  }

  /** Whether nothing more is read: the client disconnected, or the body ended or was aborted. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether the server aborted the response, before the client disconnected. */
  get isAborted(): boolean {
    return this.#isAborted
  }

  /** Runs `listener` when the body closes, after those that were added before; at once if it is closed. */
  onClose(listener: () => void): void {
    if (this.#isClosed) listener()
    else this.#closed.push(listener)
  }

  /** Adds text to the buffer, unless the body has ended. */
  put(text: string): void {
    if (!this.#isClosed && !this.#isFinished) this.#add(text)
  }

  #add(text: string): void {
    if (this.#length === 0) this.takenAt = this.#now()
    this.#buffer.push(text)
    this.#length += text.length
    const bytes = bytesPerCharacter * text.length
    if (!MemoryBudget.isScarce(this.#budget) && this.#budget.take(bytes)) this.#charge += bytes
    this.#awaken()
  }

  /** Adds an event that is not in the store; it is sent after the missed events. */
  putAfterReplay(text: string): void {
    if (this.isReplaying) this.#afterReplay.push(text)
    else this.put(text)
  }

  get #hasRoom(): boolean {
    return this.#isClosed || (!this.isFull && !this.isReplaying)
  }

  /** Waits until the buffer has room and all missed events are sent, or until the body is closed. */
  readonly room: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.#hasRoom) return resume(Effect.void)
    const sender = () => resume(Effect.void)
    this.#senders.push(sender)
    return Effect.sync(() => {
      const index = this.#senders.indexOf(sender)
      if (index >= 0) this.#senders.splice(index, 1)
    })
  })

  /** Ends the body after the events in its buffer. */
  finish(): void {
    this.#isFinished = true
    this.#awaken()
  }

  /** Closes the body, because the client disconnected or has read all of it. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#clear()
    this.#awaken()
    this.#resumeSenders()
    for (const listener of this.#closed.splice(0)) listener()
  }

  /**
   * Aborts the response. The fiber is interrupted, because a write to a stalled connection does not return. It is
   * interrupted before the body closes: one that waits for events would end the response properly otherwise.
   */
  abort(): void {
    this.#isAborted = !this.#isClosed
    this.#fiber?.interruptUnsafe()
    this.close()
  }

  #awaken(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  #clear(): void {
    this.#buffer = []
    this.#length = 0
    this.#budget.release(this.#charge)
    this.#charge = 0
  }

  #resumeSenders(): void {
    if (!this.#hasRoom) return
    for (const sender of this.#senders.splice(0)) sender()
  }

  #take(): readonly [Uint8Array] {
    const text = this.#buffer.length === 1 ? this.#buffer[0] ?? "" : this.#buffer.join("")
    this.#clear()
    this.takenAt = this.#now()
    this.#resumeSenders()
    return [encoder.encode(text)]
  }

  readonly #sleep: Effect.Effect<void> = Effect.callback<void>((resume) => {
    // The fiber may have yielded since the check of the buffer; an event that was added meanwhile has woken nothing.
    if (this.#length > 0 || this.#isFinished || this.#isClosed) return resume(Effect.void)
    this.#wake = () => resume(Effect.void)
    return Effect.sync(() => {
      this.#wake = undefined
    })
  })

  /** Returns the next bytes, or the end. */
  readonly #pull: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
    if (this.#isClosed) return this.#isAborted ? Effect.interrupt : Cause.done()
    // The comment and the priming event of this response are in the buffer, and are sent before missed events.
    if (this.#length > 0) return Effect.succeed(this.#take())
    if (this.#missed !== undefined) {
      const piece = this.#replayed === undefined ? undefined : this.#nextPiece(this.#missed, this.#replayed)
      if (piece !== undefined) return Effect.succeed(piece)
      this.#replayed = undefined
      return this.#readMissed(this.#missed)
    }
    if (this.#isFinished) return Cause.done()
    return Effect.andThen(this.#sleep, this.#pull)
  })

  #readMissed(missed: Missed): Effect.Effect<readonly [Uint8Array], Cause.Done> {
    const replay = Effect.suspend(() => missed.replay(missed.after)).pipe(
      Effect.catch(() => Effect.undefined),
      Effect.map((replay) => this.#replay(replay))
    )
    // In turn, so that no event is added between the replay and the end of replaying.
    return Effect.andThen(missed.inTurn(replay), this.#pull)
  }

  #replay(replay: Replay | undefined): void {
    if (replay !== undefined && replay.events.length > 0) {
      this.#replayed = replay.events[Symbol.iterator]()
      return
    }
    this.#missed = undefined
    const later = this.#afterReplay.splice(0)
    // Events that the store lost would be a gap: the body ends here, and the client receives the error when it
    // reconnects.
    if (replay === undefined || replay.ended && later.length === 0) this.#isFinished = true
    else for (const text of later) this.#add(text)
    this.#resumeSenders()
  }

  /** Encodes some of the missed events. All of them at once would look like a client that reads nothing. */
  #nextPiece(missed: Missed, events: Iterator<StoredEvent>): readonly [Uint8Array] | undefined {
    let text = ""
    for (let next = events.next(); next.done !== true; next = events.next()) {
      const { data, id } = next.value
      missed.after = id
      text += Sse.event(id, data)
      if (text.length >= pieceCharacters) break
    }
    if (text === "") return undefined
    this.takenAt = this.#now()
    return [encoder.encode(text)]
  }

  /** Returns the whole text and closes the body, if it has ended; then it need not be read as a stream. */
  takeAll(): string | undefined {
    if (!this.#isFinished || this.#isClosed || this.isReplaying) return undefined
    const text = this.#buffer.join("")
    this.close()
    return text
  }

  /** The bytes of the body, to be read once. */
  readonly stream: Stream.Stream<Uint8Array> = Stream.fromPull(Effect.withFiber((fiber) => {
    this.#fiber = fiber
    return Effect.succeed(this.#pull)
  })).pipe(Stream.ensuring(Effect.sync(() => this.close())))
}

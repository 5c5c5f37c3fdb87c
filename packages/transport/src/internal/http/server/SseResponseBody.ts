import type { EventStoreError, Replay, StoredEvent } from "@effect-mcp/session/EventStore"
import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Sse from "../../../Sse.ts"

/** Where the past of a stream is read from. */
export interface Past {
  /** The last event that whoever reads has got. */
  after: string
  readonly replay: (after: string) => Effect.Effect<Replay | undefined, EventStoreError>
  /** Does something while nothing is added to the stream. */
  readonly inTurn: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

const encoder = new TextEncoder()

/** How many characters may wait for one reader, unless told otherwise. */
export const defaultCapacity = 1024 * 1024

/** A text with one character beyond Latin-1 takes two bytes for each. */
const bytesPerCharacter = 2

/** How much of what was missed is given at a time, in characters. */
const piece = 65_536

/**
 * Whoever reads a stream at the moment: the body of one HTTP response. What is put in waits until the response can take it, and
 * whoever puts it in should wait when that is too much. One that comes back for what it has missed is given that first.
 */
export class SseResponseBody {
  readonly #capacity: number
  readonly #now: () => number
  readonly #onLeave: () => void
  readonly #budget: MemoryBudget.MemoryBudget
  /** The bytes that the budget of the process is charged with for what waits. */
  #charge = 0
  #past: Past | undefined
  #missed: Iterator<StoredEvent> | undefined
  readonly #behindPast: Array<string> = []
  #pieces: Array<string> = []
  #length = 0
  #finished = false
  #left = false
  #brokenOff = false
  #fiber: Fiber.Fiber<unknown, unknown> | undefined
  #wake: (() => void) | undefined
  readonly #senders: Array<() => void> = []
  /** When something was taken last, or could have been. */
  takenAt: number

  constructor(options: {
    readonly budget: MemoryBudget.MemoryBudget
    /** How many characters may wait. */
    readonly capacity: number
    readonly now: () => number
    readonly past: Past | undefined
    readonly onLeave: () => void
  }) {
    this.#budget = options.budget
    this.#capacity = options.capacity
    this.#now = options.now
    this.#past = options.past
    this.#onLeave = options.onLeave
    this.takenAt = options.now()
  }

  /** Is what happens now in what it will be given of the past? */
  get isBehind(): boolean {
    return this.#past !== undefined
  }

  /** Something always has room, where nothing waits. While the process is short of memory nothing more has. */
  get isFull(): boolean {
    return this.#length > 0 && (!(this.#length < this.#capacity) || MemoryBudget.isScarce(this.#budget))
  }

  /** Has nothing been taken since then, though there is something to be taken? */
  isStalledSince(then: number): boolean {
    return (this.#length > 0 || this.isBehind) && this.takenAt <= then
  }

  get hasLeft(): boolean {
    return this.#left
  }

  /** Was it broken off, rather than left? */
  get isBrokenOff(): boolean {
    return this.#brokenOff
  }

  put(text: string): void {
    if (!this.#left && !this.#finished) this.#add(text)
  }

  #add(text: string): void {
    if (this.#length === 0) this.takenAt = this.#now()
    this.#pieces.push(text)
    this.#length += text.length
    const bytes = bytesPerCharacter * text.length
    if (!MemoryBudget.isScarce(this.#budget) && this.#budget.take(bytes)) this.#charge += bytes
    this.#awaken()
  }

  /** Puts something in that is read after the past, in which it is not. */
  putBehindPast(text: string): void {
    if (this.isBehind) this.#behindPast.push(text)
    else this.put(text)
  }

  get #hasRoom(): boolean {
    return this.#left || (!this.isFull && !this.isBehind)
  }

  /** Waits until there is room and nothing is to be caught up with, or until nobody reads any more. */
  readonly room: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.#hasRoom) return resume(Effect.void)
    const sender = () => resume(Effect.void)
    this.#senders.push(sender)
    return Effect.sync(() => {
      const index = this.#senders.indexOf(sender)
      if (index >= 0) this.#senders.splice(index, 1)
    })
  })

  /** The response ends behind what was put in. */
  finish(): void {
    this.#finished = true
    this.#awaken()
  }

  /** Nobody reads any more, or shall. */
  leave(): void {
    if (this.#left) return
    this.#left = true
    this.#clear()
    this.#awaken()
    this.#release()
    this.#onLeave()
  }

  /** Breaks the response off. One that takes nothing would not notice otherwise. */
  breakOff(): void {
    this.#brokenOff = !this.#left
    this.leave()
    this.#fiber?.interruptUnsafe()
  }

  #awaken(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  #clear(): void {
    this.#pieces = []
    this.#length = 0
    this.#budget.release(this.#charge)
    this.#charge = 0
  }

  #release(): void {
    if (!this.#hasRoom) return
    for (const sender of this.#senders.splice(0)) sender()
  }

  #take(): readonly [Uint8Array] {
    const text = this.#pieces.length === 1 ? this.#pieces[0] ?? "" : this.#pieces.join("")
    this.#clear()
    this.takenAt = this.#now()
    this.#release()
    return [encoder.encode(text)]
  }

  readonly #asleep: Effect.Effect<void> = Effect.callback<void>((resume) => {
    // A fiber may yield on its way here, and what comes meanwhile wakes nobody.
    if (this.#length > 0 || this.#finished || this.#left) return resume(Effect.void)
    this.#wake = () => resume(Effect.void)
    return Effect.sync(() => {
      this.#wake = undefined
    })
  })

  /** The next bytes, or the end. */
  readonly #pull: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
    if (this.#left) return Cause.done()
    // What was put in at once stands before all that is past.
    if (this.#length > 0) return Effect.succeed(this.#take())
    if (this.#past !== undefined) {
      const recalled = this.#missed === undefined ? undefined : this.#recall(this.#past, this.#missed)
      if (recalled !== undefined) return Effect.succeed(recalled)
      this.#missed = undefined
      return this.#catchUp(this.#past)
    }
    if (this.#finished) return Cause.done()
    return Effect.andThen(this.#asleep, this.#pull)
  })

  #catchUp(past: Past): Effect.Effect<readonly [Uint8Array], Cause.Done> {
    const missed = Effect.suspend(() => past.replay(past.after)).pipe(
      Effect.catch(() => Effect.undefined),
      Effect.map((replay) => this.#miss(replay))
    )
    // That there is nothing more is true only as long as nothing is added.
    return Effect.andThen(past.inTurn(missed), this.#pull)
  }

  #miss(replay: Replay | undefined): void {
    if (replay !== undefined && replay.events.length > 0) {
      this.#missed = replay.events[Symbol.iterator]()
      return
    }
    this.#past = undefined
    const later = this.#behindPast.splice(0)
    // What is gone cannot be made up for: the stream ends here, and the client learns it when it comes back.
    if (replay === undefined || replay.ended && later.length === 0) this.#finished = true
    else for (const text of later) this.#add(text)
    this.#release()
  }

  /** Some of what was missed. All of it at once could take long, and nobody would see that it is being taken. */
  #recall(past: Past, missed: Iterator<StoredEvent>): readonly [Uint8Array] | undefined {
    let text = ""
    for (let next = missed.next(); next.done !== true; next = missed.next()) {
      const { data, id } = next.value
      past.after = id
      text += Sse.event(id, data)
      if (text.length >= piece) break
    }
    if (text === "") return undefined
    this.takenAt = this.#now()
    return [encoder.encode(text)]
  }

  /** All there is to be read, if it has ended before anybody began to: then it need not be read piece by piece. */
  takeWhole(): string | undefined {
    if (!this.#finished || this.#left || this.isBehind) return undefined
    const text = this.#pieces.join("")
    this.leave()
    return text
  }

  /** The body of the response. */
  readonly body: Stream.Stream<Uint8Array> = Stream.fromPull(Effect.withFiber((fiber) => {
    this.#fiber = fiber
    return Effect.succeed(this.#pull)
  })).pipe(Stream.ensuring(Effect.sync(() => this.leave())))
}

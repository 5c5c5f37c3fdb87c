/** A queue of outgoing messages with back-pressure: above the high-water mark, senders wait for room. */
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import { OutgoingCharge } from "./OutgoingCharge.ts"
import type { Encoded } from "./OutgoingFrame.ts"
import * as utf8 from "./utf8.ts"

/** The default high-water mark: 1 MiB. */
export const defaultHighWaterBytes: number = 1024 * 1024

/** The writer that takes the messages out of the queue. */
export interface Writer {
  /** Returns the number of bytes that were taken out of the queue and not sent yet. */
  readonly unsentBytes: () => number
  /** Returns whether more can be sent. While it cannot, senders wait for the error of {@link HighWaterQueue.fail}. */
  readonly isOpen: () => boolean
  /** Called when the queue is no longer empty. */
  readonly onReady: () => void
  /** Called when senders wait, or bytes are charged: call {@link HighWaterQueue.admit} when there is more room. */
  readonly onBlocked: () => void
}

interface Waiter<Item> {
  readonly item: Item
  readonly resume: (taken: Effect.Effect<void, TransportError.TransportError>) => void
}

export const sizeOf = (item: Encoded): number =>
  typeof item === "string" ? utf8.byteLength(item) : item.reduce((sum, { byteLength }) => sum + byteLength, 0)

/** The messages that are ready to be sent, as texts or as bytes, and the senders that wait for room. */
export class HighWaterQueue<in out Item extends Encoded = string> {
  readonly #writer: Writer
  readonly #charge: OutgoingCharge
  #ready: Array<Item> = []
  #readyBytes = 0
  /** The waiting senders, in order of arrival. An interrupted one is removed from a `Set` in constant time. */
  readonly #waiters = new Set<Waiter<Item>>()
  #ended: TransportError.TransportError | undefined

  constructor(writer: Writer, budget: MemoryBudget, highWaterBytes: number = defaultHighWaterBytes) {
    this.#writer = writer
    this.#charge = new OutgoingCharge(budget, highWaterBytes)
  }

  /** The error of senders, after the queue has ended. */
  get ended(): TransportError.TransportError | undefined {
    return this.#ended
  }

  /** Whether no message is ready. */
  get isEmpty(): boolean {
    return this.#ready.length === 0
  }

  /** The bytes of the messages that are ready. */
  get readyBytes(): number {
    return this.#readyBytes
  }

  /**
   * Takes a message. It succeeds at once below the high-water mark, so one message of any size always passes, and
   * suspends above it. A message whose sender is interrupted while it waits is not sent.
   */
  send(item: Item): Effect.Effect<void, TransportError.TransportError> {
    if (this.#ended !== undefined) return Effect.fail(this.#ended)
    // Reads the bytes of the writer once, because this runs for each message.
    const waitingBytes = this.#waitingBytes()
    if (this.#hasRoom(waitingBytes)) {
      this.#take(item, waitingBytes)
      return Effect.void
    }
    return Effect.callback((resume) => {
      const waiter = { item, resume }
      this.#waiters.add(waiter)
      // The fiber may have yielded since the check: by now there may be room, or the queue may have ended.
      this.admit()
      return Effect.sync(() => this.#waiters.delete(waiter))
    })
  }

  /** Whether a message would be taken at once. */
  get hasRoom(): boolean {
    return this.#ended === undefined && this.#hasRoom(this.#waitingBytes())
  }

  /** Takes a message that the writer has held, within the room that it had then. */
  takeHeld(item: Item): void {
    if (this.#ended === undefined) this.#take(item, this.#waitingBytes())
  }

  /** Takes the messages that are ready out of the queue. */
  takeReady(): ReadonlyArray<Item> {
    const ready = this.#ready
    this.#ready = []
    this.#readyBytes = 0
    return ready
  }

  /** Takes the messages of waiting senders, as far as there is room. */
  admit(): void {
    if (this.#ended !== undefined) return this.fail(this.#ended)
    for (const waiter of this.#waiters) {
      const waitingBytes = this.#waitingBytes()
      if (!this.#writer.isOpen() || !this.#charge.hasRoom(waitingBytes)) break
      this.#waiters.delete(waiter)
      this.#take(waiter.item, waitingBytes)
      waiter.resume(Effect.void)
    }
    const isOpen = this.#writer.isOpen()
    this.#charge.update(isOpen ? this.#waitingBytes() : 0)
    if (isOpen && (this.#waiters.size > 0 || this.#charge.isCharged)) this.#writer.onBlocked()
  }

  /** Takes no more messages, and fails waiting senders. Messages that are ready stay in the queue. */
  fail(error: TransportError.TransportError): void {
    this.#ended ??= error
    this.#charge.update(0)
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter)
      waiter.resume(Effect.fail(this.#ended))
    }
  }

  #hasRoom(waitingBytes: number): boolean {
    return this.#waiters.size === 0 && this.#writer.isOpen() && this.#charge.hasRoom(waitingBytes)
  }

  #waitingBytes(): number {
    return this.#readyBytes + this.#writer.unsentBytes()
  }

  #take(item: Item, waitingBytes: number): void {
    const bytes = sizeOf(item)
    this.#readyBytes += bytes
    this.#charge.update(waitingBytes + bytes)
    if (this.#ready.push(item) === 1) this.#writer.onReady()
  }
}

/** The streams of a peer's messages. */

import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Bounds } from "../collections/SlidingBuffer.ts"
import * as SlidingMailbox from "../collections/SlidingMailbox.ts"
import { trust } from "../trust.ts"
import * as Weight from "./Weight.ts"

/** The name under which every message is published. */
export const everything = "*"

/** The streams of the peer's messages. A message that no stream follows is not stored. */
export class Subscriptions {
  readonly #bounds: Bounds
  #followers: Map<string, Set<SlidingMailbox.SlidingMailbox<unknown>>> | undefined
  #ended = false

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /**
   * Publishes a value to all streams of this name; `bytes` is its size on the wire. Returns `false` if there are none.
   */
  publish(name: string, value: unknown, bytes: number | undefined): boolean {
    const mailboxes = this.#followers?.get(name)
    if (mailboxes === undefined) return false
    const weight = Weight.received(value, bytes)
    for (const mailbox of mailboxes) mailbox.offer(value, weight)
    return true
  }

  /** Streams the values of this name, from the start of the stream. A slow consumer loses the oldest. */
  follow<A>(name: string): Stream.Stream<A> {
    return Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => this.#open(name)),
        (mailbox) => Effect.sync(() => this.#leave(name, mailbox))
      ),
      // Every published value has been checked against the schema of its name.
      (mailbox) => trust<SlidingMailbox.SlidingMailbox<A>>(mailbox).stream
    ))
  }

  /** Ends the streams. */
  end(): void {
    this.#ended = true
    for (const mailboxes of this.#followers?.values() ?? []) for (const mailbox of mailboxes) mailbox.end()
    this.#followers = undefined
  }

  #open(name: string): SlidingMailbox.SlidingMailbox<unknown> {
    const mailbox = SlidingMailbox.make<unknown>(this.#bounds)
    if (this.#ended) mailbox.end()
    else {
      this.#followers ??= new Map()
      this.#followers.set(name, (this.#followers.get(name) ?? new Set()).add(mailbox))
    }
    return mailbox
  }

  #leave(name: string, mailbox: SlidingMailbox.SlidingMailbox<unknown>): void {
    mailbox.close()
    const mailboxes = this.#followers?.get(name)
    mailboxes?.delete(mailbox)
    if (mailboxes?.size === 0) this.#followers?.delete(name)
  }
}

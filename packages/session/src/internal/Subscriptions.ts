import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Bounds } from "./Backlog.ts"
import * as Mailbox from "./Mailbox.ts"
import { trust } from "./trust.ts"

/** The name under which everything that comes in is published. */
export const everything = "*"

/**
 * Who follows what the peer says. Nothing is kept for what nobody follows.
 */
export interface Subscriptions {
  /** Hands a value, which came in so many bytes, to everyone who follows this name; `false` when there is nobody. */
  readonly publish: (name: string, value: unknown, bytes: number) => boolean
  /** What is said under this name from now on; a slow follower loses the oldest. Ends with the session. */
  readonly follow: <A>(name: string) => Stream.Stream<A>
  readonly end: () => void
}

export const make = (bounds: Bounds): Subscriptions => {
  const followers = new Map<string, Set<Mailbox.Mailbox<unknown>>>()
  let ended = false

  const open = (name: string) => {
    const mailbox = Mailbox.make<unknown>(bounds)
    if (ended) mailbox.end()
    else followers.set(name, (followers.get(name) ?? new Set()).add(mailbox))
    return mailbox
  }

  const leave = (name: string, mailbox: Mailbox.Mailbox<unknown>) => {
    const mailboxes = followers.get(name)
    mailboxes?.delete(mailbox)
    if (mailboxes?.size === 0) followers.delete(name)
  }

  return {
    publish: (name, value, bytes) => {
      const mailboxes = followers.get(name)
      if (mailboxes === undefined) return false
      for (const mailbox of mailboxes) mailbox.offer(value, bytes)
      return true
    },
    follow: <A>(name: string) =>
      Stream.unwrap(Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => open(name)),
          (mailbox) => Effect.sync(() => leave(name, mailbox))
        ),
        // What is published under a name has been checked against the schema of that name.
        (mailbox) => trust<Mailbox.Mailbox<A>>(mailbox).stream
      )),
    end: () => {
      ended = true
      for (const mailboxes of followers.values()) for (const mailbox of mailboxes) mailbox.end()
      followers.clear()
    }
  }
}

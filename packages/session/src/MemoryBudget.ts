/**
 * The memory that the sessions of one process hold for their peers, all of them together.
 *
 * Each session has limits of its own, but a process may have thousands of sessions. The memory that peers can fill
 * quickly is charged to the budget of the process as well: the requests that a session serves, the notifications and
 * steps of progress that wait for a slow consumer, and the messages that wait to be sent. It is released when it is no
 * longer kept, at the latest with the session. A client's profile is not charged: its size (`Limits.maxProfileBytes`)
 * and the number of sessions are limits of their own.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NumericOption from "./NumericOption.ts"

/**
 * A number of bytes that many share. Sessions, sessionless servers and transports charge what they keep for their
 * peers.
 *
 * If the budget has no room, the largest holder yields: the budget asks the account that holds most, unless that is the
 * account that needs the room. A session with large requests in flight then answers its largest request with −32010
 * `Overloaded`, a session whose peer does not read its messages closes with `RepliesOverflow`, and notifications that
 * wait for a slow consumer are dropped. A holder of less than 1/4096 of the budget (64 KiB by default) is never asked.
 *
 * @category models
 */
export interface MemoryBudget {
  /** The most that may be charged at the same time, in bytes. */
  readonly maxBytes: number
  /** The bytes that are charged now. */
  readonly usedBytes: () => number
  /**
   * Charges so many bytes without an account, after larger holders have yielded if that is necessary. Returns `false`
   * and charges nothing if the bytes would exceed the limit all the same.
   */
  readonly take: (bytes: number) => boolean
  /** Releases so many of the bytes that were charged. */
  readonly release: (bytes: number) => void
  /** Opens an account for one holder. An account that holds nothing needs no closing. */
  readonly open: (options?: AccountOptions) => Account
}

/**
 * Options of an {@link Account}.
 *
 * @category options
 */
export interface AccountOptions {
  /**
   * Releases what the account holds, or a part of it, because a smaller holder needs the room. Called while that holder
   * is charged; must not throw. Default: the account is never asked.
   */
  readonly yields?: () => void
  /**
   * The account is for what waits for a peer that does not read. Such accounts may take half of the budget together, so
   * that the other half stays for requests. Beyond it, only the first bytes of an account, and accounts that stay
   * small, have room. Default `false`.
   */
  readonly isUnread?: boolean
}

/**
 * The charges of one holder: the requests of a session, its messages that wait to be sent, the notifications of one
 * consumer.
 *
 * @category models
 */
export interface Account {
  /** The bytes that are charged to this account now. */
  readonly heldBytes: number
  /**
   * Charges so many bytes, after larger holders have yielded if that is necessary. Returns `false` and charges nothing
   * if the bytes would exceed the limit of the budget all the same.
   */
  take(bytes: number): boolean
  /** Releases so many of the bytes that were charged to this account. */
  release(bytes: number): void
}

/**
 * Options of {@link make} and {@link layer}.
 *
 * @category options
 */
export interface Options {
  /** The most that may be charged at the same time, in bytes. Default 256 MiB: a quarter of a heap of 1 GiB. */
  readonly maxBytes?: number
}

/** A holder of a smaller share of the budget never yields, so that only so many are compared. */
const smallShare = 1 / 4096

/** The number of holders that may yield in vain for one charge: those whose memory is released later. */
const mostInVain = 8

class Accounts implements MemoryBudget {
  readonly maxBytes: number
  readonly #smallBytes: number
  #used = 0
  /** Those of the used bytes that wait for peers that do not read, as far as they are in accounts. */
  #unread = 0
  /** The holders that can yield, and are not small. */
  readonly #large = new Set<Holder>()

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.#smallBytes = maxBytes * smallShare
  }

  readonly usedBytes = (): number => this.#used

  readonly take = (bytes: number): boolean => {
    if (!this.#hasRoom(0, bytes)) return false
    this.#used += bytes
    return true
  }

  readonly release = (bytes: number): void => {
    this.#used -= bytes
  }

  readonly open = (options: AccountOptions = {}): Account => new Holder(this, options)

  /** Charges bytes to a holder. */
  charge(holder: Holder, bytes: number): boolean {
    const { heldBytes, isUnread } = holder
    if (isUnread && !this.#hasRoomUnread(heldBytes, bytes)) return false
    if (!this.#hasRoom(heldBytes, bytes)) return false
    this.move(holder, bytes)
    return true
  }

  /** Counts bytes that a holder has taken, or has released. */
  move(holder: Holder, bytes: number): void {
    this.#used += bytes
    if (holder.isUnread) this.#unread += bytes
    holder.heldBytes += bytes
    const isLarge = holder.yields !== undefined && holder.heldBytes > this.#smallBytes
    if (isLarge === holder.isLarge) return
    holder.isLarge = isLarge
    if (isLarge) this.#large.add(holder)
    else this.#large.delete(holder)
  }

  #hasRoom(heldBytes: number, bytes: number): boolean {
    if (this.#used + bytes <= this.maxBytes) return true
    this.#makeRoom(heldBytes + bytes, false, () => this.#used + bytes <= this.maxBytes)
    return this.#used + bytes <= this.maxBytes
  }

  #hasRoomUnread(heldBytes: number, bytes: number): boolean {
    if (this.#unread < this.maxBytes / 2) return true
    // The memory of a larger holder that was asked may be released a moment later.
    return this.#makeRoom(heldBytes + bytes, true, () => this.#unread < this.maxBytes / 2) ||
      heldBytes === 0 || heldBytes + bytes <= this.#smallBytes
  }

  /**
   * Lets the holders of more than so many bytes yield until there is room, the largest first. Returns whether there is
   * one.
   */
  #makeRoom(bytes: number, isUnread: boolean, hasRoom: () => boolean): boolean {
    const inVain = new Set<Holder>()
    let isAsked = false
    while (!hasRoom() && inVain.size < mostInVain) {
      const holder = this.#largest(bytes, isUnread, inVain)
      if (holder === undefined) break
      isAsked = true
      const before = this.#used
      holder.yields?.()
      if (this.#used >= before) inVain.add(holder)
    }
    return isAsked
  }

  #largest(bytes: number, isUnread: boolean, except: ReadonlySet<Holder>): Holder | undefined {
    let largest: Holder | undefined
    let most = bytes
    for (const holder of this.#large) {
      if (holder.heldBytes <= most || (isUnread && !holder.isUnread) || except.has(holder)) continue
      largest = holder
      most = holder.heldBytes
    }
    return largest
  }
}

class Holder implements Account {
  readonly #accounts: Accounts
  readonly yields: (() => void) | undefined
  readonly isUnread: boolean
  isLarge = false
  heldBytes = 0

  constructor(accounts: Accounts, { isUnread = false, yields }: AccountOptions) {
    this.#accounts = accounts
    this.yields = yields
    this.isUnread = isUnread
  }

  take(bytes: number): boolean {
    return this.#accounts.charge(this, bytes)
  }

  release(bytes: number): void {
    this.#accounts.move(this, -bytes)
  }
}

/**
 * Creates a budget of its own, of which nothing is charged yet.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 *
 * const budget = MemoryBudget.make({ maxBytes: 1000 })
 *
 * export const taken = [budget.take(800), budget.take(300), budget.usedBytes()] // => [true, false, 800]
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): MemoryBudget => {
  NumericOption.check(options, { maxBytes: NumericOption.count })
  const { maxBytes = 256 * 1024 * 1024 } = options
  return new Accounts(maxBytes)
}

/**
 * Returns whether half of a budget is charged. Then no more messages should wait for peers that do not read: the other
 * half stays for the requests of those that do.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 *
 * const budget = MemoryBudget.make({ maxBytes: 1000 })
 * budget.take(500)
 *
 * export const scarce = MemoryBudget.isScarce(budget) // => true
 * ```
 *
 * @category guards
 */
export const isScarce = (budget: MemoryBudget): boolean => budget.usedBytes() >= budget.maxBytes / 2

/**
 * The budget that sessions and servers charge. It is read where a session, a `SessionHost` or a sessionless server is
 * made. The default is one budget of 256 MiB for the whole process.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const usedMebibytes = Effect.map(
 *   MemoryBudget.MemoryBudget,
 *   (budget) => Math.round(budget.usedBytes() / 1024 / 1024)
 * )
 * ```
 *
 * @category services
 */
export const MemoryBudget: Context.Reference<MemoryBudget> = Context.Reference("@effect-mcp/session/MemoryBudget", {
  defaultValue: () => make()
})

/**
 * A budget of its own for the sessions and servers below it. Set it to about a quarter of the heap of the process, and
 * provide one constant of it to everything in the process that has sessions.
 *
 * @example
 * ```ts
 * import { MemoryBudget } from "@effect-mcp/session"
 *
 * // For a process that runs with --max-old-space-size=512.
 * export const small = MemoryBudget.layer({ maxBytes: 128 * 1024 * 1024 })
 * ```
 *
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<never> =>
  Layer.effect(MemoryBudget, Effect.sync(() => make(options)))

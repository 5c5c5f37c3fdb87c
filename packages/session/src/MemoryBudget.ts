/**
 * The budget of the memory that all sessions of a process hold for their peers.
 *
 * Each session has its own limits, but a process may have thousands of sessions. Therefore the memory that peers can
 * fill quickly is also charged to the budget of the process: the requests that a session serves, the notifications and
 * progress that wait for a slow consumer, and the messages that wait to be sent. The bytes are released when the memory
 * is no longer used, at the latest with the session. What a task holds is charged until its handler has ended; all
 * running tasks together can take a quarter of the budget, so that the rest stays for requests. A client's profile is
 * not charged, because its size (`Limits.maxProfileBytes`) and the number of sessions are limited separately.
 *
 * @stability unstable
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NumericOption from "./internal/NumericOption.ts"

/**
 * A number of bytes that sessions, stateless servers and transports share. They charge the memory that they hold for
 * their peers.
 *
 * If the budget has no room, the largest holder yields: the budget calls `yields` of the account that holds most,
 * unless that account itself needs the room. A session with large requests in flight then answers its largest request
 * with −31010 `Overloaded`. A session whose peer does not read its messages closes with `RepliesOverflow`.
 * Notifications that wait for a slow consumer are dropped. A holder of less than 1/4096 of the budget (64 KiB by
 * default) never yields.
 *
 * @category models
 */
export interface MemoryBudget {
  /** The bytes that can be charged at the same time. */
  readonly maxBytes: number
  /** The bytes that are charged now. */
  readonly usedBytes: () => number
  /**
   * Charges bytes without an account. If necessary, larger holders yield first. Returns `false` and charges nothing if
   * the bytes still exceed the limit.
   */
  readonly take: (bytes: number) => boolean
  /** Releases bytes that `take` charged. */
  readonly release: (bytes: number) => void
  /** Opens an account for one holder. An account does not need to be closed once all its bytes are released. */
  readonly open: (options?: AccountOptions) => Account
}

/**
 * Options for an {@link Account}.
 *
 * @category options
 */
export interface AccountOptions {
  /**
   * Releases all or some bytes of the account, because a smaller holder needs the room. The budget calls it while that
   * holder is charged. Must not throw. Default: the account never yields.
   */
  readonly yields?: () => void
  /**
   * Whether the account is for messages that wait for a peer that does not read. Such accounts together can take half
   * of the budget, so that the other half stays for requests. When they have half, only the first bytes of an account,
   * and accounts that stay small, have room. Default `false`.
   */
  readonly isUnread?: boolean
}

/**
 * The bytes of one holder: the requests of a session, its messages that wait to be sent, or the notifications of one
 * consumer.
 *
 * @category models
 */
export interface Account {
  /** The bytes that are charged to this account now. */
  readonly heldBytes: number
  /**
   * Charges bytes to this account. If necessary, larger holders yield first. Returns `false` and charges nothing if the
   * bytes still exceed the limit of the budget.
   */
  take(bytes: number): boolean
  /** Releases bytes that were charged to this account. */
  release(bytes: number): void
}

/**
 * Options for {@link make} and {@link layer}.
 *
 * @category options
 */
export interface Options {
  /** The bytes that can be charged at the same time. Default 256 MiB, a quarter of a heap of 1 GiB. */
  readonly maxBytes?: number
}

/** A holder of a smaller share of the budget never yields. At most 4096 holders are therefore compared. */
const smallShare = 1 / 4096

/** The number of holders that can yield for one charge without releasing bytes at once. */
const maxDelayedYields = 8

class Accounts implements MemoryBudget {
  readonly maxBytes: number
  readonly #smallBytes: number
  #used = 0
  /** The bytes of accounts for messages that wait for peers that do not read. */
  #unread = 0
  /** The holders that can yield and are not small. */
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

  /** Counts bytes that a holder takes; a negative number for bytes that it releases. */
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
    // A larger holder that yields may release its bytes a moment later, so its yielding counts as room.
    return this.#makeRoom(heldBytes + bytes, true, () => this.#unread < this.maxBytes / 2) ||
      heldBytes === 0 || heldBytes + bytes <= this.#smallBytes
  }

  /**
   * Makes the holders of more than `bytes` yield until there is room, the largest first. Returns whether a holder has
   * yielded.
   */
  #makeRoom(bytes: number, isUnread: boolean, hasRoom: () => boolean): boolean {
    const delayed = new Set<Holder>()
    let hasYielded = false
    while (!hasRoom() && delayed.size < maxDelayedYields) {
      const holder = this.#largest(bytes, isUnread, delayed)
      if (holder === undefined) break
      hasYielded = true
      const before = this.#used
      holder.yields?.()
      if (this.#used >= before) delayed.add(holder)
    }
    return hasYielded
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
 * Makes a budget with no charges.
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
 * Returns whether half of a budget is charged. If it is, no more messages should wait for peers that do not read,
 * because the other half is for the requests of peers that do.
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
 * The budget that sessions and servers charge. A session, a `SessionHost`, a stateless server, `ServerTasks` and
 * `ClientTasks` read this reference when they are made. The default is one budget of 256 MiB for the whole process.
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
 * Provides a separate budget for the sessions and servers that use this Layer. Set it to about a quarter of the heap of
 * the process, and provide one constant of this Layer to all sessions and servers of the process.
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

/** The changes that a bus has not sent yet: bounded, and each once. */

import type { Change } from "./ChangeBusShape.ts"
import * as ChangeMessage from "./ChangeMessage.ts"

/** The bounds of the changes that wait. */
export interface Bounds {
  /** The number of changes. */
  readonly capacity: number
  /** The bytes of all changes. */
  readonly bytes: number
  /** The bytes of a message. */
  readonly messageBytes: number
}

/** A message that is being sent. */
export interface Taken {
  readonly text: string
  /** The scopes of its changes and gaps. */
  readonly scopes: ChangeMessage.Lost
}

/** The bytes of the comma between two changes. */
const separator = 1

/** The number of scopes that one message can name as lost. Of more, all scopes are lost. */
const maxLostScopes = 8

/**
 * The changes that wait. Equal ones are one. If there are too many of them, or a change does not fit into a message,
 * only their scopes are kept: the receivers count everything in these as changed.
 */
export class PendingChanges {
  readonly #from: string
  readonly #bounds: Bounds
  /** The scopes by the items of the changes. */
  readonly #items = new Map<string, string>()
  #bytes = 0
  #lost: Set<string> | "all" = new Set()

  constructor(from: string, bounds: Bounds) {
    this.#from = from
    this.#bounds = bounds
  }

  add(change: Change): void {
    const { scope } = change
    if (this.#lost === "all" || this.#lost.has(scope)) return
    const item = ChangeMessage.itemOf(change)
    if (this.#items.has(item)) return
    const size = ChangeMessage.sizeOf(item)
    if (size + separator > this.#roomOf(new Set())) return this.lose(new Set([scope]))
    this.#items.set(item, scope)
    this.#bytes += size
    if (this.#items.size > this.#bounds.capacity || this.#bytes > this.#bounds.bytes) {
      this.lose(new Set(this.#items.values()))
    }
  }

  /** Replaces the changes of some scopes by gaps. */
  lose(scopes: ChangeMessage.Lost): void {
    if (this.#lost === "all") return
    const lost = scopes === "all" ? scopes : new Set([...this.#lost, ...scopes])
    const isNameable = lost !== "all" && lost.size <= maxLostScopes && this.#roomOf(lost) >= 0
    this.#lost = isNameable ? lost : "all"
    for (const [item, scope] of this.#items) if (this.#lost === "all" || this.#lost.has(scope)) this.#delete(item)
  }

  /** Takes as many changes as fit into one message, the gaps first. Returns `undefined` if nothing waits. */
  take(): Taken | undefined {
    const lost = this.#lost
    if (lost !== "all" && lost.size === 0 && this.#items.size === 0) return undefined
    this.#lost = new Set()
    const scopes = new Set(lost === "all" ? [] : lost)
    const items: Array<string> = []
    let room = this.#roomOf(lost)
    for (const [item, scope] of this.#items) {
      room -= ChangeMessage.sizeOf(item) + separator
      if (room < 0) break
      items.push(item)
      scopes.add(scope)
    }
    for (const item of items) this.#delete(item)
    return { text: ChangeMessage.encode(this.#from, lost, items), scopes: lost === "all" ? lost : scopes }
  }

  /** Returns the bytes that a message with these gaps has for changes. */
  #roomOf(lost: ChangeMessage.Lost): number {
    return this.#bounds.messageBytes - ChangeMessage.sizeOf(ChangeMessage.encode(this.#from, lost, []))
  }

  #delete(item: string): void {
    if (this.#items.delete(item)) this.#bytes -= ChangeMessage.sizeOf(item)
  }
}

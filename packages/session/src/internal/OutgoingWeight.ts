/**
 * The memory that a message takes while it waits to be sent. It is estimated and not encoded: to encode it would double what it takes,
 * and the transport encodes it again. The numbers are those of V8, and rather too high: a peer that does not read decides how many wait.
 */

import { trust } from "./trust.ts"

const arrayBytes = 48
const objectBytes = 56
const memberBytes = 64
const itemBytes = 8
/** The header of a text, or of a number that is no small whole one. */
const headerBytes = 24
/** A text with one character beyond Latin-1 takes two bytes for each UTF-16 unit. */
const unitBytes = 2

class Scale {
  bytes = 0
  readonly #most: number
  readonly #aside: Array<object> = []

  constructor(most: number) {
    this.#most = most
  }

  /** Adds a value. What it consists of is put aside, since a value may be nested more deeply than calls can be. */
  add(value: unknown): void {
    if (typeof value === "string") this.bytes += headerBytes + unitBytes * value.length
    else if (typeof value === "number") this.bytes += headerBytes
    else if (typeof value === "object" && value !== null) this.#aside.push(value)
  }

  /** Adds all that was put aside. Ends at the limit, so neither a cycle nor a large value takes long. */
  finish(): void {
    for (let next = this.#aside.pop(); next !== undefined && this.bytes <= this.#most; next = this.#aside.pop()) {
      if (Array.isArray(next)) this.#addItems(next)
      else if (ArrayBuffer.isView(next)) this.bytes += objectBytes + next.byteLength
      // An object is a record of whatever its members hold.
      else this.#addMembers(trust(next))
    }
  }

  #addItems(items: ReadonlyArray<unknown>): void {
    this.bytes += arrayBytes
    for (const item of items) {
      this.bytes += itemBytes
      if (this.bytes > this.#most) return
      this.add(item)
    }
  }

  #addMembers(members: { readonly [name: string]: unknown }): void {
    this.bytes += objectBytes
    // `Object.entries` takes ten times as long.
    for (const name in members) {
      this.bytes += memberBytes + unitBytes * name.length
      if (this.bytes > this.#most) return
      this.add(members[name])
    }
  }
}

/** The bytes of heap that a value takes. A value of more than `most` bytes is not looked at any further. */
export const of = (value: unknown, most: number): number => {
  const scale = new Scale(most)
  try {
    scale.add(value)
    scale.finish()
  } catch {
    // A program's own object may throw when it is looked at. Such a message is not sent either.
  }
  return scale.bytes
}

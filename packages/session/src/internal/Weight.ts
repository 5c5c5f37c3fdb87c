/**
 * The memory that parsed JSON takes, which may be twenty times its text. The numbers are those of V8 in Node: measured, `[]` takes 40
 * bytes as an item of an array, `{}` takes 64, and a member with a name of its own takes 106. At its worst JSON takes a quarter more than
 * is counted here, and mostly less: short names and whole objects are shared.
 */

import { trust } from "./trust.ts"

const arrayBytes = 48
const objectBytes = 56
const memberBytes = 64
const itemBytes = 8
/** The header of a string, or of a number that is no small whole one. */
const headerBytes = 24
/** A string with one character beyond Latin-1 takes two bytes for each of its UTF-16 code units. */
const unitBytes = 2

/** No more arrays and objects than these are looked into, so that no value can make this take long. */
const mostContainers = 1_000_000

/** What a value takes beside its place in what it stands in; arrays and objects are put aside, to be counted by themselves. */
const ofScalar = (value: unknown, aside: Array<object>): number => {
  switch (typeof value) {
    case "string":
      return headerBytes + unitBytes * value.length
    case "number":
      return (value | 0) === value ? 0 : headerBytes
    case "object":
      if (value !== null) aside.push(value)
      return 0
    default:
      return 0
  }
}

const ofArray = (items: ReadonlyArray<unknown>, aside: Array<object>): number => {
  let bytes = arrayBytes + itemBytes * items.length
  for (const item of items) bytes += ofScalar(item, aside)
  return bytes
}

const ofObject = (members: { readonly [name: string]: unknown }, aside: Array<object>): number => {
  let bytes = objectBytes
  // `Object.entries` takes ten times as long, and what came as JSON inherits no members.
  for (const name in members) bytes += memberBytes + unitBytes * name.length + ofScalar(members[name], aside)
  return bytes
}

/**
 * The bytes of heap of a value that came as JSON. Counted without recursion, because peers choose how deeply it is nested. A value of more
 * than `most` bytes is not looked at any further.
 */
export const of = (value: unknown, most: number = Number.POSITIVE_INFINITY): number => {
  const aside: Array<object> = []
  let bytes = ofScalar(value, aside)
  for (let left = mostContainers; left > 0 && bytes <= most; left--) {
    const container = aside.pop()
    if (container === undefined) break
    // An object is a record of whatever its members hold.
    bytes += Array.isArray(container) ? ofArray(container, aside) : ofObject(trust(container), aside)
  }
  return bytes
}

/**
 * The bytes of heap of a message that a program of this process has made, as far as `most`; so a cycle ends, too. 0 for an object that
 * throws when it is looked at: such a message cannot be sent either, and is gone when its turn comes.
 */
export const outgoing = (message: unknown, most: number): number => {
  try {
    return of(message, most)
  } catch {
    return 0
  }
}

/**
 * The bytes of heap to charge for a value that came in so many bytes; 0 for one that did not come in bytes. That one belongs to a program
 * in this process, which holds it in any case.
 */
export const received = (value: unknown, bytes: number | undefined): number => bytes === undefined ? 0 : of(value)

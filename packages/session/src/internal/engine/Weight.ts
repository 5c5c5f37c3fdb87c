/** Estimates of the memory of parsed JSON, which may be twenty times that of its text. */

// The numbers are those of V8 in Node: measured, `[]` takes 40 bytes as an item of an array, `{}` takes 64, and a
// member with a name of its own takes 106. At its worst JSON takes a quarter more than this estimate, and mostly less,
// because short names and whole objects are shared.

import { trust } from "../trust.ts"

const arrayBytes = 48
const objectBytes = 56
const memberBytes = 64
const itemBytes = 8
/** The header of a string, or of a number that is no small whole one. */
const headerBytes = 24
/** A string with one character beyond Latin-1 takes two bytes for each of its UTF-16 code units. */
const unitBytes = 2

/** The bytes of a text, whatever its characters are. */
const ofAnyText = (text: string): number => headerBytes + unitBytes * text.length

/** Shorter texts are not looked into. */
const longText = 1024

const beyondLatin1 = /[\u0100-\uffff]/

/**
 * The bytes of a text, and of a long one by its characters. V8 knows of nearly all texts without looking at them that
 * none can match.
 */
const ofKnownText = (text: string): number =>
  text.length > longText && !beyondLatin1.test(text) ? headerBytes + text.length : ofAnyText(text)

/** No more arrays and objects than these are looked into, so that no value can make this take long. */
const mostContainers = 1_000_000

/**
 * Returns the bytes of a value beside its place in its container. Arrays and objects are put aside, to be counted by
 * themselves.
 */
const ofScalar = (value: unknown, aside: Array<object>, ofText: typeof ofAnyText): number => {
  switch (typeof value) {
    case "string":
      return ofText(value)
    case "number":
      return (value | 0) === value ? 0 : headerBytes
    case "object":
      if (value !== null) aside.push(value)
      return 0
    default:
      return 0
  }
}

const ofArray = (items: ReadonlyArray<unknown>, aside: Array<object>, ofText: typeof ofAnyText): number => {
  let bytes = arrayBytes + itemBytes * items.length
  for (const item of items) bytes += ofScalar(item, aside, ofText)
  return bytes
}

const ofObject = (
  members: { readonly [name: string]: unknown },
  aside: Array<object>,
  ofText: typeof ofAnyText
): number => {
  let bytes = objectBytes
  // `Object.entries` takes ten times as long, and what came as JSON inherits no members.
  for (const name in members) bytes += memberBytes + unitBytes * name.length + ofScalar(members[name], aside, ofText)
  return bytes
}

/**
 * Counts without recursion, because peers choose how deeply a value is nested; and no further than a little beyond
 * `most`.
 */
const count = (value: unknown, most: number, ofText: typeof ofAnyText): number => {
  const aside: Array<object> = []
  let bytes = ofScalar(value, aside, ofText)
  for (let left = mostContainers; left > 0 && bytes <= most; left--) {
    const container = aside.pop()
    if (container === undefined) break
    // An object is a record of whatever its members hold.
    bytes += Array.isArray(container) ? ofArray(container, aside, ofText) : ofObject(trust(container), aside, ofText)
  }
  return bytes
}

/** The bytes of heap of a value that came as JSON. One of more than `most` bytes is not looked at any further. */
export const of = (value: unknown, most: number = Number.POSITIVE_INFINITY): number => count(value, most, ofAnyText)

/**
 * The bytes of heap of a message that a program of this process has made, as far as `most`; so a cycle ends, too. 0 for
 * an object that throws when it is looked at: such a message cannot be sent either, and is gone when its turn comes.
 */
export const outgoing = (message: unknown, most: number): number => {
  try {
    return count(message, most, ofKnownText)
  } catch {
    return 0
  }
}

/**
 * The bytes of heap to charge for a value that came in so many bytes; 0 for one that did not come in bytes. That one
 * belongs to a program in this process, which holds it in any case.
 */
export const received = (value: unknown, bytes: number | undefined): number => bytes === undefined ? 0 : of(value)

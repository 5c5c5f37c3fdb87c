/** Estimates of the memory of parsed JSON, which may be twenty times the size of its text. */

// Measured with V8 in Node: `[]` takes 40 bytes as an item of an array, `{}` takes 64, and a member with a unique name
// takes 106. In the worst case JSON takes a quarter more than this estimate. It mostly takes less, because V8 shares
// short names and the layout of objects.

import { trust } from "../trust.ts"

const arrayBytes = 48
const objectBytes = 56
const memberBytes = 64
const itemBytes = 8
/** The header of a string, or of a number that is not a small integer. */
const headerBytes = 24
/** A string with one character beyond Latin-1 takes two bytes for each of its UTF-16 code units. */
const unitBytes = 2

/** Returns the most bytes that a text of this length takes. */
const ofAnyText = (text: string): number => headerBytes + unitBytes * text.length

/** The length from which the characters of a text are examined. */
const longText = 1024

const beyondLatin1 = /[\u0100-\uffff]/

/**
 * Returns the bytes of a text. The characters of a long one are examined; for most of them V8 knows without a search
 * that the pattern cannot match.
 */
const ofKnownText = (text: string): number =>
  text.length > longText && !beyondLatin1.test(text) ? headerBytes + text.length : ofAnyText(text)

/** The maximum number of arrays and objects that are counted, so that the time is bounded. */
const maxContainers = 1_000_000

/**
 * Returns the bytes of a value without its slot in its container. Adds arrays and objects to `aside`, to count later.
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
  // `Object.entries` takes ten times as long, and objects that were parsed from JSON inherit no members.
  for (const name in members) {
    const member = members[name]
    // JSON has no such member: a value and its copy from JSON weigh the same.
    if (member === undefined) continue
    bytes += memberBytes + unitBytes * name.length + ofScalar(member, aside, ofText)
  }
  return bytes
}

/** Counts without recursion, because peers decide how deeply a value is nested. Stops soon after `max`. */
const count = (value: unknown, max: number, ofText: typeof ofAnyText): number => {
  const aside: Array<object> = []
  let bytes = ofScalar(value, aside, ofText)
  for (let left = maxContainers; left > 0 && bytes <= max; left--) {
    const container = aside.pop()
    if (container === undefined) break
    // Every object is a record of unknown members.
    bytes += Array.isArray(container) ? ofArray(container, aside, ofText) : ofObject(trust(container), aside, ofText)
  }
  return bytes
}

/** Returns the memory in bytes of a value that was parsed from JSON. Stops counting after `max` bytes. */
export const of = (value: unknown, max: number = Number.POSITIVE_INFINITY): number => count(value, max, ofAnyText)

/**
 * Returns the memory in bytes of a message that this program has made. Stops counting after `max` bytes, so that a
 * cycle ends as well. Returns 0 for an object that throws when it is read: sending this message fails as soon as it is
 * tried.
 */
export const outgoing = (message: unknown, max: number): number => {
  try {
    return count(message, max, ofKnownText)
  } catch {
    return 0
  }
}

/**
 * Returns the memory in bytes to charge for a received value; `bytes` is its size on the wire. Returns 0 for a value
 * from a transport without bytes, because another part of this process holds it in any case.
 */
export const received = (value: unknown, bytes: number | undefined): number => bytes === undefined ? 0 : of(value)

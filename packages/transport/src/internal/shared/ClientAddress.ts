/** The address of a client, which identifies clients without a principal. */
import * as Option from "effect/Option"

/** The groups of an IPv6 address that identify a client, which may use any address of its network of 64 bits. */
const networkGroups = 4

const networkOf = (address: string): string => {
  const [withoutZone = ""] = address.split("%")
  const [head = "", tail] = withoutZone.split("::")
  const before = head === "" ? [] : head.split(":")
  if (tail === undefined) return before.slice(0, networkGroups).join(":")
  const after = tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: Math.max(8 - before.length - after.length, 0) }, () => "0")
  return [...before, ...zeros, ...after].slice(0, networkGroups).join(":")
}

/** Returns an IPv4 address unchanged, also one that is written as IPv6, and the network of any other IPv6 address. */
export const normalize = (address: string): string => {
  if (!address.includes(":")) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  return mapped?.[1] ?? networkOf(address)
}

/** A request, as far as its address matters. */
interface Request {
  readonly remoteAddress: Option.Option<string>
}

/**
 * Returns the address of the client of a request, if it is known. A reverse proxy replaces it by its own, unless a
 * middleware sets it.
 */
export const of = (request: Request): string | undefined =>
  Option.getOrUndefined(Option.map(request.remoteAddress, normalize))

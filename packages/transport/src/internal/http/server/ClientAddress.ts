/** The address of a client, by which clients are distinguished that have no principal. */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"

/** The groups of an IPv6 address that one client has: it may use any address of its network of 64 bits. */
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

/** An IPv4 address as it is, also one that is written as IPv6; of any other IPv6 address the network. */
export const normalize = (address: string): string => {
  if (!address.includes(":")) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  return mapped?.[1] ?? networkOf(address)
}

/**
 * The address that a request comes from, where it is known. Behind a proxy that is the proxy's, unless a middleware has
 * set it.
 */
export const of = (request: HttpServerRequest): string | undefined =>
  Option.getOrUndefined(Option.map(request.remoteAddress, normalize))

/** The names that a group gives to the tools and prompts of its servers. */

import * as Sha256 from "../Sha256.ts"

/** The characters and the length that names may have. */
export interface NameRules {
  readonly allowed: RegExp
  readonly maxLength: number
}

/** The rules of the protocol (TOOL-10), and those that the interfaces of model providers have in common. */
export const rules = {
  protocol: { allowed: /^[A-Za-z0-9_.-]+$/, maxLength: 128 },
  model: { allowed: /^[A-Za-z0-9_-]+$/, maxLength: 64 }
} as const satisfies Record<string, NameRules>

/** The characters between the name of a server and that of its tool. */
const separator = "__"

/**
 * The numbers of hexadecimal digits that tell names apart. With 8 digits, a server finds a name that equals one of
 * another server in hours. The longer number follows a clash.
 */
const digits = [16, 32]

/** An original name: a server, and the name that it gave. */
export interface Origin {
  readonly server: string
  readonly name: string
}

export const isSame = (left: Origin, right: Origin): boolean => left.server === right.server && left.name === right.name

/** Returns whether a name can be found by the first separator. */
const isDivisible = (server: string): boolean => !server.includes(separator) && !server.endsWith("_")

const isAllowed = (name: string, { allowed, maxLength }: NameRules): boolean =>
  name.length <= maxLength && allowed.test(name)

/** Returns the allowed characters of a text, without runs of underscores, so that it never contains the separator. */
const readable = (text: string): string => text.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "")

/** Returns a name that differs from those of all other origins by the beginning of a hash. */
const hashed = ({ name, server }: Origin, length: number, { maxLength }: NameRules): string => {
  const hash = Sha256.hexOf(JSON.stringify([server, name])).slice(0, length)
  const parts = `${readable(server).slice(0, (maxLength - length) >> 2)}_${readable(name)}`
  return `${readable(parts).slice(0, maxLength - length - 1)}_${hash}`.replace(/_+/g, "_")
}

/**
 * Returns the name of an origin: the server, two underscores, and the original name. A name that this would make
 * ambiguous, too long or not allowed gets a readable form and a hash instead. It has no two underscores in a row, so
 * that it differs from all names of the first kind. The name depends on its origin alone, whatever other servers have.
 */
export const nameOf = (origin: Origin, nameRules: NameRules): string => {
  const name = `${origin.server}${separator}${origin.name}`
  return isDivisible(origin.server) && isAllowed(name, nameRules) ? name : hashed(origin, digits[0] ?? 16, nameRules)
}

/** Returns the names to try in turn: the proposed one if it is allowed, and then those with longer hashes. */
export const candidates = (origin: Origin, proposed: string, nameRules: NameRules): ReadonlyArray<string> => [
  ...isAllowed(proposed, nameRules) ? [proposed] : [],
  ...digits.map((length) => hashed(origin, length, nameRules))
]

/** Returns the origin of a name that {@link nameOf} has made without a hash. */
export const originOf = (name: string): Origin | undefined => {
  const at = name.indexOf(separator)
  return at <= 0 ? undefined : { server: name.slice(0, at), name: name.slice(at + separator.length) }
}

/** Returns whether a name that {@link nameOf} has made may be that of a member of a server. */
export const mayBe = (name: string, server: string): boolean => {
  const origin = originOf(name)
  if (origin !== undefined) return origin.server === server
  // A hashed name begins with the readable name of its server, or with the beginning of a long one.
  const beginning = readable(server)
  return beginning.startsWith(name.slice(0, beginning.length)) || name.startsWith(beginning.slice(0, 12))
}

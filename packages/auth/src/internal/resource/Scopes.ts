/** Lists of scopes: parsing, hierarchies, and the scope that a resource server does not ask for. */

/** Returns the scopes of a `scope` value: a text with spaces, or the array that some servers issue. */
export const parse = (value: unknown): ReadonlyArray<string> => {
  const names: ReadonlyArray<unknown> = typeof value === "string"
    ? value.split(" ")
    : Array.isArray(value)
    ? value
    : []
  return Array.from(new Set(names.filter((name): name is string => typeof name === "string" && name !== "")))
}

/** Returns the scopes that a client can request for this server: all but `offline_access` (AUT-49). */
export const requestable = (scopes: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from(new Set(scopes)).filter((scope) => scope !== "offline_access")

/** The most scopes of a principal, so that a hierarchy without end stays bounded. */
const maxScopes = 1_000

/** Returns these scopes, and all that they include (AUT-48). */
export const expand = (
  scopes: ReadonlyArray<string>,
  includes: (scope: string) => ReadonlyArray<string>
): ReadonlyArray<string> => {
  const expanded = new Set(scopes)
  // A set yields what is added while it is read.
  for (const scope of expanded) {
    for (const included of includes(scope)) {
      if (expanded.size >= maxScopes) return Array.from(expanded)
      expanded.add(included)
    }
  }
  return Array.from(expanded)
}

/** The URL of a protected resource, and the URL of its metadata (RFC 9728, sections 1.2 and 3). */

/** The well-known path of the metadata of protected resources. */
export const wellKnown = "/.well-known/oauth-protected-resource"

// Texts are cut, not parsed: the URL class would add a slash, and clients compare characters (AUT-07). A tenant may
// depend on the header `Host`: without the slash of the path, the expression would take quadratic time.
const parts = /^([a-z][a-z0-9+.-]*:\/\/[^/?#\s]+)(\/[^?#\s]*)?(\?[^#\s]*)?$/i

/** Returns the reason why a text is no URL of a protected resource. */
export const problemOf = (resource: string): string | undefined => {
  if (!parts.test(resource) || !URL.canParse(resource)) return "is not an absolute URL without a fragment"
  const { password, protocol, username } = new URL(resource)
  if (username !== "" || password !== "") return "has a user or a password"
  return protocol === "https:" || protocol === "http:" ? undefined : "begins with neither https: nor http:"
}

/** Returns a resource with its scheme and its host in lower case. A text that is no URL stays as it is. */
const lowerCase = (resource: string): string => {
  const [, origin = ""] = parts.exec(resource) ?? []
  return `${origin.toLowerCase()}${resource.slice(origin.length)}`
}

/** Returns whether two texts name the same resource: only the case of the scheme and the host may differ (AUT-24). */
export const isSame = (one: string, other: string): boolean => lowerCase(one) === lowerCase(other)

/** Returns the URL of the metadata of a resource. */
export const metadataUrl = (resource: string): string => {
  const [, origin = "", path = "", query = ""] = parts.exec(resource) ?? []
  return `${origin}${wellKnown}${path === "/" ? "" : path}${query}`
}

/** Returns the path of the metadata of a resource, without its query. */
export const metadataPath = (resource: string): `/${string}` => {
  const [, , path = ""] = parts.exec(resource) ?? []
  return `${wellKnown}${path === "/" ? "" : path}`
}

/** Returns the path of the resource whose metadata is at this path: `/` for the root. */
export const pathOfMetadata = (path: string): string => {
  const rest = path.slice(wellKnown.length)
  return rest === "" ? "/" : rest
}

/** URIs of a mounted group: the prefix follows the scheme, as in `tasks://work/7` for `tasks://7` under `work`. */

const beginning = /^([A-Za-z][A-Za-z0-9+.-]*:(?:\/\/)?)(.*)$/s

/** The conversion of the URIs of a group to those that clients see, and back. */
export interface UriMapping {
  /** Returns the URI, or the text of the template, that clients see. `undefined` if it does not begin with a scheme. */
  readonly outer: (uri: string) => string | undefined
  /** Returns the URI that the group knows. `undefined` if the URI is none of this prefix. */
  readonly inner: (uri: string) => string | undefined
}

/** Leaves URIs as they are. */
export const unchanged: UriMapping = { outer: (uri) => uri, inner: (uri) => uri }

/** Inserts a prefix after the scheme of URIs. */
export const prefixed = (prefix: string): UriMapping => {
  const inserted = `${prefix}/`
  const parts = (uri: string): readonly [string, string] | undefined => {
    const [, scheme, rest] = beginning.exec(uri) ?? []
    return scheme === undefined || rest === undefined ? undefined : [scheme, rest]
  }
  return {
    outer: (uri) => {
      const [scheme, rest] = parts(uri) ?? []
      return scheme === undefined || rest === undefined ? undefined : `${scheme}${inserted}${rest}`
    },
    inner: (uri) => {
      const [scheme, rest] = parts(uri) ?? []
      return scheme === undefined || rest?.startsWith(inserted) !== true
        ? undefined
        : `${scheme}${rest.slice(inserted.length)}`
    }
  }
}

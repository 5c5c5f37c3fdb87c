/** The URIs of files, and the names in them. Each name is decoded once, and checked after that. */

/** The names that Windows gives to devices, with any extension. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\.|$)/i

const forbidden = /[\\/\p{Cc}]/u

/** Names of Windows with a drive or a stream, a short form, or an end that Windows ignores. */
const windowsForbidden = /[:*?"<>|]|[. ]$|~\d/

/** The rules for names. */
export interface Rules {
  readonly hidden: boolean
  readonly windows: boolean
}

/** Returns whether a name can be served: a URI can have it, and it names no parent or device. */
export const isServed = (name: string, { hidden, windows }: Rules): boolean =>
  name !== "" && name !== "." && name !== ".." && name.isWellFormed() && !forbidden.test(name) &&
  (hidden || !name.startsWith(".")) &&
  !(windows && (windowsForbidden.test(name) || device.test(name)))

const decode = (text: string): string | undefined => {
  if (/[?#]/.test(text)) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Returns the names in the path of a URI. `undefined` if one of them is malformed or cannot be served. */
export const names = (path: string, rules: Rules): ReadonlyArray<string> | undefined => {
  const decoded: Array<string> = []
  for (const text of path.split("/")) {
    const name = decode(text)
    if (name === undefined || !isServed(name, rules)) return undefined
    decoded.push(name)
  }
  return decoded
}

/** Returns the beginning of a name that a client completes. `undefined` if it is malformed. */
export const beginning = decode

/** Returns the path of a URI. */
export const path = (names: ReadonlyArray<string>): string => names.map(encodeURIComponent).join("/")

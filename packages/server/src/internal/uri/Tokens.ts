/**
 * Tokens of a URI: its characters and percent-encoded octets, normalized.
 *
 * A token is a number: the code of an ASCII character, or 256 plus the octet of a triplet such as `%2F`. A triplet of
 * an unreserved character is that character (RFC 3986 section 6.2.2.2), so equivalent URIs have the same tokens.
 */

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

const reserved = ":/?#[]@!$&'()*+,;="

const tableOf = (characters: string): ReadonlyArray<boolean> =>
  Array.from({ length: 128 }, (_, code) => characters.includes(String.fromCharCode(code)))

const unreservedCodes = tableOf(unreserved)
const reservedCodes = tableOf(reserved)

/** Returns whether a token is an unreserved character (RFC 3986 section 2.3). */
export const isUnreserved = (token: number): boolean => unreservedCodes[token] === true

/** Returns whether a token is a reserved character (RFC 3986 section 2.2). */
export const isReserved = (token: number): boolean => reservedCodes[token] === true

/** Returns whether a token is a triplet. */
export const isTriplet = (token: number): boolean => token >= 256

const percent = 37

const digitOf = (code: number): number =>
  code >= 48 && code <= 57
    ? code - 48
    : code >= 65 && code <= 70
    ? code - 55
    : code >= 97 && code <= 102
    ? code - 87
    : -1

/** Returns the octet of the triplet at an index, or -1 if there is none. */
export const octetAt = (text: string, index: number): number => {
  if (text.charCodeAt(index) !== percent || index + 2 >= text.length) return -1
  const high = digitOf(text.charCodeAt(index + 1))
  const low = digitOf(text.charCodeAt(index + 2))
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

/** Returns the token at an index, or -1 for a malformed triplet or a character that no URI has. */
export const tokenAt = (uri: string, index: number): number => {
  const code = uri.charCodeAt(index)
  if (code !== percent) return unreservedCodes[code] === true || reservedCodes[code] === true ? code : -1
  const octet = octetAt(uri, index)
  return octet < 0 ? -1 : isUnreserved(octet) ? octet : 256 + octet
}

/** Returns the number of characters of the token at an index. */
export const widthAt = (uri: string, index: number): number => uri.charCodeAt(index) === percent ? 3 : 1

/** Returns the tokens of ASCII text without malformed triplets. */
export const tokensOf = (text: string): ReadonlyArray<number> => {
  const tokens: Array<number> = []
  for (let index = 0; index < text.length; index += widthAt(text, index)) tokens.push(tokenAt(text, index))
  return tokens
}

/** Returns the triplet of an octet. */
export const triplet = (octet: number): string => `%${octet < 16 ? "0" : ""}${octet.toString(16).toUpperCase()}`

/** Returns the text of a token. */
export const textOf = (token: number): string => isTriplet(token) ? triplet(token - 256) : String.fromCharCode(token)

const utf8 = new TextEncoder()

/** Encodes text as triplets, in UTF-8. A lone surrogate becomes U+FFFD. */
export const tripletsOf = (text: string): string => Array.from(utf8.encode(text), triplet).join("")

/** Encodes each character outside of ASCII, as RFC 3987 section 3.1 does. A lone surrogate gives `undefined`. */
export const toAscii = (iri: string): string | undefined => {
  try {
    return iri.replaceAll(/[\u0080-\uffff]+/g, encodeURIComponent)
  } catch {
    return undefined
  }
}

/** Decodes the triplets of text, once. Octets that are not UTF-8 give `undefined`. */
export const decode = (text: string): string | undefined => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

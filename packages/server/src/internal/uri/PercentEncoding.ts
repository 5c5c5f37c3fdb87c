/** Percent-encoding (RFC 3986 section 2.1), and the normal form of URIs (section 6.2.2). */

/** Returns the triplet of an ASCII character. */
const tripletOf = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** Encodes all characters but the unreserved ones. A lone surrogate becomes U+FFFD. */
export const encode = (text: string): string =>
  text.replaceAll(
    /[^\w\-.~]+/g,
    (found) => encodeURIComponent(found.toWellFormed()).replaceAll(/[!'()*]/g, tripletOf)
  )

/** Matches a triplet, or characters that no URI has. */
const foreign = /%[0-9A-Fa-f]{2}|%|[^\w\-.~:/?#[\]@!$&'()*+,;=%]+/g

/** Encodes the characters that no URI has. Triplets are copied. A lone surrogate becomes U+FFFD. */
export const encodeReserved = (text: string): string =>
  text.replaceAll(
    foreign,
    (found) => found.length === 3 && found.startsWith("%") ? found : encodeURIComponent(found.toWellFormed())
  )

/** Matches an ASCII character that no URI has, and a `%` without a triplet. */
const notUri = /[^\w\-.~:/?#[\]@!$&'()*+,;=%\u0080-\uffff]|%(?![0-9A-Fa-f]{2})/

/** Returns a triplet in upper case, or the unreserved character that it encodes. */
const normalizedTriplet = (triplet: string): string => {
  const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
  return /[\w\-.~]/.test(character) ? character : triplet.toUpperCase()
}

/** Returns a length that the normal form of a URI has at least, without encoding it. */
export const leastLength = (iri: string): number => {
  let length = 0
  for (let index = 0; index < iri.length; index++) {
    const unit = iri.charCodeAt(index)
    // A triplet may become one character. A pair of surrogates becomes four triplets.
    const isShort = unit < 0x800 || (unit >= 0xd800 && unit < 0xe000)
    length += iri[index] === "%" ? -1 : unit < 0x80 ? 1 : isShort ? 6 : 9
  }
  return length
}

/**
 * Returns the form that equivalent URIs share. Characters outside of ASCII are encoded, as RFC 3987 section 3.1 does.
 * Returns `undefined` for a text that is no URI.
 */
export const normalized = (iri: string): string | undefined =>
  notUri.test(iri) || !iri.isWellFormed()
    ? undefined
    : iri.replaceAll(/[\u0080-\uffff]+/g, encodeURIComponent).replaceAll(/%../g, normalizedTriplet)

/** Decodes the triplets of a text, once. Octets that are not UTF-8 give `undefined`. */
export const decode = (text: string): string | undefined => {
  try {
    return text.includes("%") ? decodeURIComponent(text) : text
  } catch {
    return undefined
  }
}

/**
 * The texts of identifiers: of issuers, and of resources.
 *
 * They are compared character by character, are keys of the store, and are shown to people. The parser of URLs leaves
 * out line breaks, and takes control characters and letters that look like others, so that it cannot check a text.
 */

/** The characters of a URI (RFC 3986), and a length that a store and a message can have. */
const visible = /^[\x21-\x7e]{1,2048}$/

/** Returns whether a text is a URL that has only the characters of a URI. */
export const isUrl = (text: string): boolean => visible.test(text) && URL.canParse(text)

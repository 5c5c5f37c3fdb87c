/** The scopes of OAuth (RFC 6749, section 3.3). */

const token = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Returns whether a value is a scope, which a challenge can have among others: without spaces, quotes, backslashes. */
export const isScope = (value: unknown): value is string => typeof value === "string" && token.test(value)

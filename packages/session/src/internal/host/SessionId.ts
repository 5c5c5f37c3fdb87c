/** Web Crypto, which every platform has; no library of types is at hand that would cover them all. */
declare const crypto: { readonly randomUUID: () => string }

/** The id of a new session: visible ASCII (SHS-22), from a source that cannot be guessed (SHS-21). */
export const make = (): string => crypto.randomUUID()

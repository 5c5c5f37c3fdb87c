/**
 * Ids of sessions, for transports that need the id before the host opens the session.
 */

/** Web Crypto, which every platform has. No library of types covers all platforms. */
declare const crypto: { readonly randomUUID: () => string }

/**
 * Returns a new id: visible ASCII (SHS-22), from a cryptographic source (SHS-21).
 *
 * @example
 * ```ts
 * import * as SessionId from "@effect-mcp/session/SessionId"
 *
 * export const length = SessionId.make().length // => 36
 * ```
 *
 * @category constructors
 */
export const make = (): string => crypto.randomUUID()

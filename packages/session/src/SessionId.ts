/**
 * Ids of sessions, for transports that need the id before the host opens the session.
 */
import * as webCrypto from "./internal/webCrypto.ts"

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
export const make = (): string => webCrypto.randomUUID()

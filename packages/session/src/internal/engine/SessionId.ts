/** Ids of sessions, for transports that need the id before the host opens the session. */
import * as Context from "effect/Context"
import * as webCrypto from "../webCrypto.ts"

/** Returns a new id: visible ASCII (SHS-22), from a cryptographic source (SHS-21). */
export const make = (): string => webCrypto.randomUUID()

/**
 * Returns the text with which the request ids of a restored session begin, a new one each time (law 3). Default: 56
 * random bits, from a cryptographic source. Effect's `Random` would not do, because a program may give it a seed, and
 * each start of the program would then have the same ids. A simulation provides texts that its seed reproduces (law
 * 13).
 */
export const RequestIdPrefix: Context.Reference<() => string> = Context.Reference(
  "@effect-mcp/session/SessionId/RequestIdPrefix",
  { defaultValue: () => () => `${Array.from(webCrypto.randomBytes(7), asDigits).join("")}-` }
)

const asDigits = (byte: number): string => byte.toString(36).padStart(2, "0")

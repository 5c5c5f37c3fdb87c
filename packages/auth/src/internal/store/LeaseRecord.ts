/**
 * The JSON in which stores of texts keep a lease.
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { Lease } from "../keys/Lease.ts"

const decodeLease = Schema.decodeUnknownExit(Schema.fromJsonString(Schema.Struct({
  owner: Schema.String,
  acquiredAt: Schema.Finite,
  expiresAt: Schema.Finite
})))

/** Returns the text of a lease. That of no lease is empty JSON. */
export const encode = (lease: Lease | undefined): string => JSON.stringify(lease ?? {})

/**
 * Returns a lease, if the text is one. A text that is none, such as that of a damaged file, is no lease: tokens could
 * never be refreshed if it was.
 */
export const decode = (text: string | undefined): Lease | undefined => {
  const exit = text === undefined ? undefined : decodeLease(text)
  return exit !== undefined && Exit.isSuccess(exit) ? exit.value : undefined
}

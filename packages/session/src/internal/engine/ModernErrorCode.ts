/** The codes of errors in a revision without a handshake. */

import { ErrorCode } from "@effect-mcp/protocol"

/** The codes of the specification's range, −32020 to −32099, that have a meaning in this revision. */
const assigned: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion
])

/** Returns the code in the place of one that this revision does not have: MSG-23, and MSG-22 for its range. */
export const of = (code: number): number => {
  if (code === ErrorCode.ResourceNotFound) return ErrorCode.InvalidParams
  const isReserved = code <= -32020 && code >= -32099
  return isReserved && !assigned.has(code) ? ErrorCode.InternalError : code
}

/** The judgement of the response to `initialize`: whether there is a session, and what its server can do. */

import {
  ErrorCode,
  JsonRpc,
  McpError,
  MethodTable,
  type Profile,
  Revision,
  RevisionProjection
} from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type * as HandshakeError from "../../HandshakeError.ts"
import * as KeptProfile from "../engine/KeptProfile.ts"
import { validate } from "../engine/validation.ts"
import type { ClientDescription } from "./ClientDescription.ts"
import * as Discovery from "./Discovery.ts"

/**
 * Returns the reason of a client whose `initialize` the server rejected. A server without the handshake should name its
 * revisions (VER-20); one that does not is known by the codes of its errors.
 */
const rejectedBy = (
  revisions: ReadonlyArray<Revision.Revision>,
  received: JsonRpc.ErrorObject
): HandshakeError.HandshakeErrorReason => {
  const offered = Discovery.supportedIn(received)
  const error = McpError.received(received)
  if (offered !== undefined) {
    return revisions.some((revision) => offered.includes(revision))
      ? { _tag: "Rejected", error }
      : Discovery.noCommonRevision(revisions, offered)
  }
  const isModern = received.code === ErrorCode.UnsupportedProtocolVersion || Discovery.isModern(received)
  return isModern && revisions.every(Revision.isLegacy) ? { _tag: "ModernServer", error } : { _tag: "Rejected", error }
}

/**
 * Judges the response to `initialize`: returns the server's profile, as far as it may be kept, or the reason why there
 * is no session.
 */
export const judge = (
  { projection, revisions }: ClientDescription,
  maxProfileBytes: number,
  response: JsonRpc.Response
): Result.Result<KeptProfile.Kept<Profile.ServerProfile>, HandshakeError.HandshakeErrorReason> => {
  if (JsonRpc.isFailure(response)) return Result.fail(rejectedBy(revisions, response.error))
  const result = validate(MethodTable.requests.initialize.result)(response.result)
  if (Result.isFailure(result)) return Result.fail({ _tag: "InvalidResult", problem: result.failure })
  const { instructions, protocolVersion, serverInfo } = result.success
  const revision = revisions.filter(Revision.isLegacy).find((revision) => revision === protocolVersion)
  if (revision === undefined) {
    return Result.fail({ _tag: "UnsupportedRevision", chosen: protocolVersion, supported: revisions })
  }
  // A capability that has no meaning in the revision does not count as declared, even if the result has it.
  const { capabilities } = RevisionProjection.project("initialize", "result", revision, result.success, projection)
  return Result.mapError(
    KeptProfile.within({ revision, capabilities, info: serverInfo, instructions }, maxProfileBytes),
    (problem) => ({ _tag: "InvalidResult", problem })
  )
}

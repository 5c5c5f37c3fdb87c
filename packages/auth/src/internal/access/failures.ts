/** Errors of an authorization as errors of a transport. */
import * as TransportError from "@effect-mcp/session/TransportError"
import type { OAuthError, OAuthErrorReason } from "../../OAuthError.ts"

/** The kinds that another attempt may not have. */
const isPassing = (reason: OAuthErrorReason): boolean =>
  reason._tag === "Unavailable" ||
  (reason._tag === "StoreFailed" && (reason.error.reason._tag === "Unavailable" ||
    reason.error.reason._tag === "Conflict"))

/** Returns the failure of a request to a server. */
export const failed = (server: string, error: OAuthError): TransportError.TransportError =>
  TransportError.make({
    _tag: "AuthorizationFailed",
    target: server,
    problem: error.message,
    cause: error,
    ...(isPassing(error.reason) ? {} : { isPermanent: true })
  })

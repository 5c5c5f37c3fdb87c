import * as Predicate from "effect/Predicate"

/** The name was not found, or the connection was not made; TLS failed before there was one. */
const codes: ReadonlySet<unknown> = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_INVALID_ARG",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
])

/** What the platform was doing when it failed. */
const calls: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo"])

/** Whether this ended a request before anything of it could be sent. What is not known to have done so has not. */
export const isConnectError = (cause: unknown): boolean =>
  (Predicate.hasProperty(cause, "code") && codes.has(cause.code)) ||
  (Predicate.hasProperty(cause, "syscall") && calls.has(cause.syscall)) ||
  (Predicate.hasProperty(cause, "cause") && isConnectError(cause.cause))

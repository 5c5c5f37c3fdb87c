/** The challenges of a resource server (RFC 6750, section 3; RFC 9449, section 7.1; RFC 9728, section 5.1). */
import * as AuthenticationChallenge from "@effect-mcp/transport/AuthenticationChallenge"

/** The error codes of a challenge. */
export type ErrorCode =
  | "insufficient_scope"
  | "invalid_dpop_proof"
  | "invalid_request"
  | "invalid_token"
  | "use_dpop_nonce"

/** One challenge, without the resource. */
export interface Problem {
  /** The scheme that the client has used; that of the first challenge. */
  readonly scheme: "Bearer" | "DPoP"
  /** Absent if the request has no credentials. */
  readonly error?: ErrorCode | undefined
  readonly description?: string | undefined
  readonly scopes: ReadonlyArray<string>
}

/** The parts that all challenges of a resource have. */
export interface Settings {
  readonly metadataUrl: string
  /** Whether the server offers DPoP to clients that do not use it. */
  readonly offersDpop: boolean
  /** Whether the server accepts tokens without DPoP. */
  readonly acceptsBearer: boolean
  readonly dpopAlgorithms: ReadonlyArray<string>
}

/** Returns the value of `WWW-Authenticate`. The scheme of the request is first, because many clients read only that. */
export const print = ({ description, error, scheme, scopes }: Problem, settings: Settings): string => {
  const shared = {
    error,
    error_description: description,
    resource_metadata: settings.metadataUrl,
    scope: scopes.length === 0 ? undefined : scopes.join(" ")
  }
  const algs = settings.dpopAlgorithms.join(" ")
  if (scheme === "DPoP" || !settings.acceptsBearer) {
    return AuthenticationChallenge.print("DPoP", { ...shared, algs })
  }
  const bearer = AuthenticationChallenge.print("Bearer", shared)
  return settings.offersDpop ? `${bearer}, ${AuthenticationChallenge.print("DPoP", { algs })}` : bearer
}

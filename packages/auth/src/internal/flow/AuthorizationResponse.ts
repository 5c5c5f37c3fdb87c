/** The check of the redirect by which an authorization server answers (RFC 9207; AUT-25, AUT-29, AUT-30). */
import * as Result from "effect/Result"
import * as OAuthError from "../../OAuthError.ts"
import type { Metadata } from "../discovery/Target.ts"

/** The state and the issuer of a request, which are recorded before the person visits its URL (AUT-28). */
export interface Recorded {
  readonly state: string
  readonly issuer: string
  /** Whether the metadata states that redirects have the issuer. */
  readonly hasIssuer: boolean
}

/** Returns the record of a request. */
export const record = (state: string, metadata: Metadata): Recorded => ({
  state,
  issuer: metadata.issuer,
  hasIssuer: metadata.authorization_response_iss_parameter_supported === true
})

/** Returns the value of a parameter that occurs once. */
const single = (parameters: URLSearchParams, name: string): string | undefined => {
  const [value, ...others] = parameters.getAll(name)
  return others.length === 0 ? value : undefined
}

const used = ["state", "iss", "code", "error", "error_description"]

/**
 * Returns whether the parameters are those of the answer to the request: any page can send a redirect with another
 * state, so that such a one changes nothing. A parameter that is repeated can be read in two ways.
 */
export const isExpected = ({ state }: Recorded) => (parameters: URLSearchParams): boolean =>
  single(parameters, "state") === state && used.every((name) => parameters.getAll(name).length <= 1)

/**
 * Returns the problem with the issuer of a redirect. Strings are compared, and not URLs. The four cases:
 *
 * | metadata              | redirect     | result    |
 * | --------------------- | ------------ | --------- |
 * | promises the issuer   | has it       | compared  |
 * | promises the issuer   | has none     | rejected  |
 * | does not              | has it       | compared  |
 * | does not              | has none     | accepted  |
 */
const issuerProblem = ({ hasIssuer, issuer }: Recorded, parameters: URLSearchParams): string | undefined => {
  const given = single(parameters, "iss")
  if (given === undefined) return hasIssuer ? "it has no iss, which the metadata promises" : undefined
  return given === issuer ? undefined : "its iss is another issuer"
}

/**
 * Returns the code of a redirect. With a wrong issuer, nothing of the redirect is used, its error included: an attacker
 * has sent it.
 */
export const codeOf = (
  recorded: Recorded,
  parameters: URLSearchParams
): Result.Result<string, OAuthError.OAuthError> => {
  const { issuer } = recorded
  const problem = issuerProblem(recorded, parameters)
  if (problem !== undefined) return Result.fail(OAuthError.make({ _tag: "MixedUp", issuer, problem }))
  const error = single(parameters, "error")
  const description = single(parameters, "error_description")
  if (error !== undefined) {
    return Result.fail(
      OAuthError.make({ _tag: "Denied", issuer, error, ...(description === undefined ? {} : { description }) })
    )
  }
  const code = single(parameters, "code")
  return code === undefined || code === ""
    ? Result.fail(OAuthError.make({ _tag: "UserAgentFailed", problem: "the redirect has neither a code nor an error" }))
    : Result.succeed(code)
}

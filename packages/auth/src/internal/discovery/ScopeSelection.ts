/** The scopes that an authorization requests. */
import type { AuthenticationChallenge } from "@effect-mcp/transport/AuthenticationChallenge"
import type { Target } from "./Target.ts"

/** The most scopes of a request: they become part of a URL. */
const maxScopes = 200

/** The scope for refresh tokens of OpenID Connect. */
const offlineAccess = "offline_access"

/** The characters of a scope (RFC 6749, 3.3). */
const scope = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Returns the scopes of a parameter, without repetitions. */
export const parse = (text: string): ReadonlyArray<string> =>
  Array.from(new Set(text.split(" ").filter((part) => scope.test(part)))).slice(0, maxScopes)

/** Returns the scopes of several lists, each once. */
export const union = (...lists: ReadonlyArray<ReadonlyArray<string> | undefined>): ReadonlyArray<string> =>
  Array.from(new Set(lists.flatMap((list) => list ?? []).filter((part) => scope.test(part)))).slice(0, maxScopes)

/** The values on which a selection depends. */
export interface Selection {
  readonly target: Target
  readonly challenge?: AuthenticationChallenge | undefined
  /** The scopes that the program wants in any case. */
  readonly wanted?: ReadonlyArray<string> | undefined
  /** The scopes that were requested before: a step-up keeps them (AUT-39). */
  readonly requested?: ReadonlyArray<string> | undefined
  /** Whether the program wants refresh tokens. Default `true`. */
  readonly isOffline?: boolean | undefined
}

/**
 * Returns the scopes to request: those of the challenge, else those that the resource supports, unless the program
 * names its own, else none, which is `undefined` (AUT-26). The challenge counts even if the resource does not list its
 * scopes (AUT-27). Scopes that were requested before are kept. `offline_access` is requested only if the authorization
 * server lists it (AUT-36), and not because a resource names it (AUT-49).
 */
export const select = (
  { challenge, isOffline = true, requested, target, wanted }: Selection
): ReadonlyArray<string> | undefined => {
  const challenged = challenge?.parameters["scope"]
  // A program that names its scopes does not get all that the resource supports.
  const named = challenged === undefined ? wanted ?? target.scopes : parse(challenged)
  const supportsOffline = target.metadata.scopes_supported?.includes(offlineAccess) === true
  const selected = union(requested, wanted, named).filter((one) => one !== offlineAccess || supportsOffline)
  const scopes = isOffline && supportsOffline && selected.length > 0 ? union(selected, [offlineAccess]) : selected
  return scopes.length === 0 ? undefined : scopes
}

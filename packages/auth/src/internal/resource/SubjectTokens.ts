/**
 * The tokens of the principals of requests, for exchanges.
 *
 * Handlers have principals, and no module outside of this package can read this table (AUT-43).
 */
import type { Principal } from "@effect-mcp/session/Principal"
import type * as Redacted from "effect/Redacted"

/** The token that a principal was identified by. */
export interface SubjectToken {
  readonly token: Redacted.Redacted<string>
  readonly issuer: string
}

let tokens: WeakMap<Principal, SubjectToken> | undefined

/** Keeps a token for as long as its principal is in use. */
export const keep = (principal: Principal, token: SubjectToken): void => {
  tokens ??= new WeakMap()
  tokens.set(principal, token)
}

/** Returns the token of a principal, if a resource server of this process has made it. */
export const of = (principal: Principal): SubjectToken | undefined => tokens?.get(principal)

/**
 * An access token that is verified, and the error of one that is not.
 *
 * @stability unstable
 */
import type { Unavailable } from "@effect-mcp/transport/Authentication"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

/**
 * An access token that its issuer has confirmed for this resource.
 *
 * @category models
 */
export interface VerifiedToken {
  /** The issuer, exactly as its verifier names it. */
  readonly issuer: string
  /** The account, or the client of a token that belongs to no account. Unique at the issuer. */
  readonly subject: string
  /** The scopes of the token, without those that they include. */
  readonly scopes: ReadonlyArray<string>
  /** The time at which the token expires, in milliseconds since the epoch; `undefined` if it is not known. */
  readonly expiresAt: number | undefined
  /** All claims of the token, or of the answer to its introspection. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The thumbprint of the key that the client proves to have (RFC 9449); `undefined` for a bearer token. */
  readonly keyThumbprint?: string | undefined
}

/**
 * The error of a token that is not accepted. Its request is rejected with 401.
 *
 * @example
 * ```ts
 * import { VerifiedToken } from "@effect-mcp/auth"
 *
 * export const message = new VerifiedToken.TokenRejected({ problem: "it has expired" }).message
 * // => "the token is not accepted: it has expired"
 * ```
 *
 * @category errors
 */
export class TokenRejected extends Data.TaggedError("TokenRejected")<{
  /** The reason, without any part of the token. The client receives it. */
  readonly problem: string
}> {
  override get message(): string {
    return `the token is not accepted: ${this.problem}`
  }
}

/**
 * A function that verifies a token for a resource. `Unavailable` means that this cannot be decided now: the request is
 * rejected with 503. A 401 would let every client sign in again.
 *
 * @category models
 */
export type Verify<R = never> = (
  token: Redacted.Redacted<string>,
  resource: string
) => Effect.Effect<VerifiedToken, TokenRejected | Unavailable, R>

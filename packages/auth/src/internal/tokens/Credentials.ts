/**
 * The tokens of one key, which are renewed once for all fibers, connections and processes.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { OAuthError } from "../../OAuthError.ts"
import type * as TokenStore from "../../TokenStore.ts"
import type { StoredTokens, TokenResponse } from "./StoredTokens.ts"

/** The key of tokens. */
export type TokensKey = Extract<TokenStore.Key, { readonly _tag: "Tokens" }>

/**
 * An occurrence that the callers of credentials do not learn otherwise. It has no part of a token.
 *
 * - `Refreshed`: this process has renewed the tokens.
 * - `RefreshFailed`: the tokens could not be renewed, and are kept. The next attempt is after `retryInMillis`.
 * - `Revoked`: the issuer has rejected the refresh token, and the store has no newer one. The tokens are removed.
 * - `NotSaved`: the tokens were renewed, and could not be written. They stay in memory, and are written later.
 * - `Saved`: such tokens are written now.
 * - `LeaseLost`: another process has taken the lease of a refresh that took too long.
 */
export type CredentialsEvent =
  | { readonly _tag: "Refreshed"; readonly key: TokensKey }
  | {
    readonly _tag: "RefreshFailed"
    readonly key: TokensKey
    readonly error: OAuthError
    readonly retryInMillis: number
  }
  | { readonly _tag: "Revoked"; readonly key: TokensKey; readonly error: OAuthError }
  | { readonly _tag: "NotSaved"; readonly key: TokensKey; readonly error: TokenStore.TokenStoreError }
  | { readonly _tag: "Saved"; readonly key: TokensKey }
  | { readonly _tag: "LeaseLost"; readonly key: TokensKey }

/** The tokens of a key. One value serves all fibers and connections; several values and processes share the store. */
export interface Credentials {
  readonly key: TokensKey
  /** Returns the tokens in memory, unless they have to be refreshed at this time. Most requests need no more. */
  readonly freshAt: (now: number) => StoredTokens | undefined
  /** Returns the tokens: those in memory, else those of the store. They may have expired. Sends no request. */
  readonly current: Effect.Effect<StoredTokens | undefined, OAuthError>
  /**
   * Returns tokens that have not expired, after a refresh if they are about to. Returns `undefined` if a person has to
   * sign in: there are no tokens, or they have expired and cannot be renewed, or the issuer has revoked them.
   *
   * Fails if the tokens have expired and cannot be renewed now: `Unavailable`, `TokenRequestFailed` (but not
   * `invalid_grant`), or `StoreFailed`. They are kept, and a person cannot help. Until the next attempt, calls fail
   * at once with the same error. Tokens that have not expired are returned in any case.
   */
  readonly refreshIfNeeded: Effect.Effect<StoredTokens | undefined, OAuthError>
  /**
   * Returns other tokens than those that a server has rejected, after a refresh if there are none. Returns `undefined`
   * if a person has to sign in, and fails, as `refreshIfNeeded` does.
   */
  readonly refreshAfter: (rejected: Redacted.Redacted<string>) => Effect.Effect<StoredTokens | undefined, OAuthError>
  /**
   * Stores the tokens of a response after a person has signed in, in place of any others. `sentAt` is the time of the
   * token request, and `scopes` are those that it requested. A write that fails is the event `NotSaved`.
   */
  readonly save: (
    response: TokenResponse,
    request: { readonly sentAt: number; readonly scopes: ReadonlyArray<string> | undefined }
  ) => Effect.Effect<StoredTokens>
  /** Removes the tokens from the store and the memory, and returns those that were removed, for revocation. */
  readonly remove: Effect.Effect<StoredTokens | undefined, OAuthError>
}

/** Options of credentials. Times are in milliseconds. */
export interface Options {
  readonly store: TokenStore.TokenStore["Service"]
  readonly key: TokensKey
  /**
   * Requests new tokens. Fails with `TokenRequestFailed` if the issuer rejects the request, and with `Unavailable` if
   * there is no response, or one that is not of a token endpoint, such as status 500 or broken JSON.
   */
  readonly refresh: (tokens: RefreshableTokens) => Effect.Effect<TokenResponse, OAuthError>
  readonly onEvent?: ((event: CredentialsEvent) => Effect.Effect<void>) | undefined
  /** The time before the expiry from which tokens are renewed. Default 30 seconds; a quarter of a short lifetime. */
  readonly margin?: number | undefined
  /** The time for which a lease is acquired and prolonged. Default 10 seconds. */
  readonly lease?: number | undefined
  /** The deadline of a token request, and of the wait for another process. Default 30 seconds. */
  readonly deadline?: number | undefined
}

/** Tokens with a refresh token. */
export interface RefreshableTokens extends StoredTokens {
  readonly refreshToken: Redacted.Redacted<string>
}

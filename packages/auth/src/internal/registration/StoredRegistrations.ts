/** The registrations of an account in a token store. */
import * as Effect from "effect/Effect"
import * as OAuthError from "../../OAuthError.ts"
import type * as TokenStore from "../../TokenStore.ts"
import * as ContainedStore from "../tokens/ContainedStore.ts"
import * as StoredRegistration from "../tokens/StoredRegistration.ts"

/** The registration and the version of its entry. */
export interface Read {
  readonly registration: StoredRegistration.StoredRegistration
  readonly version: string
}

/** The registrations by issuer. */
export interface StoredRegistrations {
  readonly read: (issuer: string) => Effect.Effect<Read | undefined, OAuthError.OAuthError>
  /** Writes the registration. Returns `false` if another program has written one meanwhile. */
  readonly write: (
    issuer: string,
    registration: StoredRegistration.StoredRegistration,
    expected: string | undefined
  ) => Effect.Effect<boolean, OAuthError.OAuthError>
  /** Removes the registration of this version. One that was changed meanwhile stays. */
  readonly remove: (issuer: string, version: string) => Effect.Effect<void, OAuthError.OAuthError>
  /** The issuers with registrations. */
  readonly issuers: Effect.Effect<ReadonlyArray<string>, OAuthError.OAuthError>
}

const failed = (error: TokenStore.TokenStoreError): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "StoreFailed", error })

/** Returns the value that stands for a conflict. */
const onConflict = <A>(value: A) => (error: TokenStore.TokenStoreError): Effect.Effect<A, OAuthError.OAuthError> =>
  error.reason._tag === "Conflict" ? Effect.succeed(value) : Effect.fail(failed(error))

/** Creates the registrations of an account. */
export const make = (given: TokenStore.TokenStore["Service"], account: string): StoredRegistrations => {
  const store = ContainedStore.of(given)
  const keyOf = (issuer: string): TokenStore.Key => ({ _tag: "Registration", issuer, account })
  return {
    read: Effect.fnUntraced(function*(issuer): Effect.fn.Return<Read | undefined, OAuthError.OAuthError> {
      const entry = yield* Effect.mapError(store.read(keyOf(issuer)), failed)
      if (entry === undefined) return undefined
      const { text, version } = entry
      const registration = yield* Effect.mapError(Effect.fromResult(StoredRegistration.decode(text)), failed)
      return { registration, version }
    }),
    write: (issuer, registration, expected) =>
      store.write(keyOf(issuer), StoredRegistration.encode(registration), expected).pipe(
        Effect.as(true),
        Effect.catch(onConflict(false))
      ),
    remove: (issuer, version) => Effect.catch(store.remove(keyOf(issuer), version), onConflict(undefined)),
    issuers: Effect.map(
      Effect.mapError(store.keys, failed),
      (keys) => keys.flatMap((key) => key._tag === "Registration" && key.account === account ? [key.issuer] : [])
    )
  }
}

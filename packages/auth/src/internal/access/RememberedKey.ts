/** The search for stored tokens of a server, before the server has sent a challenge. */
import * as Effect from "effect/Effect"
import * as OAuthError from "../../OAuthError.ts"
import type { Key } from "../../TokenStore.ts"
import * as ResourceMetadata from "../discovery/ResourceMetadata.ts"
import * as StoredRegistrations from "../registration/StoredRegistrations.ts"
import * as ContainedStore from "../tokens/ContainedStore.ts"
import type { TokensKey } from "../tokens/Credentials.ts"
import type { ServerSettings } from "./ServerSettings.ts"

/** Returns whether the client of the key is the one that the program is at the issuer. */
const isOwn = ({ account, identity, store }: ServerSettings, key: TokensKey) => {
  if (identity.metadataUrl === key.client) return Effect.succeed(true)
  const given = identity.preRegistered?.find(({ clientId }) => clientId === key.client)
  if (given !== undefined) return Effect.succeed(given.issuer === undefined || given.issuer === key.issuer)
  return Effect.map(
    StoredRegistrations.make(store, account).read(key.issuer),
    (read) => read?.registration.clientId === key.client
  )
}

const isTokens = (key: Key): key is TokensKey => key._tag === "Tokens"

/**
 * Returns the key of tokens that were issued for the server. Tokens are used without a challenge only if there is no
 * doubt: of several keys, it is the one with the longest resource, if this is one.
 */
export const find = Effect.fnUntraced(function*(
  settings: ServerSettings
): Effect.fn.Return<TokensKey | undefined, OAuthError.OAuthError> {
  const { account, server, store } = settings
  const keys = yield* Effect.mapError(
    ContainedStore.of(store).keys,
    (error) => OAuthError.make({ _tag: "StoreFailed", error })
  )
  const fitting = keys.filter(isTokens).filter((key) =>
    key.account === account && ResourceMetadata.fits(server, key.resource)
  )
  const own = yield* Effect.filter(fitting, (key) => isOwn(settings, key))
  const longest = Math.max(0, ...own.map(({ resource }) => resource.length))
  const [key, ...others] = own.filter(({ resource }) => resource.length === longest)
  return others.length === 0 ? key : undefined
})

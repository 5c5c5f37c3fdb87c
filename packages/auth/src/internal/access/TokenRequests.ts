/** The requests with stored tokens: their refresh, and their revocation. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as OAuthError from "../../OAuthError.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import { resourceOf } from "../flow/CodeFlow.ts"
import * as TokenEndpoint from "../flow/TokenEndpoint.ts"
import type { Nonces } from "../proof/Nonces.ts"
import * as ProofKey from "../proof/ProofKey.ts"
import type { RefreshableTokens, TokensKey } from "../tokens/Credentials.ts"
import type { StoredTokens, TokenResponse } from "../tokens/StoredTokens.ts"
import type { ServerSettings } from "./ServerSettings.ts"

export class TokenRequests {
  readonly #settings: ServerSettings
  readonly #nonces: Nonces

  constructor(settings: ServerSettings, nonces: Nonces) {
    this.#settings = settings
    this.#nonces = nonces
  }

  /** Requests new tokens with a refresh token, at the issuer that has issued it, as the same client. */
  refresh(key: TokensKey, tokens: RefreshableTokens): Effect.Effect<TokenResponse, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      const found = yield* this.#endpointOf(key, tokens)
      if (found === undefined) return yield* unusable(key, "the program is another client than the one of the tokens")
      const { endpoint, target } = found
      if (tokens.proofKey !== undefined && endpoint.proof === undefined) {
        return yield* unusable(key, "the key that the tokens are bound to is damaged")
      }
      const { response } = yield* Effect.tapError(
        TokenEndpoint.request(endpoint, {
          type: "refresh_token",
          parameters: { refresh_token: Redacted.value(tokens.refreshToken), resource: resourceOf(target) }
        }),
        ({ reason }) =>
          reason._tag === "TokenRequestFailed" && reason.error === "invalid_client"
            ? Effect.flatMap(
              this.#settings.registration.forget(target, key.client),
              // The client is gone, and so are its tokens.
              (isForgotten) => isForgotten ? unusable(key, "the issuer does not know the client any more") : Effect.void
            )
            : Effect.void
      )
      return response
    })
  }

  /** Revokes tokens at the issuer that has issued them (RFC 7009). */
  revoke(key: TokensKey, tokens: StoredTokens): Effect.Effect<void, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      const found = yield* this.#endpointOf(key, tokens)
      if (found?.endpoint.metadata.revocation_endpoint === undefined) return
      const { client, clientAuth, http, metadata, server } = found.endpoint
      const request = (token: Redacted.Redacted<string>) =>
        OAuthLibrary.call(
          http,
          { server, issuer: key.issuer },
          async (library, options) =>
            library.processRevocationResponse(
              await library.revocationRequest(metadata, client, clientAuth, Redacted.value(token), options)
            )
        )
      // The refresh token first: with it, most servers revoke the access token as well.
      if (tokens.refreshToken !== undefined) yield* request(tokens.refreshToken)
      // Many servers cannot revoke signed access tokens, which expire soon (RFC 7009, section 2.2.1).
      yield* Effect.catchIf(request(tokens.accessToken), isUnsupported, () => Effect.void)
    })
  }

  /** Returns the endpoint for requests with stored tokens; `undefined` if the program is another client now. */
  #endpointOf(key: TokensKey, tokens: StoredTokens) {
    return Effect.gen({ self: this }, function*() {
      const { discovery, http, registration, server } = this.#settings
      const target = yield* discovery.discover({ server, use: "Token" })
      const client = target.issuer === key.issuer ? yield* registration.known(target) : undefined
      if (client === undefined || client.client.client_id !== key.client) return undefined
      const proofKey = tokens.proofKey === undefined ? undefined : yield* ProofKey.parse(tokens.proofKey)
      const endpoint: TokenEndpoint.Endpoint = {
        http,
        server,
        metadata: target.metadata,
        client: client.client,
        clientAuth: client.clientAuth,
        proof: proofKey === undefined ? undefined : { key: proofKey, nonces: this.#nonces }
      }
      return { target, endpoint }
    })
  }
}

/** Returns whether an issuer cannot revoke tokens of this kind. */
const isUnsupported = ({ reason }: OAuthError.OAuthError): boolean =>
  reason._tag === "TokenRequestFailed" && reason.error === "unsupported_token_type"

/** Returns the error by which credentials treat a refresh token as revoked. */
const unusable = ({ issuer }: TokensKey, description: string): Effect.Effect<never, OAuthError.OAuthError> =>
  Effect.fail(OAuthError.make({
    _tag: "TokenRequestFailed",
    issuer,
    status: 400,
    error: "invalid_grant",
    description
  }))

/** Credentials whose tokens are refreshed at the token endpoint of a real authorization server. */
import * as OAuthError from "@effect-mcp/auth/OAuthError"
import type * as TokenStore from "@effect-mcp/auth/TokenStore"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { RefreshableTokens, TokensKey } from "../../src/internal/tokens/Credentials.ts"
import * as SharedCredentials from "../../src/internal/tokens/SharedCredentials.ts"
import type { TokenResponse } from "../../src/internal/tokens/StoredTokens.ts"

export const resource = "https://notes.example/mcp"

export const client = "client"

export const keyOf = (issuer: string): TokensKey => ({ _tag: "Tokens", issuer, resource, client, account: "ada" })

/** The members of a response that the tests use. */
interface Body {
  readonly access_token?: string
  readonly refresh_token?: string
  readonly expires_in?: number
  readonly error?: string
}

const request = (issuer: string, { refreshToken }: RefreshableTokens) =>
  Effect.tryPromise({
    try: async (signal): Promise<{ readonly status: number; readonly body: Body }> => {
      const body = new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: Redacted.value(refreshToken),
        client_id: client,
        resource
      })
      const response = await fetch(`${issuer}/token`, { method: "POST", body, signal })
      return { status: response.status, body: JSON.parse(await response.text()) }
    },
    catch: () => OAuthError.make({ _tag: "Unavailable", url: `${issuer}/token`, problem: "no response" })
  })

const refresh = (issuer: string, tokens: RefreshableTokens): Effect.Effect<TokenResponse, OAuthError.OAuthError> =>
  Effect.flatMap(request(issuer, tokens), ({ body, status }) =>
    body.access_token === undefined
      ? Effect.fail(OAuthError.make({ _tag: "TokenRequestFailed", issuer, status, error: body.error ?? "" }))
      : Effect.succeed({
        accessToken: Redacted.make(body.access_token),
        tokenType: "Bearer",
        refreshToken: body.refresh_token === undefined ? undefined : Redacted.make(body.refresh_token),
        scopes: undefined,
        expiresInMillis: body.expires_in === undefined ? undefined : 1000 * body.expires_in
      }))

/** Makes the credentials of a client at an issuer. */
export const tokensOf = (store: TokenStore.TokenStore["Service"], issuer: string) =>
  SharedCredentials.make({ store, key: keyOf(issuer), refresh: (tokens) => refresh(issuer, tokens) })

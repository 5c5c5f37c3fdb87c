/**
 * Tokens of other APIs for the principals of requests, in exchange for the tokens of clients (RFC 8693).
 *
 * The client's own token goes to the issuer that has issued it, and nowhere else (AUT-43).
 *
 * @stability unstable
 */
import { CanonicalJson, LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import type { Principal } from "@effect-mcp/session/Principal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Client } from "./ClientIdentity.ts"
import * as OAuthHttp from "./internal/fetch/OAuthHttp.ts"
import * as Digest from "./internal/resource/Digest.ts"
import * as ExchangeRequest from "./internal/resource/ExchangeRequest.ts"
import * as IssuerUrl from "./internal/resource/IssuerUrl.ts"
import { RememberedResults } from "./internal/resource/RememberedResults.ts"
import * as ServerCredential from "./internal/resource/ServerCredential.ts"
import * as SubjectTokens from "./internal/resource/SubjectTokens.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import * as OAuthError from "./OAuthError.ts"

/**
 * The API for which a handler needs a token. It names `resource` or `audience`, or both: see the documentation of the
 * issuer.
 *
 * @category models
 */
export interface Upstream extends ExchangeRequest.ExchangeTarget {}

/**
 * A token for another API.
 *
 * @category models
 */
export interface ExchangedToken extends ExchangeRequest.GrantedToken {}

/**
 * Exchanges tokens. Tokens are kept until shortly before they expire, by the principal with its claims and scopes, and
 * by the API. For each of these there is one request at a time.
 *
 * @example
 * ```ts
 * import { TokenExchange } from "@effect-mcp/auth"
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const calendarHeaders = Effect.gen(function*() {
 *   const { principal } = yield* RequestContext.RequestContext
 *   const exchange = yield* TokenExchange.TokenExchange
 *   const { authorization } = yield* exchange.token(principal, { resource: "https://calendar.example.com" })
 *   return { authorization }
 * })
 * ```
 *
 * @category services
 */
export class TokenExchange extends Context.Service<TokenExchange, {
  /**
   * Returns a token for an API, in the name of this principal: the one of the running request, as the handler finds it
   * in its context. Fails with `NoSubjectToken` for any other object, for an anonymous client, and for the token of
   * another issuer; with `TokenRequestFailed` if the issuer refuses; with `Unavailable` if it does not answer now.
   */
  readonly token: (
    principal: Principal | undefined,
    upstream: Upstream
  ) => Effect.Effect<ExchangedToken, OAuthError.OAuthError>
}>()("@effect-mcp/auth/TokenExchange") {}

/**
 * Options of {@link layer}.
 *
 * @category options
 */
export interface Options {
  /** The issuer that exchanges tokens. Its own tokens are sent to it, and no others. */
  readonly issuer: string
  /** The credentials of this server at the issuer. */
  readonly client: Client
  /** The token endpoint. Default: `token_endpoint` of the metadata of the issuer. */
  readonly tokenEndpoint?: string | undefined
  /** The time for one exchange. Default 10 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** The number of tokens that are kept. Default 1,000. */
  readonly maxTokens?: number | undefined
  /**
   * The time for which a token without `expires_in` is kept, and the longest time for any other. Default 5 minutes.
   */
  readonly keepFor?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  timeout: NumericOption.duration,
  maxTokens: NumericOption.count,
  keepFor: NumericOption.duration
}

/** The time before its expiry at which a token is no longer given to handlers. */
const marginMillis = 30_000

const missing = (problem: string): OAuthError.OAuthError => OAuthError.make({ _tag: "NoSubjectToken", problem })

/**
 * Provides {@link TokenExchange}. The server must be protected by a `ResourceServer` of the same process.
 *
 * @example
 * ```ts
 * import { TokenExchange } from "@effect-mcp/auth"
 * import * as Redacted from "effect/Redacted"
 *
 * export const exchange = TokenExchange.layer({
 *   issuer: "https://login.example.com",
 *   client: { clientId: "notes-server", secret: Redacted.make("secret") }
 * })
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<TokenExchange> => {
  const { issuer, tokenEndpoint } = options
  NumericOption.check(options, rules)
  IssuerUrl.check("issuer", issuer, { isRequested: tokenEndpoint === undefined })
  IssuerUrl.checkEndpoint("tokenEndpoint", tokenEndpoint)
  ServerCredential.check(issuer, options.client)
  const timeout = Duration.toMillis(options.timeout ?? "10 seconds")
  const keepMillis = Duration.toMillis(options.keepFor ?? "5 minutes")

  return Layer.effect(
    TokenExchange,
    Effect.gen(function*() {
      LoadedPackages.check(thisPackage)
      const clock = yield* Clock.Clock
      const http = yield* OAuthHttp.makePlatform({
        allowedOrigins: [tokenEndpoint ?? issuer],
        timeout: options.timeout
      })
      const exchange = ExchangeRequest.make({ issuer, client: options.client, tokenEndpoint }, http, clock)
      const tokens = new RememberedResults<ExchangedToken, OAuthError.OAuthError>({
        capacity: options.maxTokens ?? 1_000,
        clock,
        scope: yield* Scope.Scope,
        until: (exit, now) =>
          Exit.isSuccess(exit)
            ? Math.min(now + keepMillis, (exit.value.expiresAt ?? Number.POSITIVE_INFINITY) - marginMillis)
            : undefined
      })
      return {
        token: (principal, upstream) =>
          Effect.suspend(() => {
            if (principal === undefined) return Effect.fail(missing("the client is anonymous"))
            const subject = SubjectTokens.of(principal)
            if (subject === undefined) {
              return Effect.fail(
                missing("the principal is not the one of a request that a ResourceServer has identified")
              )
            }
            if (subject.issuer !== issuer) {
              return Effect.fail(missing(`the token of the client is not of ${issuer}, and is sent to no other issuer`))
            }
            const { audience, resource, scopes } = upstream
            const { claims, id, scopes: granted } = principal
            // Two tokens of one principal may have different rights.
            const key = Digest.of(
              CanonicalJson.textOf([
                id,
                claims ?? null,
                granted ?? null,
                audience ?? null,
                resource ?? null,
                scopes ?? null
              ])
            )
            const late = OAuthError.make({
              _tag: "Unavailable",
              url: tokenEndpoint ?? issuer,
              problem: `the exchange took longer than ${timeout} ms (timeout)`
            })
            return tokens.get(key, () =>
              Effect.timeoutOrElse(exchange(subject.token, upstream), {
                duration: timeout,
                orElse: () => Effect.fail(late)
              }))
          })
      }
    })
  )
}

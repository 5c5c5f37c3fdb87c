/**
 * The verification of access tokens: signed ones by the keys of their issuer, others by a question to it (AUT-41,
 * AUT-42).
 *
 * @stability unstable
 */
import { ForeignCall, NumericOption } from "@effect-mcp/session/internal"
import { Unavailable } from "@effect-mcp/transport/Authentication"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { Client } from "./ClientIdentity.ts"
import * as OAuthHttp from "./internal/fetch/OAuthHttp.ts"
import * as AsymmetricAlgorithms from "./internal/resource/AsymmetricAlgorithms.ts"
import * as Introspection from "./internal/resource/Introspection.ts"
import { IssuerKeys } from "./internal/resource/IssuerKeys.ts"
import * as IssuerUrl from "./internal/resource/IssuerUrl.ts"
import * as JsonObject from "./internal/resource/JsonObject.ts"
import * as KeySetSource from "./internal/resource/KeySetSource.ts"
import * as ServerCredential from "./internal/resource/ServerCredential.ts"
import * as SignedTokens from "./internal/resource/SignedTokens.ts"
import type { TokenRejected, VerifiedToken, Verify } from "./VerifiedToken.ts"

/**
 * The verifier of the tokens of one issuer. A `ResourceServer` gives it the signed tokens that name the issuer, and all
 * tokens that name none.
 *
 * @category models
 */
export interface TokenVerifier<R = never> {
  /** The issuer, exactly as its metadata and its tokens name it. */
  readonly issuer: string
  /** Whether it verifies tokens that are no JWT, too. */
  readonly acceptsOpaque: boolean
  /** The time for which a verified token is accepted without a new verification, in milliseconds. */
  readonly rememberMillis: number
  /** The time for which a rejected token is rejected without a new verification, in milliseconds. */
  readonly rememberRejectedMillis: number
  /** Makes the function that verifies. Its requests end with the scope. */
  readonly make: Effect.Effect<Verify, never, R | Scope.Scope>
}

/**
 * Options that all verifiers have.
 *
 * @category options
 */
export interface CommonOptions {
  /**
   * The audiences of which a token must have one, compared character by character (AUT-42). Default: the resource of
   * the request, whose scheme and host may be in upper case (AUT-24). Set it for an issuer that does not know resources
   * (RFC 8707), such as `api://notes` of Entra.
   */
  readonly audience?: string | ReadonlyArray<string> | undefined
  /** The greatest difference of the clocks, at most 5 minutes. Default 30 seconds. */
  readonly clockSkew?: Duration.Input | undefined
  /**
   * The longest time for which a verified token is accepted without a new verification. A revoked token is accepted for
   * as long.
   */
  readonly rememberFor?: Duration.Input | undefined
  /**
   * Returns the account of a token, or the client of a token without an account. It must be unique at the issuer.
   * Default: `sub`, or `client_id` of a token without `sub`. A `sub` that is no text, such as a number, is rejected.
   */
  readonly subject?: ((claims: { readonly [name: string]: unknown }) => string | undefined) | undefined
}

const maxSkewMillis = 300_000

const skew: NumericOption.Rule<"Duration"> = {
  kind: "Duration",
  allowed: "a duration from 0 to 5 minutes",
  holds: (millis) => millis >= 0 && millis <= maxSkewMillis
}

const commonRules = { clockSkew: skew, rememberFor: NumericOption.duration }

// With a number as its `sub`, each account of a client would otherwise become the client.
const subjectOf = (claims: JsonObject.JsonObject): string | undefined =>
  JsonObject.textOf(claims, (claims["sub"] ?? undefined) === undefined ? "client_id" : "sub")

const listOf = (audience: CommonOptions["audience"]): ReadonlyArray<string> | undefined =>
  typeof audience === "string" ? [audience] : audience

/** Returns the rules that both kinds of tokens have. */
const rulesOf = (issuer: string, { audience, clockSkew, subject }: CommonOptions) => ({
  issuer,
  audience: listOf(audience),
  skewMillis: Duration.toMillis(clockSkew ?? "30 seconds"),
  subjectOf: subject ?? subjectOf
})

/** The requests of a verifier. Two of them take less than `identifyTimeout`, so that the log has the reason. */
const requests = (urls: ReadonlyArray<string>) =>
  OAuthHttp.makePlatform({
    allowedOrigins: urls,
    timeout: "4 seconds",
    // Key sets may have certificates.
    maxBodyBytes: 256 * 1024
  })

/**
 * Options for signed tokens.
 *
 * @category options
 */
export interface JwtOptions extends CommonOptions {
  /** The URL of the key set. Default: `jwks_uri` of the metadata of the issuer. */
  readonly jwksUri?: string | undefined
  /**
   * The accepted signature algorithms. Only asymmetric ones can be named. Default: `ES256`, `ES384`, `EdDSA`,
   * `Ed25519`, `PS256` and `RS256`.
   */
  readonly algorithms?: ReadonlyArray<string> | undefined
  /**
   * The accepted values of `typ`; `""` stands for a token without it. Default `at+jwt` (RFC 9068). Many issuers write
   * `JWT`, which ID tokens have, too: only their audience tells them apart.
   */
  readonly types?: ReadonlyArray<string> | undefined
  /** The age at which keys are requested again. Default 10 minutes. */
  readonly keysRefreshAfter?: Duration.Input | undefined
  /** The age up to which keys are used while the issuer does not answer. Default 24 hours. */
  readonly keysUsableFor?: Duration.Input | undefined
  /** The least time between two requests because of unknown keys. Default 30 seconds. */
  readonly keysCoolDown?: Duration.Input | undefined
}

const jwtRules: NumericOption.Rules<JwtOptions> = {
  ...commonRules,
  keysRefreshAfter: NumericOption.duration,
  keysUsableFor: NumericOption.duration,
  keysCoolDown: NumericOption.duration
}

/**
 * Verifies signed tokens (JWT) by the keys of their issuer. `iss`, `aud` and `exp` are required and compared as
 * strings; `nbf` counts if it is there. Signed tokens are remembered for 5 minutes by default.
 *
 * While the issuer does not answer, its last keys stay valid. Without any, requests are rejected with 503.
 *
 * @example
 * ```ts
 * import { TokenVerifier } from "@effect-mcp/auth"
 *
 * // Keycloak writes `typ: JWT`.
 * export const keycloak = TokenVerifier.jwt("https://login.example.com/realms/notes", { types: ["JWT"] })
 * ```
 *
 * @category constructors
 */
export const jwt = (issuer: string, options: JwtOptions = {}): TokenVerifier => {
  const { jwksUri } = options
  const algorithms = options.algorithms ?? AsymmetricAlgorithms.defaults
  NumericOption.check(options, jwtRules)
  AsymmetricAlgorithms.check("algorithms", algorithms)
  IssuerUrl.check("issuer", issuer, { isRequested: jwksUri === undefined })
  IssuerUrl.checkEndpoint("jwksUri", jwksUri)
  const settings = {
    refreshMillis: Duration.toMillis(options.keysRefreshAfter ?? "10 minutes"),
    staleMillis: Duration.toMillis(options.keysUsableFor ?? "24 hours"),
    coolDownMillis: Duration.toMillis(options.keysCoolDown ?? "30 seconds")
  }
  const rules: SignedTokens.Rules = {
    ...rulesOf(issuer, options),
    algorithms,
    types: new Set((options.types ?? ["at+jwt"]).map(SignedTokens.typeOf))
  }
  return {
    issuer,
    acceptsOpaque: false,
    rememberMillis: Duration.toMillis(options.rememberFor ?? "5 minutes"),
    rememberRejectedMillis: 0,
    make: Effect.gen(function*() {
      const clock = yield* Clock.Clock
      const http = yield* requests([jwksUri ?? issuer])
      const source = KeySetSource.make(http, issuer, jwksUri, clock)
      return SignedTokens.make(rules, new IssuerKeys(source, settings, clock, yield* Scope.Scope), clock)
    })
  }
}

/**
 * Options for introspected tokens.
 *
 * @category options
 */
export interface IntrospectionOptions extends CommonOptions {
  /** The credentials by which this server asks the issuer. */
  readonly client: Client
  /** The introspection endpoint. Default: `introspection_endpoint` of the metadata of the issuer. */
  readonly url?: string | undefined
  /**
   * Whether an answer without `aud` is accepted. Set it only for an issuer whose tokens are all meant for this server.
   * Default `false`.
   */
  readonly acceptWithoutAudience?: boolean | undefined
}

/**
 * Verifies tokens by a question to their issuer (RFC 7662). An answer is remembered for 30 seconds by default, by the
 * digest of the token.
 *
 * A token that is no JWT names no issuer. With several such verifiers, it is sent to one after the other.
 *
 * @example
 * ```ts
 * import { TokenVerifier } from "@effect-mcp/auth"
 * import * as Redacted from "effect/Redacted"
 *
 * export const verifier = TokenVerifier.introspection("https://login.example.com", {
 *   client: { clientId: "notes-server", secret: Redacted.make("secret") }
 * })
 * ```
 *
 * @category constructors
 */
export const introspection = (issuer: string, options: IntrospectionOptions): TokenVerifier => {
  const { acceptWithoutAudience = false, client, url } = options
  NumericOption.check<CommonOptions>(options, commonRules)
  IssuerUrl.check("issuer", issuer, { isRequested: url === undefined })
  IssuerUrl.checkEndpoint("url", url)
  ServerCredential.check(issuer, client)
  const rules: Introspection.Rules = {
    ...rulesOf(issuer, options),
    url,
    client,
    requiresAudience: !acceptWithoutAudience
  }
  const rememberMillis = Duration.toMillis(options.rememberFor ?? "30 seconds")
  return {
    issuer,
    acceptsOpaque: true,
    rememberMillis,
    rememberRejectedMillis: rememberMillis,
    make: Effect.gen(function*() {
      const http = yield* requests([url ?? issuer])
      return Introspection.make(rules, http, yield* Clock.Clock)
    })
  }
}

/**
 * Options of {@link custom}.
 *
 * @category options
 */
export interface CustomOptions<R = never> {
  /**
   * Verifies a token for a resource, its audience included. A defect is answered with 500, and a call that takes longer
   * than `timeout` with 503.
   */
  readonly verify: (
    token: Redacted.Redacted<string>,
    resource: string
  ) => Effect.Effect<Omit<VerifiedToken, "issuer">, TokenRejected | Unavailable, R>
  /** Whether it verifies tokens that are no JWT. Default `true`. */
  readonly acceptsOpaque?: boolean | undefined
  /** The longest time for which a verified token is accepted without a new call. Default: no time. */
  readonly rememberFor?: Duration.Input | undefined
  /** The time for one call. Default 5 seconds. */
  readonly timeout?: Duration.Input | undefined
}

/**
 * Verifies tokens by a function of the program. The function may need services, which are those of the program that
 * builds the Layer.
 *
 * @example
 * ```ts
 * import { TokenVerifier, VerifiedToken } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * export const byTable = TokenVerifier.custom("https://login.example.com", {
 *   verify: (token) =>
 *     Redacted.value(token) === "adas-secret"
 *       ? Effect.succeed({ subject: "ada", scopes: ["notes:read"], expiresAt: undefined, claims: {} })
 *       : Effect.fail(new VerifiedToken.TokenRejected({ problem: "it is not known" }))
 * })
 * ```
 *
 * @category constructors
 */
export const custom = <R = never>(issuer: string, options: CustomOptions<R>): TokenVerifier<R> => {
  NumericOption.check(options, { rememberFor: NumericOption.duration, timeout: NumericOption.duration })
  IssuerUrl.check("issuer", issuer, { isRequested: false })
  const millis = Duration.toMillis(options.timeout ?? "5 seconds")
  return {
    issuer,
    acceptsOpaque: options.acceptsOpaque ?? true,
    rememberMillis: Duration.toMillis(options.rememberFor ?? 0),
    rememberRejectedMillis: 0,
    make: Effect.map(Effect.context<R>(), (context): Verify => (token, resource) =>
      ForeignCall.within(
        "TokenVerifier.custom",
        millis,
        () => Effect.provideContext(options.verify(token, resource), context)
      ).pipe(
        Effect.map((verified) => ({ ...verified, issuer })),
        Effect.catchTag("TimedOut", (cause) => Effect.fail(new Unavailable({ cause })))
      ))
  }
}

/**
 * A server that accepts the access tokens of OAuth issuers: its `Authentication`, and its metadata (AUT-01 to AUT-03,
 * AUT-41 to AUT-49).
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption, webCrypto } from "@effect-mcp/session/internal"
import { InvalidOptionError } from "@effect-mcp/session/InvalidOptionError"
import * as UsedStates from "@effect-mcp/session/UsedStates"
import { Authentication } from "@effect-mcp/transport/Authentication"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as AsymmetricAlgorithms from "./internal/resource/AsymmetricAlgorithms.ts"
import * as DpopNonces from "./internal/resource/DpopNonces.ts"
import type * as DpopProof from "./internal/resource/DpopProof.ts"
import * as MetadataRoutes from "./internal/resource/MetadataRoutes.ts"
import * as Principals from "./internal/resource/Principals.ts"
import * as ProtectedResources from "./internal/resource/ProtectedResources.ts"
import * as RequestIdentity from "./internal/resource/RequestIdentity.ts"
import * as Scopes from "./internal/resource/Scopes.ts"
import * as TokenVerification from "./internal/resource/TokenVerification.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import * as TokenVerifier from "./TokenVerifier.ts"
import type { VerifiedToken } from "./VerifiedToken.ts"

/**
 * The place that a request is sent to.
 *
 * @category models
 */
export interface Place {
  /** The header `Host`, as the client or a proxy has written it. Compare it with known names. */
  readonly host: string | undefined
  /** The path, without the query. For a request of metadata, the path of the resource that it describes. */
  readonly path: string
}

/**
 * The resource of a tenant.
 *
 * @category models
 */
export interface Tenant {
  /** The URL of the resource. */
  readonly resource: string
  /** The issuers, among those of the server, whose tokens the tenant accepts. Default: all. */
  readonly issuers?: ReadonlyArray<string> | undefined
}

/**
 * Options for tokens that are bound to a key of their client (DPoP, RFC 9449).
 *
 * @category options
 */
export interface DpopOptions {
  /** Whether tokens without a key are rejected. Default `false`. */
  readonly required?: boolean | undefined
  /** The accepted signature algorithms of proofs. Default: `ES256`, `ES384`, `EdDSA`, `Ed25519`, `PS256`, `RS256`. */
  readonly algorithms?: ReadonlyArray<string> | undefined
  /** The greatest age of a proof. Default 1 minute. */
  readonly maxAge?: Duration.Input | undefined
  /**
   * Whether proofs need a nonce of this server, so that none can be made in advance. Servers that share their clients
   * share a secret of at least 32 bytes. `true` takes a random one. Default `false`.
   */
  readonly nonces?: boolean | { readonly secret: Redacted.Redacted<string> } | undefined
  /**
   * The store of the proofs that were used. Several processes that serve the same clients need one store together.
   * Default: the `UsedStates` that is provided to the Layer, which is a store in memory unless the program sets it.
   */
  readonly usedProofs?: UsedStates.UsedStates | undefined
}

/**
 * Options of a resource server.
 *
 * @category options
 */
export interface Options<R = never> {
  /**
   * The URL of the server as clients connect to it, without a slash at its end: the audience of their tokens.
   *
   * A function returns the resource of a tenant by the place of a request. It returns `undefined` for a place without
   * one, whose requests are rejected with 403.
   */
  readonly resource: string | ((place: Place) => string | Tenant | undefined)
  /** The issuers of tokens, as verifiers, or as URLs of issuers whose tokens are signed (`TokenVerifier.jwt`). */
  readonly issuers: readonly [
    string | TokenVerifier.TokenVerifier<R>,
    ...Array<string | TokenVerifier.TokenVerifier<R>>
  ]
  /**
   * The scopes of this server, for the metadata (`scopes_supported`). `offline_access` is left out (AUT-49). Default:
   * none.
   */
  readonly scopes?: ReadonlyArray<string> | undefined
  /**
   * The scopes that a client requests when it signs in, for the challenge of 401. Name the least that is useful: a tool
   * that needs more lets the client request it (AUT-45). Default: `scopes`.
   */
  readonly initialScopes?: ReadonlyArray<string> | undefined
  /** The scopes that every request needs. A token without them is rejected with 403. Default: none. */
  readonly requiredScopes?: ReadonlyArray<string> | undefined
  /** Returns the scopes that a scope includes, such as `notes:read` for `notes:write` (AUT-48). Default: none. */
  readonly includes?: ((scope: string) => ReadonlyArray<string>) | undefined
  /**
   * Returns the claims of a principal. Caches keep the results of different claims apart, so `jti`, `iat`, `exp`, `nbf`
   * and other claims that change with each token are left out. Default: names, groups, roles, tenant and client, as far
   * as the token has them. `resource` is always added.
   */
  readonly claims?: ((token: VerifiedToken) => { readonly [name: string]: unknown }) | undefined
  /** The name of the server for persons (`resource_name`). */
  readonly name?: string | undefined
  /** The URL of its documentation (`resource_documentation`). */
  readonly documentation?: string | undefined
  /** Options for DPoP. Tokens with a key are accepted without them; with them, DPoP is offered to all clients. */
  readonly dpop?: DpopOptions | undefined
  /** The longest token, in bytes. Default 16,384. */
  readonly maxTokenBytes?: number | undefined
  /** The number of verified tokens that are remembered: fewer, if they are longer than 2 KB. Default 10,000. */
  readonly maxRememberedTokens?: number | undefined
  /** The time for which clients and proxies keep the metadata. Default 1 hour. */
  readonly metadataMaxAge?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  maxTokenBytes: NumericOption.count,
  maxRememberedTokens: NumericOption.count,
  metadataMaxAge: NumericOption.duration
}

const dpopRules: NumericOption.Rules<DpopOptions> = { maxAge: NumericOption.duration }

/** The greatest difference of the clocks of a client and this server. */
const proofSkewMillis = 30_000

/** The time for which a nonce is given. It is accepted for up to twice that. */
const noncePeriodMillis = 120_000

const minSecretLength = 32

const noncesOf = ({ nonces = false }: DpopOptions): DpopNonces.DpopNonces | undefined => {
  if (nonces === false) return undefined
  if (nonces === true) return DpopNonces.make(() => webCrypto.randomBytes(minSecretLength), noncePeriodMillis)
  const secret = Redacted.value(nonces.secret)
  if (secret.length < minSecretLength) {
    throw new InvalidOptionError({
      option: "dpop.nonces.secret",
      given: `one of ${secret.length} characters`,
      allowed: `a secret of at least ${minSecretLength} characters`
    })
  }
  return DpopNonces.make(() => webCrypto.bytesOf(secret), noncePeriodMillis)
}

const proofsOf = (options: DpopOptions): Omit<DpopProof.Settings, "used"> => {
  const algorithms = options.algorithms ?? AsymmetricAlgorithms.defaults
  NumericOption.check(options, dpopRules, "dpop.")
  AsymmetricAlgorithms.check("dpop.algorithms", algorithms)
  return {
    algorithms,
    maxAgeMillis: Duration.toMillis(options.maxAge ?? "1 minute"),
    skewMillis: proofSkewMillis,
    nonces: noncesOf(options)
  }
}

/** Returns the members of the metadata, but for the resource and its issuers. */
const membersOf = (options: Options<unknown>, dpopAlgorithms: ReadonlyArray<string>) => {
  const scopes = Scopes.requestable([...options.requiredScopes ?? [], ...options.scopes ?? []])
  return {
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ["header"],
    resource_name: options.name,
    resource_documentation: options.documentation,
    dpop_signing_alg_values_supported: dpopAlgorithms,
    dpop_bound_access_tokens_required: options.dpop?.required === true ? true : undefined
  }
}

/**
 * A resource server, for its routes. {@link layer} provides it.
 *
 * @example
 * ```ts
 * import { ResourceServer } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 *
 * export const paths = Effect.map(ResourceServer.ResourceServer, ({ metadataPaths }) => metadataPaths)
 * ```
 *
 * @category services
 */
export class ResourceServer extends Context.Service<ResourceServer, {
  /** The paths of the metadata, for a backend with a router of its own. */
  readonly metadataPaths: ReadonlyArray<HttpRouter.PathInput>
  /** Returns the metadata, as the response to a request at one of the paths. */
  readonly metadata: (request: HttpServerRequest) => HttpServerResponse
}>()("@effect-mcp/auth/ResourceServer") {}

/**
 * Protects a server by the access tokens of its issuers. Provide it to the Layer of the server, and {@link routes} to
 * the same backend, so that clients find the issuers.
 *
 * - A request without a token is rejected with 401, and a challenge with `resource_metadata` and `scope`.
 * - A token that is not accepted is rejected with 401 and `invalid_token`. Malformed credentials are rejected with 400.
 * - If the issuer cannot be reached, requests with unknown tokens are rejected with 503.
 * - Spans and logs of a backend to which the Layer is provided show neither proofs nor tokens in queries.
 *
 * The id of a principal is made of issuer and subject, and of the resource, if `resource` is a function. Handlers
 * have the principal of their request, and never its token (AUT-43): use `TokenExchange` for other APIs.
 *
 * @example
 * ```ts
 * import { ResourceServer } from "@effect-mcp/auth"
 *
 * export const auth = ResourceServer.layer({
 *   resource: "https://notes.example.com/mcp",
 *   issuers: ["https://login.example.com"],
 *   scopes: ["notes:read", "notes:write"]
 * })
 * ```
 *
 * @category layers
 */
export const layer = <R = never>(
  options: Options<R>
): Layer.Layer<Authentication | ResourceServer, never, Exclude<R, Scope.Scope>> => {
  NumericOption.check<Options<unknown>>(options, rules)
  const { requiredScopes = [], scopes = [] } = options
  const verifiers = options.issuers.map((issuer) => typeof issuer === "string" ? TokenVerifier.jwt(issuer) : issuer)
  const issuers = Array.from(new Set(verifiers.map(({ issuer }) => issuer)))
  const find = ProtectedResources.finder(options.resource, issuers)
  const proofs = proofsOf(options.dpop ?? {})

  const made = Effect.gen(function*() {
    LoadedPackages.check(thisPackage)
    const clock = yield* Clock.Clock
    const scope = yield* Scope.Scope
    const verification = TokenVerification.make({
      verifiers: yield* Effect.forEach(
        verifiers,
        (verifier) => Effect.map(verifier.make, (verify) => ({ ...verifier, verify }))
      ),
      principals: {
        claimsOf: options.claims ?? Principals.claimsOf,
        includes: options.includes ?? (() => []),
        hasTenants: typeof options.resource !== "string"
      },
      capacity: options.maxRememberedTokens ?? 10_000,
      clock,
      scope
    })
    const authentication = RequestIdentity.make({
      find,
      verification,
      scopes: options.initialScopes ?? scopes,
      requiredScopes,
      maxTokenBytes: options.maxTokenBytes ?? 16_384,
      proofs: { ...proofs, used: options.dpop?.usedProofs ?? (yield* UsedStates.UsedStates) },
      offersDpop: options.dpop !== undefined,
      acceptsBearer: options.dpop?.required !== true,
      clock
    })
    const metadata: MetadataRoutes.Settings = {
      find,
      members: membersOf(options, proofs.algorithms),
      maxAgeSeconds: Math.floor(Duration.toMillis(options.metadataMaxAge ?? "1 hour") / 1000)
    }
    return Context.make(Authentication, authentication).pipe(
      // For the spans and logs of the backend: some clients send tokens where they do not belong.
      Context.add(Headers.CurrentRedactedNames, [...yield* Headers.CurrentRedactedNames, "dpop"]),
      Context.add(UrlParams.CurrentRedactedNames, [...yield* UrlParams.CurrentRedactedNames, "access_token"]),
      Context.add(ResourceServer, {
        metadataPaths: MetadataRoutes.pathsOf(typeof options.resource === "string" ? options.resource : undefined),
        metadata: (request) => MetadataRoutes.respond(metadata, request)
      })
    )
  })
  return Layer.effectContext(made)
}

/**
 * Serves the metadata of a resource server (RFC 9728) at the well-known URLs of its path and of the root, to everyone
 * and to pages of every origin (AUT-01, AUT-02).
 *
 * @example
 * ```ts
 * import { ResourceServer } from "@effect-mcp/auth"
 * import { StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Layer from "effect/Layer"
 *
 * const auth = ResourceServer.layer({
 *   resource: "https://notes.example.com/mcp",
 *   issuers: ["https://login.example.com"]
 * })
 *
 * export const routes = Layer.mergeAll(StreamableHttpServer.layer(), ResourceServer.routes).pipe(Layer.provide(auth))
 * ```
 *
 * @category layers
 */
export const routes: Layer.Layer<never, never, HttpRouter.HttpRouter | ResourceServer> = HttpRouter.use((router) =>
  Effect.flatMap(ResourceServer, ({ metadata, metadataPaths }) =>
    Effect.forEach(
      metadataPaths,
      (path) => router.add("*", path, (request) => Effect.sync(() => metadata(request))),
      { discard: true }
    ))
)

/**
 * Discovery: finds the authorization server of a server, and its metadata (AUT-04 to AUT-10).
 *
 * The revision of the session is not known at the first challenge. A server without metadata of a protected resource,
 * which every revision from 2025-06-18 requires, is taken for one of 2025-03-26.
 *
 * Nothing is sent to a place that a document names before the document has been checked.
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Revision from "@effect-mcp/protocol/Revision"
import type { AuthenticationChallenge } from "@effect-mcp/transport/AuthenticationChallenge"
import * as Cache from "effect/Cache"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as OAuthError from "../../OAuthError.ts"
import * as AddressPolicy from "../fetch/AddressPolicy.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import * as IssuerMetadata from "./IssuerMetadata.ts"
import * as LegacyMetadata from "./LegacyMetadata.ts"
import * as MetadataDocument from "./MetadataDocument.ts"
import * as ResourceMetadata from "./ResourceMetadata.ts"
import type { Metadata, Target } from "./Target.ts"
import * as UriText from "./UriText.ts"

/**
 * The grants that need different endpoints: the code of a redirect with PKCE, the code of a device, and those that need
 * only the token endpoint.
 */
export type Use = "Code" | "Device" | "Token"

/** A request to find the authorization of a server. */
export interface Request {
  readonly server: URL
  /** The challenge of the server with the scheme `Bearer` or `DPoP`, if it has sent one. */
  readonly challenge?: AuthenticationChallenge | undefined
  /** The grant for which the metadata is needed. Default `Code`. */
  readonly use?: Use | undefined
  /** Whether results that are remembered are not used, because the server has changed its metadata. */
  readonly isFresh?: boolean | undefined
}

/** Options of discovery. */
export interface Options {
  readonly http: OAuthHttp
  /** Returns whether an issuer is preferred to the first of the metadata, such as one that knows the client. */
  readonly prefers?: ((issuer: string) => boolean) | undefined
  /**
   * The issuer of servers without metadata of a protected resource, if it is another one than their origin. Default:
   * metadata of another issuer is not used.
   */
  readonly legacyIssuer?: string | undefined
  /** Whether an issuer supports PKCE although its metadata lists no method. Default `false`. */
  readonly assumesPkce?: boolean | undefined
  /** Whether requests name the resource. Some authorization servers reject them then. Default `true`. */
  readonly sendsResource?: boolean | undefined
  /** The time for which a result is remembered. Default 10 minutes. */
  readonly timeToLive?: Duration.Input | undefined
}

/** Finds authorization servers. */
export interface Discovery {
  /**
   * Returns the authorization that a server needs. Runs once at a time for a server. Fails with `DiscoveryFailed` and
   * `AddressForbidden` permanently, and with `Unavailable` if a server does not answer now.
   */
  readonly discover: (request: Request) => Effect.Effect<Target, OAuthError.OAuthError>
}

/** The servers whose results are remembered. */
const capacity = 64

/** Returns the canonical URI of a server (AUT-24): without fragment, and without the slash of an empty path. */
export const canonicalUri = ({ origin, pathname, search }: URL): string =>
  `${origin}${pathname === "/" ? "" : pathname}${search}`

const issuerRemedy = "the operator of the server has to correct authorization_servers"

/** Returns the URL of an issuer, or the error of the rule that it breaks (RFC 8414, section 2; AUT-31). */
const issuerUrl = (
  http: OAuthHttp,
  server: URL,
  source: URL,
  issuer: string
): Effect.Effect<URL, OAuthError.OAuthError> => {
  const named = `the issuer ${Excerpt.name(issuer)}`
  const fail = (problem: string) => Effect.fail(MetadataDocument.broken(source, `${named} ${problem}`, issuerRemedy))
  if (!UriText.isUrl(issuer)) return fail("is no URL")
  const url = new URL(issuer)
  if (url.protocol !== "https:" && url.protocol !== "http:") return fail(`has the scheme ${url.protocol}`)
  if (/[?#]/.test(issuer) || url.username !== "" || url.password !== "") {
    return fail("has credentials, a query or a fragment")
  }
  const forbidden = http.check(server, url)
  if (forbidden !== undefined) return Effect.fail(forbidden)
  const isPlain = url.protocol === "http:" && !AddressPolicy.isLoopback(url) && !http.isAllowed(url)
  return isPlain ? fail("is not an https: URL") : Effect.succeed(url)
}

/** The result of one search, before its use is known. */
type Found = Omit<Target, "sendsResource">

const ofResource = Effect.fnUntraced(function*(
  options: Options,
  server: URL,
  found: ResourceMetadata.ResourceMetadata
): Effect.fn.Return<Found, OAuthError.OAuthError> {
  const { http, prefers = () => false } = options
  const { issuers, resource, scopes, url } = found
  const issuer = issuers.find(prefers) ?? issuers[0] ?? ""
  const places = IssuerMetadata.places(yield* issuerUrl(http, server, url, issuer))
  const search = yield* IssuerMetadata.find(http, server, [issuer], places)
  if (search.found !== undefined) {
    return { server, resource, issuer, metadata: search.found.metadata, scopes, isLegacy: false }
  }
  if (search.problem !== undefined) return yield* search.problem
  return yield* MetadataDocument.broken(
    places[0] ?? url,
    "the authorization server has no metadata at the places of RFC 8414 and OpenID Connect",
    "the operator of the authorization server has to serve its metadata there"
  )
})

/** The first challenge arrives before the revision of the session is known. */
const headers = { "mcp-protocol-version": Revision.latest }

const search = Effect.fnUntraced(function*(
  options: Options,
  server: URL,
  fromChallenge: string | undefined
): Effect.fn.Return<Found, OAuthError.OAuthError> {
  const { http, legacyIssuer } = options
  const { found, problem } = yield* ResourceMetadata.find(http, server, fromChallenge, headers)
  if (found !== undefined) return yield* ofResource(options, server, found)
  const metadata = yield* LegacyMetadata.find(http, server, legacyIssuer, problem, headers)
  const resource = canonicalUri(server)
  return { server, resource, issuer: metadata.issuer, metadata, scopes: undefined, isLegacy: true }
})

/** The endpoints that a use needs. */
const needed: Readonly<Record<Use, ReadonlyArray<keyof Metadata & string>>> = {
  Code: ["authorization_endpoint", "token_endpoint"],
  Device: ["device_authorization_endpoint", "token_endpoint"],
  Token: ["token_endpoint"]
}

/** Returns the rule that the metadata breaks for a use (AUT-22). */
const useFault = (
  { isLegacy, metadata }: Found,
  use: Use,
  assumesPkce: boolean
): string | undefined => {
  const missing = needed[use].find((name) => metadata[name] === undefined)
  if (missing !== undefined) return `its metadata has no ${missing}`
  const methods = metadata.code_challenge_methods_supported
  // Servers of 2025-03-26 have to support PKCE, and need not list it.
  const isAssumed = methods === undefined && (isLegacy || assumesPkce)
  if (use !== "Code" || methods?.includes("S256") === true || isAssumed) return undefined
  return "its code_challenge_methods_supported does not list S256"
}

/** The key of a remembered result. Keys with equal members are equal. */
interface Key {
  readonly server: string
  readonly fromChallenge: string | undefined
}

const keyOf = ({ challenge, server }: Request): Key => ({
  server: canonicalUri(server),
  fromChallenge: challenge?.parameters["resource_metadata"]
})

/** Creates discovery, with an empty memory. */
export const make = (options: Options): Effect.Effect<Discovery> =>
  Effect.gen(function*() {
    const timeToLive = options.timeToLive ?? Duration.minutes(10)
    const cache = yield* Cache.makeWith(
      ({ fromChallenge, server }: Key) => search(options, new URL(server), fromChallenge),
      { capacity, timeToLive: (exit) => Exit.isSuccess(exit) ? timeToLive : Duration.zero }
    )
    const lookup = (request: Request): Effect.Effect<Found, OAuthError.OAuthError> => {
      const key = keyOf(request)
      const found = Cache.get(cache, key)
      // The results for other challenges of the server are as old.
      return request.isFresh === true ? Effect.andThen(Cache.invalidateAll(cache), found) : found
    }
    return {
      discover: (request) =>
        Effect.flatMap(lookup(request), (found) => {
          const fault = useFault(found, request.use ?? "Code", options.assumesPkce === true)
          return fault === undefined
            ? Effect.succeed({ ...found, sendsResource: options.sendsResource !== false && !found.isLegacy })
            : Effect.fail(MetadataDocument.broken(
              new URL(found.issuer),
              fault,
              "use an authorization server that supports OAuth 2.1"
            ))
        })
    }
  })

/** The metadata of a protected resource (RFC 9728). */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as OAuthError from "../../OAuthError.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import * as MetadataDocument from "./MetadataDocument.ts"
import * as UriText from "./UriText.ts"

/** The members of the document that a client uses. */
export interface ResourceMetadata {
  readonly url: URL
  readonly resource: string
  readonly issuers: ReadonlyArray<string>
  readonly scopes: ReadonlyArray<string> | undefined
}

const Document = Schema.Struct({
  resource: Schema.NonEmptyString,
  authorization_servers: Schema.optional(Schema.Array(Schema.NonEmptyString)),
  scopes_supported: Schema.optional(Schema.Array(Schema.String))
})

const decode = Schema.decodeUnknownResult(Document)

const wellKnown = "/.well-known/oauth-protected-resource"

/** Returns the places of the metadata that no challenge names, in their order: for the path, and the root (AUT-06). */
export const places = (server: URL): ReadonlyArray<URL> => {
  const at = (path: string): URL => new URL(`${wellKnown}${path}`, server.origin)
  const { pathname, search } = server
  if (pathname === "/") return search === "" ? [at("")] : [at(search), at("")]
  const exact = at(`${pathname}${search}`)
  // Servers that are mounted at `/mcp/` serve the metadata of `/mcp`.
  return pathname.endsWith("/") ? [exact, at(pathname.slice(0, -1)), at("")] : [exact, at("")]
}

/** A resource of a document has up to 64 KiB: an expression for its last slashes would take quadratic time. */
const withoutSlash = (path: string): string => path.endsWith("/") ? path.slice(0, -1) : path

/**
 * Returns whether the resource of the metadata is the server, or the part of it that contains its path (AUT-07). RFC
 * 9728 wants the same identifier; metadata at the root names the origin in practice.
 */
export const fits = (server: URL, resource: string): boolean => {
  if (!UriText.isUrl(resource) || resource.includes("#")) return false
  const { origin, pathname, search } = new URL(resource)
  if (origin !== server.origin || (search !== "" && search !== server.search)) return false
  const [whole, part] = [withoutSlash(server.pathname), withoutSlash(pathname)]
  return whole === part || whole.startsWith(`${part}/`)
}

const remedy = "the operator of the server has to correct its metadata"

/** Returns the metadata of a document, or the error of the rule that it breaks. */
export const check = (
  server: URL,
  { json, url }: Extract<MetadataDocument.Outcome, { readonly _tag: "Found" }>
): Result.Result<ResourceMetadata, OAuthError.OAuthError> => {
  const decoded = decode(json)
  if (Result.isFailure(decoded)) {
    const rule = "the members resource, authorization_servers and scopes_supported are not those of RFC 9728"
    return Result.fail(MetadataDocument.broken(url, rule, remedy))
  }
  const { authorization_servers: issuers = [], resource, scopes_supported: scopes } = decoded.success
  if (!fits(server, resource)) {
    return Result.fail(MetadataDocument.broken(
      url,
      `its resource ${Excerpt.name(resource)} is not ${server.origin}${server.pathname}`,
      "connect to the URL that the metadata names, or let the operator correct it"
    ))
  }
  if (issuers.length === 0) {
    return Result.fail(MetadataDocument.broken(url, "it names no authorization server", remedy))
  }
  return Result.succeed({ url, resource, issuers, scopes })
}

/** The result of the search. */
export interface Search {
  readonly found: ResourceMetadata | undefined
  /** The first document that could not be used. */
  readonly problem: OAuthError.OAuthError | undefined
}

const named = Effect.fnUntraced(function*(
  http: OAuthHttp,
  server: URL,
  text: string,
  headers: Readonly<Record<string, string>>
): Effect.fn.Return<Search, OAuthError.OAuthError> {
  if (!URL.canParse(text)) {
    const rule = `the challenge names ${Excerpt.name(text)} as its metadata, which is no URL`
    return yield* MetadataDocument.broken(server, rule, remedy)
  }
  const url = new URL(text)
  if (url.username !== "" || url.password !== "") {
    return yield* MetadataDocument.broken(url, "the URL in the challenge has credentials", remedy)
  }
  // The revision of the session is of interest only to the server itself.
  const outcome = yield* MetadataDocument.request(http, server, url, url.origin === server.origin ? headers : {})
  if (outcome._tag === "Broken") return yield* outcome.error
  if (outcome._tag === "Absent") {
    const rule = `the challenge names it as the metadata, and it answers with status ${outcome.status}`
    return yield* MetadataDocument.broken(url, rule, remedy)
  }
  return { found: yield* Effect.fromResult(check(server, outcome)), problem: undefined }
})

const guessed = Effect.fnUntraced(function*(
  http: OAuthHttp,
  server: URL,
  headers: Readonly<Record<string, string>>
): Effect.fn.Return<Search, OAuthError.OAuthError> {
  let problem: OAuthError.OAuthError | undefined
  for (const url of places(server)) {
    const outcome = yield* MetadataDocument.request(http, server, url, headers)
    if (outcome._tag === "Absent") continue
    const checked = outcome._tag === "Broken" ? Result.fail(outcome.error) : check(server, outcome)
    if (Result.isSuccess(checked)) return { found: checked.success, problem }
    // A document with a wrong resource is an answer. A page of HTML is what some servers return for any path.
    if (outcome._tag === "Found") return yield* checked.failure
    problem ??= checked.failure
  }
  return { found: undefined, problem }
})

/**
 * Searches for the metadata: at the URL of the challenge, else at the places of the specification (AUT-04, AUT-06).
 * Metadata at the URL of the challenge that cannot be used is a failure.
 */
export const find = (
  http: OAuthHttp,
  server: URL,
  fromChallenge: string | undefined,
  headers: Readonly<Record<string, string>>
): Effect.Effect<Search, OAuthError.OAuthError> =>
  fromChallenge === undefined ? guessed(http, server, headers) : named(http, server, fromChallenge, headers)

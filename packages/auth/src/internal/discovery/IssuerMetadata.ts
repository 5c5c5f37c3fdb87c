/** The metadata of an authorization server (RFC 8414, OpenID Connect Discovery). */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as OAuthError from "../../OAuthError.ts"
import * as AddressPolicy from "../fetch/AddressPolicy.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import { trust } from "../trust.ts"
import * as MetadataDocument from "./MetadataDocument.ts"
import type { Metadata } from "./Target.ts"

const Strings = Schema.optional(Schema.Array(Schema.String))
const Text = Schema.optional(Schema.NonEmptyString)
const Flag = Schema.optional(Schema.Boolean)

/** The members that a client uses. Others are kept as they are. */
const Document = Schema.Struct({
  issuer: Schema.NonEmptyString,
  authorization_endpoint: Text,
  token_endpoint: Text,
  registration_endpoint: Text,
  revocation_endpoint: Text,
  device_authorization_endpoint: Text,
  scopes_supported: Strings,
  grant_types_supported: Strings,
  code_challenge_methods_supported: Strings,
  token_endpoint_auth_methods_supported: Strings,
  token_endpoint_auth_signing_alg_values_supported: Strings,
  dpop_signing_alg_values_supported: Strings,
  authorization_response_iss_parameter_supported: Flag,
  client_id_metadata_document_supported: Flag
})

const decode = Schema.decodeUnknownResult(Document)

/** The endpoints that a client requests, or that a person visits. */
const endpoints = [
  "authorization_endpoint",
  "token_endpoint",
  "registration_endpoint",
  "revocation_endpoint",
  "device_authorization_endpoint"
] as const

/**
 * Returns the places of the metadata of an issuer, in their order: the paths of RFC 8414 and of OpenID Connect before
 * the path of the issuer, and that of OpenID Connect after it (AUT-08).
 */
export const places = (issuer: URL): ReadonlyArray<URL> => {
  const { origin, pathname } = issuer
  const path = pathname.replace(/\/$/, "")
  const inserted = ["oauth-authorization-server", "openid-configuration"].map((name) =>
    new URL(`/.well-known/${name}${path}`, origin)
  )
  return path === "" ? inserted : [...inserted, new URL(`${path}/.well-known/openid-configuration`, origin)]
}

const remedy = "the operator of the authorization server has to correct its metadata"

/** Returns the rule that an endpoint breaks (AUT-31, AUT-52). */
const endpointFault = (http: OAuthHttp, server: URL, name: string, value: string): string | undefined => {
  if (!URL.canParse(value)) return `its ${name} is no URL`
  const url = new URL(value)
  if (url.protocol !== "https:" && url.protocol !== "http:") return `its ${name} has the scheme ${url.protocol}`
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return `its ${name} has credentials or a fragment`
  }
  const forbidden = http.check(server, url)
  if (forbidden !== undefined) return `its ${name} is not allowed: ${forbidden.message}`
  // The policy allows a server without TLS its own origin, and nothing of an authorization is sent in the clear.
  const isPlain = url.protocol === "http:" && !AddressPolicy.isLoopback(url) && !http.isAllowed(url)
  return isPlain ? `its ${name} is not an https: URL` : undefined
}

/** Returns the rule that the endpoints of the metadata break. */
export const endpointsFault = (
  http: OAuthHttp,
  server: URL,
  metadata: { readonly [name in (typeof endpoints)[number]]?: string | undefined }
): string | undefined => {
  for (const name of endpoints) {
    const value = metadata[name]
    const fault = value === undefined ? undefined : endpointFault(http, server, name, value)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Returns the metadata of a document of an issuer that has one of these names. */
const check = (
  http: OAuthHttp,
  server: URL,
  issuers: ReadonlyArray<string>,
  { json, url }: Extract<MetadataDocument.Outcome, { readonly _tag: "Found" }>
): Result.Result<Metadata, OAuthError.OAuthError> => {
  const decoded = decode(json)
  if (Result.isFailure(decoded)) {
    return Result.fail(MetadataDocument.broken(url, "its members are not those of RFC 8414", remedy))
  }
  const metadata = decoded.success
  if (!issuers.includes(metadata.issuer)) {
    const rule = `its issuer is ${Excerpt.name(metadata.issuer)}, and not ${Excerpt.name(issuers[0] ?? "")} (RFC 8414)`
    return Result.fail(MetadataDocument.broken(url, rule, remedy))
  }
  const fault = endpointsFault(http, server, metadata)
  if (fault !== undefined) return Result.fail(MetadataDocument.broken(url, fault, remedy))
  // The members that a client uses have the types of the schema.
  return Result.succeed(trust<Metadata>(json))
}

/** The result of the search at some places. */
export interface Search {
  readonly found: { readonly url: URL; readonly metadata: Metadata } | undefined
  /** The first document that could not be used. */
  readonly problem: OAuthError.OAuthError | undefined
}

/** Searches for the metadata of an issuer at the places, in their order. Documents of other issuers are not used. */
export const find = Effect.fnUntraced(function*(
  http: OAuthHttp,
  server: URL,
  issuers: ReadonlyArray<string>,
  at: ReadonlyArray<URL>,
  headers: Readonly<Record<string, string>> = {}
): Effect.fn.Return<Search, OAuthError.OAuthError> {
  let problem: OAuthError.OAuthError | undefined
  for (const url of at) {
    const outcome = yield* MetadataDocument.request(http, server, url, headers)
    if (outcome._tag === "Absent") continue
    const checked = outcome._tag === "Broken" ? Result.fail(outcome.error) : check(http, server, issuers, outcome)
    if (Result.isSuccess(checked)) return { found: { url, metadata: checked.success }, problem }
    problem ??= checked.failure
  }
  return { found: undefined, problem }
})

/** The place of an issuer's keys, and their request (RFC 7517, section 5). */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OAuthError from "../../OAuthError.ts"
import * as IssuerMetadata from "../discovery/IssuerMetadata.ts"
import * as JsonBody from "../fetch/JsonBody.ts"
import { type OAuthHttp, UnusableResponse } from "../fetch/OAuthHttp.ts"
import { shown } from "../fetch/shown.ts"
import type * as JsonObject from "./JsonObject.ts"

/** Requests the key set of an issuer: a JSON object, and nothing else of it is checked. */
export type KeySetSource = Effect.Effect<JsonObject.JsonObject, OAuthError.OAuthError>

/** The time for which the place that the metadata names is kept. */
const placeMillis = 3_600_000

const unavailable = (url: URL, problem: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "Unavailable", url: shown(url), problem })

const broken = (url: URL, rule: string): OAuthError.OAuthError =>
  OAuthError.make({
    _tag: "DiscoveryFailed",
    url: shown(url),
    rule,
    remedy: "set jwksUri, or correct the metadata of the issuer"
  })

/** Requests the metadata of an issuer, which the program names. */
export const metadataOf = Effect.fnUntraced(function*(http: OAuthHttp, issuer: string) {
  const url = new URL(issuer)
  const { found, problem } = yield* IssuerMetadata.find(http, url, [issuer], IssuerMetadata.places(url))
  if (found !== undefined) return found
  return yield* Effect.fail(problem ?? broken(url, "the issuer has no metadata at its well-known paths"))
})

const requestKeys = Effect.fnUntraced(function*(http: OAuthHttp, server: URL, url: URL) {
  const response = yield* Effect.mapError(
    http.send(server, {
      method: "GET",
      url,
      headers: { accept: "application/json, application/jwk-set+json" }
    }),
    (error) => error instanceof UnusableResponse ? unavailable(url, error.problem) : error
  )
  if (response.status !== 200) return yield* Effect.fail(unavailable(url, `it answered with status ${response.status}`))
  const body = JsonBody.read(response)
  return body._tag === "Read" ? body.json : yield* Effect.fail(unavailable(url, body.problem))
})

/** Returns the place that the metadata names. It may be of another host, but not in the clear. */
const discovered = Effect.fnUntraced(function*(http: OAuthHttp, issuer: string) {
  const { metadata, url } = yield* metadataOf(http, issuer)
  const place = metadata.jwks_uri
  if (place === undefined || !URL.canParse(place)) return yield* Effect.fail(broken(url, "it has no valid jwks_uri"))
  const parsed = new URL(place)
  return parsed.protocol === "https:" || parsed.origin === new URL(issuer).origin
    ? parsed
    : yield* Effect.fail(broken(url, "its jwks_uri is not an https: URL"))
})

/** Returns the source at a place that the program names, or else at the place that the metadata names. */
export const make = (
  http: OAuthHttp,
  issuer: string,
  jwksUri: string | undefined,
  clock: Clock.Clock
): KeySetSource => {
  if (jwksUri !== undefined) {
    const url = new URL(jwksUri)
    return requestKeys(http, url, url)
  }
  let place: { readonly url: URL; readonly until: number } | undefined
  const search = Effect.tap(discovered(http, issuer), (url) =>
    Effect.sync(() => {
      place = { url, until: clock.currentTimeMillisUnsafe() + placeMillis }
    }))
  return Effect.suspend(() =>
    place !== undefined && place.until > clock.currentTimeMillisUnsafe() ? Effect.succeed(place.url) : search
  ).pipe(
    Effect.flatMap((url) => requestKeys(http, new URL(issuer), url)),
    // The issuer may have moved its keys.
    Effect.tapError(() =>
      Effect.sync(() => {
        place = undefined
      })
    )
  )
}

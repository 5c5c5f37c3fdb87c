/** An endpoint of an issuer. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OAuthError from "../../OAuthError.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import * as KeySetSource from "./KeySetSource.ts"

/** The time for which an endpoint of the metadata is kept. */
const keptMillis = 3_600_000

/** The options of an endpoint. */
export interface Options {
  readonly http: OAuthHttp
  readonly clock: Clock.Clock
  readonly issuer: string
  /** The endpoint that the program names; `undefined` for that of the metadata. */
  readonly given: string | undefined
  /** The member of the metadata. */
  readonly member: "introspection_endpoint" | "token_endpoint"
  /** The option that names the endpoint. */
  readonly option: string
}

/** Makes the effect that returns the endpoint. */
export const make = (
  { clock, given, http, issuer, member, option }: Options
): Effect.Effect<string, OAuthError.OAuthError> => {
  if (given !== undefined) return Effect.succeed(given)
  let kept: { readonly endpoint: string; readonly until: number } | undefined
  const search = Effect.gen(function*() {
    const { metadata, url } = yield* KeySetSource.metadataOf(http, issuer)
    const endpoint = metadata[member]
    if (endpoint === undefined || !URL.canParse(endpoint)) {
      const rule = `it has no ${member}`
      return yield* OAuthError.make({ _tag: "DiscoveryFailed", url: url.href, rule, remedy: `set ${option}` })
    }
    kept = { endpoint, until: clock.currentTimeMillisUnsafe() + keptMillis }
    return endpoint
  })
  return Effect.suspend(() =>
    kept !== undefined && kept.until > clock.currentTimeMillisUnsafe() ? Effect.succeed(kept.endpoint) : search
  )
}

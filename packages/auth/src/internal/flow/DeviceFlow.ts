/** The device authorization grant (RFC 8628): the person enters a code on another device. */
import * as PlainText from "@effect-mcp/protocol/PlainText"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OAuthError from "../../OAuthError.ts"
import type { DeviceCode, SignInRequest } from "../../UserAgent.ts"
import { isVisitable } from "../agents/VisitableUrl.ts"
import type { Target } from "../discovery/Target.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import { resourceOf, scopeOf } from "./CodeFlow.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

/** An authorization by a person on another device. */
export interface DeviceFlow {
  readonly target: Target
  readonly endpoint: TokenEndpoint.Endpoint
  readonly scopes: ReadonlyArray<string> | undefined
  readonly request: SignInRequest
  /** Shows the code to the person. */
  readonly onCode: (code: DeviceCode) => Effect.Effect<void>
}

const grantType = "urn:ietf:params:oauth:grant-type:device_code"

/** The interval of polls in milliseconds if the server gives none, and what `slow_down` adds to it. */
const defaultInterval = 5_000

/** The greatest pause after polls that got no response. */
const maxPause = 60_000

/** The greatest lifetime of a code: 30 minutes is usual. */
const maxLifetime = 3_600_000

/** The longest code and URL that are shown. */
const maxShown = 2_048

const expired = OAuthError.make({
  _tag: "UserAgentFailed",
  problem: "the code has expired before it was entered; sign in again"
})

const invalid = (url: string, rule: string): OAuthError.OAuthError =>
  OAuthError.make({
    _tag: "DiscoveryFailed",
    url,
    rule,
    remedy: "the operator of the authorization server has to correct its device authorization endpoint"
  })

/**
 * Returns a URL as it is shown; `undefined` for one that no person may visit. The text of the server may control a
 * terminal, or look like another one. A server elsewhere does not send a person to this machine or its
 * network.
 */
const visitable = ({ http, server }: TokenEndpoint.Endpoint, text: string): string | undefined => {
  if (text.length > maxShown || !URL.canParse(text)) return undefined
  const url = new URL(text)
  return isVisitable(url) && http.check(server, url) === undefined ? url.href : undefined
}

const isShowable = (code: string): boolean => code.length <= maxShown && PlainText.line(code) === code

/** Returns the code to show, and the parameters of the polls. */
const begin = Effect.fnUntraced(function*({ endpoint, request, scopes, target }: DeviceFlow) {
  const { client, clientAuth, http, metadata, server } = endpoint
  const { issuer } = metadata
  const parameters = Object.entries({ scope: scopeOf(scopes), resource: resourceOf(target) }).flatMap(
    ([name, value]) => value === undefined ? [] : [[name, value]]
  )
  const answer = yield* OAuthLibrary.call(
    http,
    { server, issuer },
    async (library, options) =>
      library.processDeviceAuthorizationResponse(
        metadata,
        client,
        await library.deviceAuthorizationRequest(metadata, client, clientAuth, parameters, options)
      )
  )
  const { interval, user_code: code, verification_uri, verification_uri_complete } = answer
  const url = visitable(endpoint, verification_uri)
  if (url === undefined) {
    return yield* invalid(issuer, "the verification_uri of its device codes is not an https: URL of a public place")
  }
  if (!isShowable(code)) return yield* invalid(issuer, "the user_code of its device codes cannot be shown")
  const lifetimeMillis = Math.min(answer.expires_in * 1000, maxLifetime)
  const shown: DeviceCode = {
    ...request,
    code,
    url,
    completeUrl: verification_uri_complete === undefined ? undefined : visitable(endpoint, verification_uri_complete),
    lifetimeMillis
  }
  return {
    shown,
    deviceCode: answer.device_code,
    interval: interval === undefined ? defaultInterval : Math.max(interval * 1000, 1_000),
    expiresAt: (yield* Clock.currentTimeMillis) + lifetimeMillis
  }
})

/** Returns the pause before the next poll; fails if the error ends the authorization. */
const next = (
  issuer: string,
  error: OAuthError.OAuthError,
  pause: { readonly interval: number; readonly extra: number }
): Effect.Effect<{ readonly interval: number; readonly extra: number }, OAuthError.OAuthError> => {
  const { reason } = error
  // The server may answer later, and the person may be entering the code.
  if (reason._tag === "Unavailable") {
    return Effect.succeed({
      interval: pause.interval,
      extra: Math.min(pause.extra === 0 ? pause.interval : pause.extra * 2, maxPause)
    })
  }
  if (reason._tag !== "TokenRequestFailed") return Effect.fail(error)
  switch (reason.error) {
    case "authorization_pending":
      return Effect.succeed({ interval: pause.interval, extra: 0 })
    case "slow_down":
      return Effect.succeed({ interval: pause.interval + defaultInterval, extra: 0 })
    case "expired_token":
      return Effect.fail(expired)
    case "access_denied":
      return Effect.fail(OAuthError.make({
        _tag: "Denied",
        issuer,
        error: reason.error,
        ...(reason.description === undefined ? {} : { description: reason.description })
      }))
    default:
      return Effect.fail(error)
  }
}

/** Shows a code, and polls until the person has entered it or it expires. */
export const run = Effect.fnUntraced(function*(
  flow: DeviceFlow
): Effect.fn.Return<TokenEndpoint.Granted, OAuthError.OAuthError> {
  const { endpoint, onCode, target } = flow
  const { deviceCode, expiresAt, interval, shown } = yield* begin(flow)
  yield* onCode(shown)
  const poll = TokenEndpoint.request(endpoint, {
    type: grantType,
    parameters: { device_code: deviceCode, resource: resourceOf(target) }
  })
  let pause = { interval, extra: 0 }
  while (true) {
    // An interval beyond the lifetime of the code would keep the sign-in, and all requests that need it, waiting.
    const left = expiresAt - (yield* Clock.currentTimeMillis)
    yield* Effect.sleep(Math.max(0, Math.min(pause.interval + pause.extra, left)))
    if ((yield* Clock.currentTimeMillis) >= expiresAt) return yield* expired
    const polled = yield* Effect.result(poll)
    if (polled._tag === "Success") return polled.success
    pause = yield* next(endpoint.metadata.issuer, polled.failure, pause)
  }
})

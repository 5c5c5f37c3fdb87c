/** The authorization of a client by a person, in the way of the user agent. */
import { Excerpt } from "@effect-mcp/protocol/internal"
import { ForeignCall } from "@effect-mcp/session/internal"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as OAuthError from "../../OAuthError.ts"
import type { SignInRequest } from "../../UserAgent.ts"
import { isVisitable } from "../agents/VisitableUrl.ts"
import type { Target } from "../discovery/Target.ts"
import * as CodeFlow from "../flow/CodeFlow.ts"
import * as DeviceFlow from "../flow/DeviceFlow.ts"
import type * as TokenEndpoint from "../flow/TokenEndpoint.ts"
import type { RegisteredClient } from "../registration/Registration.ts"
import type { PendingSignIn } from "./PendingSignIn.ts"
import type { ServerSettings } from "./ServerSettings.ts"

/** The circumstances of a flow. */
export interface PersonFlow {
  readonly target: Target
  readonly scopes: ReadonlyArray<string> | undefined
  readonly pending: PendingSignIn
  readonly proof: TokenEndpoint.Proof | undefined
}

/** Tokens, and the client that they are issued to. */
export interface Authorized {
  readonly granted: TokenEndpoint.Granted
  readonly client: RegisteredClient
}

/** Returns the remedy if there is no person. */
export const withoutPerson = (server: string): OAuthError.OAuthError =>
  OAuthError.make({
    _tag: "SignInRequired",
    server,
    remedy: "set userAgent, or sign in with another program that shares the store"
  })

/** Forgets the client if the issuer does not know it, so that the next sign-in registers another one. */
const forgetting = (settings: ServerSettings, target: Target, { client }: RegisteredClient) =>
<A>(
  effect: Effect.Effect<A, OAuthError.OAuthError>
): Effect.Effect<A, OAuthError.OAuthError> =>
  Effect.tapError(effect, ({ reason }) =>
    reason._tag === "TokenRequestFailed" && reason.error === "invalid_client"
      ? Effect.ignore(settings.registration.forget(target, client.client_id))
      : Effect.void)

/** Returns the error of a redirect URI that the specification does not permit: a code would be sent there (AUT-31). */
const redirectFault = (uri: string): OAuthError.OAuthError | undefined =>
  URL.canParse(uri) && isVisitable(new URL(uri)) ? undefined : OAuthError.make({
    _tag: "UserAgentFailed",
    problem: `the redirect URI ${Excerpt.name(uri)} of the user agent is neither an https: URL nor one of this machine`
  })

/**
 * Runs the flow. Whatever it opens is closed when it ends. A function of the user agent that cannot be interrupted does
 * not keep it from that.
 */
export const run = Effect.fnUntraced(function*(
  settings: ServerSettings,
  { pending, proof, scopes, target }: PersonFlow
): Effect.fn.Return<Authorized, OAuthError.OAuthError, Scope.Scope> {
  const { http, registration, server, userAgent } = settings
  const { metadata } = target
  const request: SignInRequest = { server: pending.server, issuer: target.issuer, scopes }
  const endpointOf = ({ client, clientAuth }: RegisteredClient): TokenEndpoint.Endpoint => ({
    http,
    server,
    metadata,
    client,
    clientAuth,
    proof
  })
  if (userAgent._tag === "None") return yield* withoutPerson(pending.server)
  if (userAgent._tag === "Device") {
    const client = yield* registration.clientFor(target, undefined, pending.show(undefined))
    yield* client.bind ?? Effect.void
    const flow = DeviceFlow.run({
      target,
      endpoint: endpointOf(client),
      scopes,
      request,
      onCode: (code) =>
        Effect.andThen(
          pending.show(code.completeUrl ?? code.url, code.code),
          ForeignCall.detachable(Effect.suspend(() => userAgent.show(code)))
        )
    })
    return { client, granted: yield* forgetting(settings, target, client)(flow) }
  }
  const required = settings.redirectUri ?? registration.given(target)?.redirectUri
  const redirection = yield* userAgent.open(yield* registration.remembered(target), required)
  const fault = redirectFault(redirection.uri)
  if (fault !== undefined) return yield* fault
  const known = yield* registration.known(target)
  const client = yield* registration.clientFor(target, redirection, pending.show(undefined))
  const isRemembered = client.source === "Dynamic" && known?.client.client_id === client.client.client_id
  pending.rememberedClient = isRemembered ? client.client.client_id : undefined
  const flow = CodeFlow.run({
    target,
    endpoint: endpointOf(client),
    redirection: {
      ...redirection,
      visit: (...visit) => ForeignCall.detachable(Effect.suspend(() => redirection.visit(...visit)))
    },
    scopes,
    request,
    onUrl: (url) => pending.show(url.href),
    onCode: client.bind ?? Effect.void
  })
  return { client, granted: yield* forgetting(settings, target, client)(flow) }
}, Effect.scoped)

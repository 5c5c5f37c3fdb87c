/** Clients that sign in, at a protected server with its authorization server. */
import { OAuth, OAuthError } from "@effect-mcp/auth"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as identityServer from "./identityServer.ts"
import * as protectedServer from "./protectedServer.ts"

/** Builds a client, which ends with the scope. */
export const build = (options: OAuth.Options) => Effect.map(Layer.build(OAuth.layer(options)), Context.get(OAuth.OAuth))

/** Starts both servers. */
export const started = Effect.fnUntraced(function*(settings: identityServer.Settings = {}) {
  const identity = yield* identityServer.start(settings)
  const server = yield* protectedServer.start(identity)
  return { identity, server }
})

/** Returns the reason of the authorization with which a call failed. */
export const causeOf = <A>(exit: Exit.Exit<A, TransportError>): OAuthError.OAuthErrorReason | undefined => {
  const error = Exit.findErrorOption(exit)
  if (error._tag === "None" || error.value.reason._tag !== "AuthorizationFailed") return undefined
  const { cause } = error.value.reason
  return cause instanceof OAuthError.OAuthError ? cause.reason : undefined
}

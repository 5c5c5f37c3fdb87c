/** The account of a client at the server of a URL, and the authorization of a client that a configuration describes. */

import { ForeignCall } from "@effect-mcp/session/internal"
import * as TransportError from "@effect-mcp/session/TransportError"
import type * as ClientAuthorization from "@effect-mcp/transport/ClientAuthorization"
import * as HiddenSecrets from "@effect-mcp/transport/HiddenSecrets"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

type Service = ClientAuthorization.ClientAuthorization["Service"]

/** Returns the URL of the requests of a client: those of a WebSocket begin with an HTTP request. */
const requested = (url: URL): URL => new URL(url.href.replace(/^ws/, "http"))

/** The time in which an authorization returns that of a server, in milliseconds. */
const deadline = 5_000

/** Finds the account at a server, with the authorization of the options or, without one, that of the context. */
export type Find = (provided: Service | undefined) => Effect.Effect<ClientAuthorization.Account | undefined>

/** Returns the function that finds the account at a server. */
export const at = (url: URL, own: Service | undefined, client?: ClientAuthorization.ConfiguredClient): Find =>
(
  provided
) => {
  const authorization = own ?? provided
  if (authorization === undefined) return Effect.undefined
  const found = ForeignCall.within("ClientAuthorization.of", deadline, () => authorization.of(requested(url), client))
  // A function of the program. The transport reports what it throws, and that it takes too long.
  return Effect.map(Effect.exit(found), (exit) => Exit.isSuccess(exit) ? exit.value.account : undefined)
}

/** The authorization of a program that has none, although a configuration describes a client. */
const missing: ClientAuthorization.ServerAuthorization = {
  headers: () => Effect.succeed({}),
  rejected: ({ url }) =>
    TransportError.make({
      _tag: "AuthorizationFailed",
      target: HiddenSecrets.url(url),
      problem: "its configuration describes a client of OAuth, and the program has no authorization; " +
        "provide OAuth.layer of @effect-mcp/auth",
      cause: undefined,
      isPermanent: true
    })
}

/** Returns an authorization that knows the client which a configuration describes. */
export const configured = (
  authorization: Service | undefined,
  client: ClientAuthorization.ConfiguredClient
): Service => ({
  of: (server) => authorization === undefined ? Effect.succeed(missing) : authorization.of(server, client)
})

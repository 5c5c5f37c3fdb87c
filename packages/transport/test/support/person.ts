/** An authorization for which a person has to act. */
import * as TransportError from "@effect-mcp/session/TransportError"
import type { ClientAuthorization, HttpClientOptions } from "@effect-mcp/transport"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import type { Handler } from "./scriptedHttpServer.ts"

export const page = "https://login.example/authorize?client_id=notes"

/** The header that the person gives the client, once a person has acted. */
export const bearer = (token: string): HttpClientOptions.HeaderValues => ({
  authorization: Redacted.make(`Bearer ${token}`)
})

/** Serves requests with this token, and answers all others with 401. */
export const guarded = (token: () => string, serve: Handler): Handler => (received, reply) =>
  received.headers.authorization === `Bearer ${token()}`
    ? serve(received, reply)
    : reply.raw(401, { "www-authenticate": "Bearer realm=\"notes\"" }, "")

type Wait = Effect.Effect<void, TransportError.TransportError>

/** Creates the authorization, and the person who acts for it. `as` changes how the wait for the person runs. */
export const make = (as: (wait: Wait) => Wait = (wait) => wait) => {
  const rejections: Array<ClientAuthorization.RejectedRequest> = []
  const servers: Array<string> = []
  const responses: Array<string> = []
  let values: HttpClientOptions.HeaderValues = {}
  let acted = Deferred.makeUnsafe<void, TransportError.TransportError>()
  const moved = Deferred.makeUnsafe<TransportError.AuthorizationRequired>()
  let since = 1
  const required = (target: string, url: string): TransportError.AuthorizationRequired => ({
    _tag: "AuthorizationRequired",
    target,
    url,
    since,
    authorized: as(Deferred.await(acted)),
    changed: Deferred.await(moved)
  })
  const authorization: ClientAuthorization.ClientAuthorization["Service"] = {
    of: (server) =>
      Effect.sync(() => {
        servers.push(server.href)
        return {
          headers: () => Effect.succeed(values),
          responded: ({ method, url }) => void responses.push(`${method} ${url.pathname}`),
          rejected: (request) =>
            Effect.suspend(() => {
              rejections.push(request)
              if (request.sentWith !== values) return Effect.succeed("Again" as const)
              return TransportError.make(required(request.url.href, page))
            })
        }
      })
  }
  return {
    authorization,
    rejections,
    servers,
    responses,
    /** The person signs in, and the client gets this token. */
    signIn: (token: string) => {
      values = bearer(token)
      Deferred.doneUnsafe(acted, Exit.void)
      acted = Deferred.makeUnsafe()
      since++
    },
    /** The authorization has another page from now on. */
    move: (url: string) => Deferred.doneUnsafe(moved, Effect.succeed(required("the server", url))),
    /** The person refuses. */
    refuse: () =>
      Deferred.doneUnsafe(
        acted,
        Exit.fail(TransportError.make({
          _tag: "AuthorizationFailed",
          target: "the server",
          problem: "the person has refused",
          cause: undefined,
          isPermanent: true
        }))
      )
  }
}

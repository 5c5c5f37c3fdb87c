/** The session that a request names. */
import type { JsonRpc, RequestId } from "@effect-mcp/protocol"
import * as Principal from "@effect-mcp/session/Principal"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import { HostedConnections } from "../HostedConnections.ts"
import type * as HttpGuard from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { type Options, StreamableHttpServerConnection } from "./StreamableHttpServerConnection.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The connections of all servers: several may be in front of one host. */
const connections = new HostedConnections<StreamableHttpServerConnection>()

/** A session that a request names, and its connection. */
export interface Found {
  readonly hosted: SessionHost.Hosted
  readonly connection: StreamableHttpServerConnection
}

/** Returns the id of the request that a message is; `undefined` if it is none, or if there is no message. */
export const idOf = (message: JsonRpc.Classified | undefined): RequestId.RequestId | undefined =>
  message?._tag === "Request" ? message.message.id : undefined

const noSessionId = (message: JsonRpc.Classified | undefined): Response =>
  HttpResponses.error(400, "The header Mcp-Session-Id is missing", { id: idOf(message) })

/** The response to a message of a session that does not exist, or no longer. */
export const unknownSession = (message: JsonRpc.Classified | undefined): Response =>
  HttpResponses.error(404, "There is no session with this id; send initialize to start one", { id: idOf(message) })

/** Finds the sessions of a host, and restores them. */
export class SessionLookup {
  readonly #host: SessionHost.SessionHostShape
  readonly #options: Options

  constructor(host: SessionHost.SessionHostShape, options: Options) {
    this.#host = host
    this.#options = options
  }

  /** Makes the connection of a session with this id. */
  connectionFor(id: string): StreamableHttpServerConnection {
    return connections.register(new StreamableHttpServerConnection(id, this.#options))
  }

  /** Returns the session that a request names. Errors have the id of `message`, if it is a request. */
  find(
    { principal, request }: HttpGuard.Sender,
    message: JsonRpc.Classified | undefined
  ): Effect.Effect<Found, Response> {
    const id = request.headers["mcp-session-id"]
    if (id === undefined) return Effect.fail(noSessionId(message))
    const found = this.#host.find(id)
    if (found !== undefined) return this.#check(found, principal, message)
    const restored = this.#host.restore(id, this.connectionFor(id), {
      kind: "streamable-http",
      principal,
      client: ClientAddress.of(request)
    })
    return restored.pipe(
      Effect.map((outcome) => outcome._tag === "NotFound" ? undefined : outcome.hosted),
      Effect.catchTags({
        HostFullError: (error) => Effect.fail(HttpResponses.hostFull(error, idOf(message))),
        TransportError: () => Effect.undefined,
        // The host has logged the cause.
        SessionStoreError: () =>
          Effect.fail(HttpResponses.unavailable("The session store is not available", { id: idOf(message) }))
      }),
      Effect.flatMap((hosted) => this.#check(hosted, principal, message))
    )
  }

  #check(
    hosted: SessionHost.Hosted | undefined,
    principal: Principal.Principal | undefined,
    message: JsonRpc.Classified | undefined
  ): Effect.Effect<Found, Response> {
    // While the host drains, 503 instead of 404: another host may restore the session.
    if (hosted === undefined) {
      return Effect.flatMap(
        this.#host.health,
        ({ draining, retryAfterMillis }) =>
          Effect.fail(draining ? HttpResponses.shuttingDown(retryAfterMillis, idOf(message)) : unknownSession(message))
      )
    }
    const connection = connections.of(hosted)
    // For any other principal the session does not exist.
    return connection !== undefined && Principal.isSame(hosted.principal, principal)
      ? Effect.succeed({ hosted, connection })
      : Effect.fail(unknownSession(message))
  }
}

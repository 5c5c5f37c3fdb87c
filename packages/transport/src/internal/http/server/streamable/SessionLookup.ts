/** The session that a request names. */
import type { JsonRpc, RequestId } from "@effect-mcp/protocol"
import * as Principal from "@effect-mcp/session/Principal"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import { HostedConnections } from "../HostedConnections.ts"
import type * as HttpGuard from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { isDone } from "../isDone.ts"
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

const notFound: SessionHost.RestoreOutcome = { _tag: "NotFound" }

/** The response to a request whose session another process took while the request arrived. It was not processed. */
export const hasMoved = (message: JsonRpc.Classified | undefined): Response =>
  HttpResponses.unavailable("Another process has the session now", { id: idOf(message), retryAfterMillis: 1000 })

/** The response to a message whose session has closed while the message arrived. */
export const closedSession = (
  { hasMoved: isElsewhere }: StreamableHttpServerConnection,
  message: JsonRpc.Classified | undefined
): Response => isElsewhere ? hasMoved(message) : unknownSession(message)

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
  find(sender: HttpGuard.Sender, message: JsonRpc.Classified | undefined): Effect.Effect<Found, Response> {
    const id = sender.request.headers["mcp-session-id"]
    if (id === undefined) return Effect.fail(noSessionId(message))
    if (sender.hasNoSession === true) return this.#check(undefined, message)
    const found = this.#host.find(id)
    // For any other principal the session does not exist: it waits neither for a lease nor for another process.
    if (found !== undefined && Principal.isSame(found.principal, sender.principal)) {
      return this.#serve(found, message)
    }
    return Effect.flatMap(this.restore(sender, id, message), (outcome) => {
      if (outcome._tag === "Elsewhere") return Effect.fail(hasMoved(message))
      return this.#check(outcome._tag === "NotFound" ? undefined : outcome.hosted, message)
    })
  }

  /** Restores a session, unless it is open or belongs to another process. */
  restore(
    { principal, request }: HttpGuard.Sender,
    id: string,
    message: JsonRpc.Classified | undefined
  ): Effect.Effect<SessionHost.RestoreOutcome, Response> {
    const connection = this.connectionFor(id)
    const restored = this.#host.restore(id, connection, {
      kind: "streamable-http",
      principal,
      client: ClientAddress.of(request),
      onEpoch: (epoch) => connection.begin(epoch, principal)
    })
    return Effect.catchTags(restored, {
      HostFullError: (error) => Effect.fail(HttpResponses.hostFull(error, idOf(message))),
      OwnerUnknownError: (error) => Effect.fail(HttpResponses.ownerUnknown(error, idOf(message))),
      TransportError: () => Effect.succeed(notFound),
      SessionStoreError: () => Effect.fail(HttpResponses.storeFailed(idOf(message)))
    })
  }

  /** Waits until this process may serve a session that is open here. Returns whether it still has the session. */
  ready(hosted: SessionHost.Hosted, message: JsonRpc.Classified | undefined): Effect.Effect<boolean, Response> {
    const ready = this.#host.ready(hosted)
    if (isDone(ready)) return Exit.succeed(ready.value)
    return Effect.mapError(ready, (error) => HttpResponses.ownerUnknown(error, idOf(message)))
  }

  #serve(
    hosted: SessionHost.Hosted,
    message: JsonRpc.Classified | undefined
  ): Effect.Effect<Found, Response> {
    return Effect.flatMapEager(
      this.ready(hosted, message),
      (isReady) => isReady ? this.#check(hosted, message) : Effect.fail(hasMoved(message))
    )
  }

  /** Returns a session of the sender, unless it has another transport. */
  #check(
    hosted: SessionHost.Hosted | undefined,
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
    if (connection === undefined) return Effect.fail(unknownSession(message))
    connection.closesBy(hosted)
    return Effect.succeed({ hosted, connection })
  }
}

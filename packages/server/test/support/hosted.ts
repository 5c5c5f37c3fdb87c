/** Clients of one server in memory, each with its principal, for tests. */
import { McpServer } from "@effect-mcp/server"
import {
  ClientSession,
  type HandshakeError,
  MemoryTransport,
  type Principal,
  SessionHost,
  Transport,
  type TransportError
} from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { info } from "./connect.ts"

/** Connects a client with its principal, or with the id and the claims of one. */
type Connect = (
  id?: string | Principal.Principal,
  claims?: Principal.Principal["claims"]
) => Effect.Effect<
  ClientSession.ClientSessionShape,
  HandshakeError.HandshakeError | TransportError.TransportError,
  Scope.Scope
>

/** Serves groups, and returns a function that connects a client. */
export const serve = <A, E>(
  groups: Layer.Layer<A, E, McpServer.McpServer>,
  client: Pick<ClientSession.Options, "capabilities" | "revisions"> = {}
): Effect.Effect<Connect, E, Scope.Scope> =>
  Effect.map(Layer.build(McpServer.layerHost(groups, { info })), (context): Connect => {
    const host = Context.get(context, SessionHost.SessionHost)
    return Effect.fnUntraced(function*(id, claims) {
      const principal = typeof id === "string" ? { id, ...(claims === undefined ? {} : { claims }) } : id
      const pair = yield* MemoryTransport.make({ principal })
      yield* Effect.orDie(host.open(pair.server, { kind: "memory", principal }))
      return yield* Effect.provideService(ClientSession.make({ info, ...client }), Transport.Transport, pair.client)
    })
  })

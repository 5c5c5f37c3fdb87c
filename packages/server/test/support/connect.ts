/** A client of groups in memory, for tests. */
import { Revision } from "@effect-mcp/protocol"
import type { McpServer as Server } from "@effect-mcp/server"
import { McpServer } from "@effect-mcp/server"
import {
  ClientSession,
  type Handlers,
  type HandshakeError,
  type Principal,
  type TransportError
} from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** The option of a client or a proxy that speaks the revisions with a handshake only. */
export const handshake = { revisions: Revision.legacy }

export const info = { name: "test", version: "0.0.0" }

/** The options of both sides. */
export interface Options {
  readonly principal?: Principal.Principal
  readonly client?: Partial<ClientSession.Options<Handlers.Handlers<"server">>>
  readonly server?: Partial<Server.Options>
}

/** Serves groups, and returns the session of a client. */
export const connect = <A, E, R>(
  groups: Layer.Layer<A, E, R>,
  { client, principal, server }: Options = {}
): Effect.Effect<
  ClientSession.ClientSessionShape,
  E | TransportError.TransportError | HandshakeError.HandshakeError,
  Scope.Scope | Exclude<Exclude<Exclude<R, Server.McpServer>, never>, never>
> =>
  Effect.map(
    Layer.build(Layer.provide(
      ClientSession.layer({ info, ...client }),
      McpServer.layerMemory(groups, { info, ...server, ...(principal === undefined ? {} : { principal }) })
    )),
    (context) => Context.get(context, ClientSession.ClientSession)
  )

/** A client over any transport, for tests. */
import { ClientSession, type HandshakeError, type Transport, type TransportError } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { info } from "./connect.ts"

/** Connects a client, which stays connected until the scope closes. */
export const connectOver = <E>(
  transport: Layer.Layer<Transport.Transport, E>,
  options: Partial<ClientSession.Options> = {}
): Effect.Effect<
  ClientSession.ClientSessionShape,
  E | TransportError.TransportError | HandshakeError.HandshakeError,
  Scope.Scope
> =>
  Effect.map(
    Layer.build(Layer.provide(ClientSession.layer({ info, ...options }), transport)),
    Context.get(ClientSession.ClientSession)
  )

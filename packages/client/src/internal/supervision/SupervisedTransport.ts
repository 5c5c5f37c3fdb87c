/** The transport of a supervised client, which outlives its sessions. */

import type * as ClientSession from "@effect-mcp/session/ClientSession"
import { HandshakeError } from "@effect-mcp/session/HandshakeError"
import { Transport } from "@effect-mcp/session/Transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

type Port = Transport["Service"]

/** Connects a session over a transport, in the scope of the session. */
export type Connect = Effect.Effect<ClientSession.ClientSessionShape, HandshakeError, Transport | Scope.Scope>

const isUsed = ({ reason }: HandshakeError): boolean =>
  reason._tag === "ConnectFailed" && reason.error.reason._tag === "InUse"

/**
 * Keeps the transport of a target from session to session, because a transport remembers what its server speaks. A
 * transport that carries one session only is built anew for each.
 */
export class SupervisedTransport<E, R> {
  readonly #layer: Layer.Layer<Transport, E, R>
  readonly #context: Context.Context<R>
  readonly #scope: Scope.Scope
  #built: { readonly port: Port; readonly scope: Scope.Closeable } | undefined

  constructor(layer: Layer.Layer<Transport, E, R>, context: Context.Context<R>, scope: Scope.Scope) {
    this.#layer = layer
    this.#context = context
    this.#scope = scope
  }

  /** Connects a session. */
  connect(session: Connect): Effect.Effect<ClientSession.ClientSessionShape, HandshakeError | E, Scope.Scope> {
    return Effect.suspend(() => {
      const isNew = this.#built === undefined
      const connected = Effect.flatMap(this.#port, (port) => Effect.provideService(session, Transport, port))
      return Effect.catchIf(
        connected,
        (error): error is HandshakeError => !isNew && error instanceof HandshakeError && isUsed(error),
        () => Effect.andThen(this.#drop, this.connect(session))
      )
    })
  }

  get #port(): Effect.Effect<Port, E> {
    return Effect.suspend(() => {
      if (this.#built !== undefined) return Effect.succeed(this.#built.port)
      const scope = Scope.forkUnsafe(this.#scope)
      // Fresh, because another client may use the same Layer at the same time.
      return Layer.buildWithScope(Layer.fresh(this.#layer), scope).pipe(
        Effect.provideContext(this.#context),
        Effect.map((context) => {
          const port = Context.get(context, Transport)
          this.#built = { port, scope }
          return port
        }),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  }

  get #drop(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const built = this.#built
      this.#built = undefined
      return built === undefined ? Effect.void : Scope.close(built.scope, Exit.void)
    })
  }
}

/** The sessions with a proxied server: one for the lists, and one for each session of a client, or one for all. */

import { type Capabilities, ErrorCode, McpError } from "@effect-mcp/protocol"
import type { ClientSession, ServerSession } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Askers from "./Askers.ts"
import * as RemoteErrors from "./RemoteErrors.ts"

/** A session with the server, and the clients that it belongs to. */
export interface Connection {
  readonly session: ClientSession.ClientSessionShape
  readonly asker: Askers.Asker
}

/** Opens a session with the server, in which the proxy has the capabilities of a client. */
export type Connect = (
  asker: Askers.Asker,
  capabilities: Capabilities.ClientCapabilities
) => Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope>

/** The time that a session has to open, its transport included. */
export const openTime = "1 minute"

interface Opening {
  readonly result: Deferred.Deferred<Connection, McpError.McpError>
  readonly scope: Scope.Closeable
}

/** Notifies the server when the roots of a client have changed. */
const forwardRoots = (
  client: ServerSession.ServerSessionShape,
  session: ClientSession.ClientSessionShape
): Effect.Effect<void> =>
  Stream.runForEach(
    client.notifications("notifications/roots/list_changed"),
    () => Effect.ignore(session.rootsListChanged)
  )

/** The sessions of one proxy. */
export class Connections {
  readonly #server: string
  #main: Connection
  readonly #connect: Connect | undefined
  readonly #scope: Scope.Scope
  readonly #max: number
  readonly #bySession = new Map<ServerSession.ServerSessionShape, Opening>()

  /** Without `connect`, all clients share the main session. */
  constructor(server: string, main: Connection, scope: Scope.Scope, max: number, connect?: Connect) {
    this.#server = server
    this.#main = main
    this.#scope = scope
    this.#max = max
    this.#connect = connect
  }

  /** The session of the lists, and of requests without a session of their own. */
  get main(): Connection {
    return this.#main
  }

  /** Replaces the main session, which has ended. */
  replace(session: ClientSession.ClientSessionShape): void {
    this.#main = { session, asker: this.#main.asker }
  }

  /** Returns the session that serves this request of a client. */
  of(request: Askers.ServedRequest): Effect.Effect<Connection, McpError.McpError> {
    return Effect.suspend(() => {
      const { session } = request
      const connect = this.#connect
      if (connect === undefined || session === undefined) return Effect.succeed(this.#main)
      const existing = this.#bySession.get(session)
      if (existing !== undefined) return Deferred.await(existing.result)
      if (this.#bySession.size >= this.#max) {
        return Effect.fail(McpError.received({
          code: ErrorCode.Overloaded,
          message: `the server "${this.#server}" serves ${this.#max} sessions already; try again later`
        }))
      }
      const opening: Opening = { result: Deferred.makeUnsafe(), scope: Scope.forkUnsafe(this.#scope) }
      this.#bySession.set(session, opening)
      // A fiber of its own: the client that cancels this request may have others that wait for the session.
      return Effect.andThen(
        Effect.forkIn(this.#open(session, request.profile.capabilities, opening, connect), opening.scope),
        Deferred.await(opening.result)
      )
    })
  }

  /** Opens the session of a client, which ends when the client's own session or the server ends it. */
  #open(
    client: ServerSession.ServerSessionShape,
    capabilities: Capabilities.ClientCapabilities,
    opening: Opening,
    connect: Connect
  ): Effect.Effect<void> {
    const asker = Askers.one(client)
    return Effect.asVoid(
      Effect.matchCauseEffect(Effect.timeout(Scope.provide(connect(asker, capabilities), opening.scope), openTime), {
        onFailure: (cause) =>
          Effect.andThen(
            Deferred.fail(opening.result, RemoteErrors.unavailable(this.#server, String(Cause.squash(cause)))),
            this.#forget(client, opening)
          ),
        onSuccess: (session) =>
          Effect.gen({ self: this }, function*() {
            if (capabilities.roots?.listChanged === true) {
              yield* Effect.forkIn(forwardRoots(client, session), opening.scope, { startImmediately: true })
            }
            yield* Deferred.succeed(opening.result, { session, asker })
            yield* Effect.raceFirst(client.closed, session.closed)
            yield* this.#forget(client, opening)
          })
      })
    )
  }

  #forget(client: ServerSession.ServerSessionShape, opening: Opening): Effect.Effect<unknown> {
    return Effect.suspend(() => {
      if (this.#bySession.get(client) === opening) this.#bySession.delete(client)
      // The running fiber belongs to this scope, so it cannot wait for its end.
      return Effect.forkIn(Scope.close(opening.scope, Exit.void), this.#scope)
    })
  }
}

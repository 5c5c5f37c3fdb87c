/** The sessions with a proxied server: one for the lists, and one for each session of a client, or one for all. */

import { Capabilities, CloseReason, ErrorCode, McpError, Revision } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
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
  /** Whether the questions in the server's answers are for its clients, and not for the program. */
  readonly passesQuestions: boolean
}

/** Opens a session with the server, in which the proxy has the capabilities of a client. */
export type Connect = (
  asker: Askers.Asker,
  capabilities: Capabilities.ClientCapabilities
) => Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope>

/** The time that a session has to open, its transport included. */
export const openTime = "1 minute"

/** The bounds of the sessions with the server. */
export interface Bounds {
  /** The sessions for all clients. */
  readonly max: number
  /** The sessions for the clients of one principal, and for all anonymous clients together. */
  readonly maxPerPrincipal: number
}

interface Opening {
  /** The id of the client's principal; `undefined` for an anonymous client, and for clients without a session. */
  readonly principal: string | undefined
  readonly result: Deferred.Deferred<Connection, McpError.McpError>
  readonly scope: Scope.Closeable
}

/** The problem of a session that did not open, in words for clients. The cause may have secrets of the server. */
const notOpened = "no session with it could be opened; the log of the proxy has the cause"

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** Notifies the server when the roots of a client have changed. */
const forwardRoots = (
  client: ServerSession.ServerSessionShape,
  session: ClientSession.ClientSessionShape
): Effect.Effect<void> =>
  Stream.runForEach(
    client.notifications("notifications/roots/list_changed"),
    () => Effect.ignore(session.rootsListChanged)
  )

/** Returns the capabilities to answer questions, without members that would make those of each client different. */
const commonTo = (capabilities: Capabilities.ClientCapabilities): Capabilities.ClientCapabilities => {
  const has = (path: Capabilities.Path) => Capabilities.declares(capabilities, path)
  const members = <Name extends string>(names: ReadonlyArray<readonly [Name, Capabilities.Path]>) =>
    Object.fromEntries(names.filter(([, path]) => has(path)).map(([name]) => [name, {}]))
  const { elicitation, roots, sampling } = capabilities
  return {
    ...(elicitation === undefined
      ? undefined
      : { elicitation: members([["form", "elicitation.form"], ["url", "elicitation.url"]]) }),
    ...(sampling === undefined
      ? undefined
      : { sampling: members([["context", "sampling.context"], ["tools", "sampling.tools"]]) }),
    ...(roots === undefined ? undefined : { roots: {} })
  }
}

/** The sessions of one proxy. */
export class Connections {
  readonly #server: string
  #main: Connection
  readonly #connect: Connect | undefined
  readonly #scope: Scope.Scope
  readonly #bounds: Bounds
  /** The sessions of clients by their own sessions, and those of clients without one by their capabilities. */
  readonly #byClient = new Map<ServerSession.ServerSessionShape | string, Opening>()

  /** Without `connect`, all clients share the main session. */
  constructor(server: string, main: Connection, scope: Scope.Scope, bounds: Bounds, connect?: Connect) {
    this.#server = server
    this.#main = main
    this.#scope = scope
    this.#bounds = bounds
    this.#connect = connect
  }

  /** The session of the lists, and of requests without a session of their own. */
  get main(): Connection {
    return this.#main
  }

  /** Replaces the main session, which has ended. */
  replace(session: ClientSession.ClientSessionShape): void {
    this.#main = { ...this.#main, session }
  }

  /** Returns the session that serves this request of a client. */
  of(request: Askers.ServedRequest): Effect.Effect<Connection, McpError.McpError> {
    return Effect.suspend(() => {
      const { principal, profile, session } = request
      const connect = this.#connect
      if (connect === undefined) return Effect.succeed(this.#main)
      const { capabilities } = profile
      if (session !== undefined) {
        return this.#own(session, principal?.id, Askers.one(session), capabilities, session.closed, connect)
      }
      // Without a session, the questions of a server can only reach the client in answers to its calls.
      const common = Revision.isModern(this.#main.session.profile.revision) ? commonTo(capabilities) : {}
      if (Object.keys(common).length === 0) return Effect.succeed(this.#main)
      return this.#own(JSON.stringify(common), undefined, Askers.none, common, Effect.never, connect)
    })
  }

  /** Returns the session of this client, or of all clients with these capabilities. Opens it if there is none. */
  #own(
    client: ServerSession.ServerSessionShape | string,
    principal: string | undefined,
    asker: Askers.Asker,
    capabilities: Capabilities.ClientCapabilities,
    ended: Effect.Effect<unknown>,
    connect: Connect
  ): Effect.Effect<Connection, McpError.McpError> {
    const existing = this.#byClient.get(client)
    if (existing !== undefined) return Deferred.await(existing.result)
    const full = this.#full(client, principal)
    if (full !== undefined) return Effect.fail(McpError.received({ code: ErrorCode.Overloaded, message: full }))
    const opening: Opening = { principal, result: Deferred.makeUnsafe(), scope: Scope.forkUnsafe(this.#scope) }
    this.#byClient.set(client, opening)
    const open = Effect.timeout(Scope.provide(connect(asker, capabilities), opening.scope), openTime)
    // A fiber of its own: the client that cancels this request may have others that wait for the session.
    return Effect.andThen(
      Effect.forkIn(this.#open(client, asker, capabilities, ended, opening, open), opening.scope),
      Deferred.await(opening.result)
    )
  }

  /** Returns why one more session cannot be opened. A session that all clients share belongs to no principal. */
  #full(client: ServerSession.ServerSessionShape | string, principal: string | undefined): string | undefined {
    const { max, maxPerPrincipal } = this.#bounds
    if (this.#byClient.size >= max) {
      return `the server "${this.#server}" serves ${max} sessions already; try again later`
    }
    if (typeof client === "string") return undefined
    let own = 0
    for (const [key, opening] of this.#byClient) {
      if (typeof key !== "string" && opening.principal === principal) own++
    }
    if (own < maxPerPrincipal) return undefined
    const clients = principal === undefined ? "anonymous clients" : "this principal"
    return `the server "${this.#server}" serves ${own} of ${max} sessions for ${clients} already ` +
      "(maxSessionsPerPrincipal); end one of them, or try again later"
  }

  /** Opens the session of a client, which ends when the client's own session or the server ends it. */
  #open(
    client: ServerSession.ServerSessionShape | string,
    asker: Askers.Asker,
    capabilities: Capabilities.ClientCapabilities,
    ended: Effect.Effect<unknown>,
    opening: Opening,
    open: Effect.Effect<ClientSession.ClientSessionShape, unknown>
  ): Effect.Effect<void> {
    return Effect.asVoid(
      Effect.matchCauseEffect(open, {
        onFailure: (cause) =>
          Effect.logWarning(
            `the proxy "${this.#server}" could not open a session for a client: ${
              Excerpt.line(messageOf(Cause.squash(cause)))
            }`
          ).pipe(
            Effect.andThen(Deferred.fail(opening.result, RemoteErrors.unavailable(this.#server, notOpened))),
            Effect.andThen(this.#forget(client, opening))
          ),
        onSuccess: (session) =>
          Effect.gen({ self: this }, function*() {
            if (typeof client !== "string" && capabilities.roots?.listChanged === true) {
              yield* Effect.forkIn(forwardRoots(client, session), opening.scope, { startImmediately: true })
            }
            yield* Deferred.succeed(opening.result, { session, asker, passesQuestions: true })
            const reason = yield* Effect.raceFirst(Effect.as(ended, undefined), session.closed)
            if (reason !== undefined && reason._tag !== "Requested") {
              yield* Effect.logWarning(
                `the session of the proxy "${this.#server}" for a client has ended: ` +
                  Excerpt.line(CloseReason.describe(reason))
              )
            }
            yield* this.#forget(client, opening)
          })
      })
    )
  }

  #forget(client: ServerSession.ServerSessionShape | string, opening: Opening): Effect.Effect<unknown> {
    return Effect.suspend(() => {
      if (this.#byClient.get(client) === opening) this.#byClient.delete(client)
      // The running fiber belongs to this scope, so it cannot wait for its end.
      return Effect.forkIn(Scope.close(opening.scope, Exit.void), this.#scope)
    })
  }
}

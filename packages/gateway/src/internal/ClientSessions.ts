/** The sessions with a proxied server that belong to one client, or to the clients with the same capabilities. */

import { Capabilities, CloseReason, ErrorCode, McpError, type MethodTable, Revision } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type { ClientSession, RequestError, RequestOptions, ServerSession } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Askers from "./Askers.ts"
import type { ForwardedMethod } from "./RemoteEntries.ts"
import * as RemoteErrors from "./RemoteErrors.ts"

/** Sends a request to the server. */
export type Send = <Name extends ForwardedMethod>(
  name: Name,
  params: MethodTable.ParamsOf<Name>,
  options: RequestOptions.RequestOptions
) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError.RequestError>

/** The way of a request to the server, and the clients that it belongs to. */
export interface Connection {
  readonly send: Send
  readonly revision: Revision.Revision
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
const openTime = "1 minute"

/** The bounds of the sessions. */
export interface Bounds {
  /** The sessions for all clients. */
  readonly max: number
  /** The sessions for the clients of one principal, and for all anonymous clients together. */
  readonly maxPerPrincipal: number
}

/** The proxy that the sessions belong to. */
export interface ClientSessionsDependencies {
  readonly server: string
  readonly bounds: Bounds
  readonly connect: Connect
  /** Runs the fiber of a session with the services of the proxy, until the proxy ends. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

/** The client of a session, or the capabilities of the clients that share one. */
type Client = ServerSession.ServerSessionShape | string

interface Opening {
  readonly client: Client
  /** The id of the client's principal; `undefined` for an anonymous client, and for clients without a session. */
  readonly principal: string | undefined
  readonly asker: Askers.Asker
  readonly capabilities: Capabilities.ClientCapabilities
  readonly result: Deferred.Deferred<Connection, McpError.McpError>
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

/** The sessions for the clients of one proxy. */
export class ClientSessions {
  readonly #dependencies: ClientSessionsDependencies
  readonly #byClient = new Map<Client, Opening>()

  constructor(dependencies: ClientSessionsDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the session of the client of this request, or that of the lists if the client needs none. */
  of(
    { principal, profile: { capabilities }, session }: Askers.ServedRequest,
    lists: Connection
  ): Effect.Effect<Connection, McpError.McpError> {
    return Effect.suspend(() => {
      if (session !== undefined) return this.#own(session, principal?.id, Askers.one(session), capabilities)
      // Without a session, the questions of a server can only reach the client in answers to its calls.
      const common = Revision.isModern(lists.revision) ? commonTo(capabilities) : {}
      if (Object.keys(common).length === 0) return Effect.succeed(lists)
      return this.#own(JSON.stringify(common), undefined, Askers.none, common)
    })
  }

  #own(
    client: Client,
    principal: string | undefined,
    asker: Askers.Asker,
    capabilities: Capabilities.ClientCapabilities
  ): Effect.Effect<Connection, McpError.McpError> {
    const existing = this.#byClient.get(client)
    if (existing !== undefined) return Deferred.await(existing.result)
    const full = this.#full(client, principal)
    if (full !== undefined) return Effect.fail(McpError.received({ code: ErrorCode.Overloaded, message: full }))
    const opening: Opening = { client, principal, asker, capabilities, result: Deferred.makeUnsafe() }
    this.#byClient.set(client, opening)
    // A fiber of its own: the client that cancels this request may have others that wait for the session.
    this.#dependencies.fork(this.#keep(opening))
    return Deferred.await(opening.result)
  }

  /** Returns why one more session cannot be opened. A session that all clients share belongs to no principal. */
  #full(client: Client, principal: string | undefined): string | undefined {
    const { bounds: { max, maxPerPrincipal }, server } = this.#dependencies
    if (this.#byClient.size >= max) return `the server "${server}" serves ${max} sessions already; try again later`
    if (typeof client === "string") return undefined
    let own = 0
    for (const [key, opening] of this.#byClient) {
      if (typeof key !== "string" && opening.principal === principal) own++
    }
    if (own < maxPerPrincipal) return undefined
    const clients = principal === undefined ? "anonymous clients" : "this principal"
    return `the server "${server}" serves ${own} of ${max} sessions for ${clients} already ` +
      "(maxSessionsPerPrincipal); end one of them, or try again later"
  }

  /** Opens a session, and keeps it until the client's own session or the server ends it. */
  #keep(opening: Opening): Effect.Effect<void> {
    const { asker, capabilities, client, result } = opening
    const { connect, server } = this.#dependencies
    const forget = Effect.sync(() => this.#byClient.delete(client))
    return Effect.matchCauseEffect(Effect.timeout(connect(asker, capabilities), openTime), {
      onFailure: (cause) =>
        Effect.logWarning(
          `the proxy "${server}" could not open a session for a client: ${Excerpt.line(messageOf(Cause.squash(cause)))}`
        ).pipe(
          Effect.andThen(Deferred.fail(result, RemoteErrors.unavailable(server, notOpened))),
          Effect.andThen(forget)
        ),
      onSuccess: (session) =>
        Effect.gen(function*() {
          if (typeof client !== "string" && capabilities.roots?.listChanged === true) {
            yield* Effect.forkScoped(forwardRoots(client, session), { startImmediately: true })
          }
          yield* Deferred.succeed(result, {
            send: (name, params, options) => session.request(name, params, options),
            revision: session.profile.revision,
            asker,
            passesQuestions: true
          })
          const ended = typeof client === "string" ? Effect.never : client.closed
          const reason = yield* Effect.raceFirst(Effect.as(ended, undefined), session.closed)
          if (reason !== undefined && reason._tag !== "Requested") {
            yield* Effect.logWarning(
              `the session of the proxy "${server}" for a client has ended: ` +
                Excerpt.line(CloseReason.describe(reason))
            )
          }
          yield* forget
        })
    }).pipe(Effect.asVoid, Effect.scoped)
  }
}

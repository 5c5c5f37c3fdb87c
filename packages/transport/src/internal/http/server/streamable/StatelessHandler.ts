/** The handler of Streamable HTTP without sessions: each POST is served by itself. */
import { JsonRpc, type Revision } from "@effect-mcp/protocol"
import type * as StatelessServer from "@effect-mcp/session/StatelessServer"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { declaredVersion, type Handler, type HttpGuard, type Post, type Route } from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import type { PostResponse } from "./PostResponse.ts"
import { idOf } from "./SessionLookup.ts"
import * as StatelessPosts from "./StatelessPosts.ts"

/** The settings of the handler. */
export interface Options extends Omit<StatelessPosts.Options, "scopes"> {
  /** The time that requests in flight have to finish after shutdown begins. */
  readonly gracefulMillis: number
}

/** A handler of requests that can be shut down. */
export interface StatelessHandler {
  readonly handle: Handler
  /** Rejects new requests, and waits until those in flight have finished; after a time it interrupts them. */
  readonly drain: Effect.Effect<void>
}

/** The revision of a request that declares none (SHS-29). */
const undeclared: Revision.LegacyRevision = "2025-03-26"

/** Makes the handler of all requests to a server without sessions. */
export const make = Effect.fnUntraced(function*(
  server: StatelessServer.StatelessServer,
  guard: HttpGuard,
  responses: PostResponse,
  options: Options
): Effect.fn.Return<StatelessHandler> {
  const posts = new StatelessPosts.StatelessPosts(
    server,
    Effect.runForkWith(yield* Effect.context<never>()),
    { ...options, scopes: guard.scopes }
  )
  const { gracefulMillis } = options
  let isDraining = false

  /** Returns the revision with a handshake in which a POST is served. */
  const legacyRevisionOf = (
    request: HttpServerRequest,
    message: JsonRpc.Classified
  ): Effect.Effect<Revision.Revision, HttpServerResponse> => {
    const served = message._tag === "Request" ? message.message : undefined
    return Effect.flatMapEager(declaredVersion(request, server.revisions), (version = undeclared) =>
      // The params of `initialize` contain the revision.
      served?.method === "initialize" || server.revisions.includes(version)
        ? Effect.succeed(version)
        : Effect.fail(HttpResponses.error(
          400,
          `MCP-Protocol-Version ${JSON.stringify(version)} is not supported; supported: ${server.revisions.join(", ")}`,
          { id: served?.id }
        )))
  }

  const post = (received: Omit<Post, "version">): Effect.Effect<HttpServerResponse, HttpServerResponse> => {
    const message = JsonRpc.classify(received.frame)
    if (isDraining) return Effect.fail(HttpResponses.shuttingDown(gracefulMillis, idOf(message)))
    const era = server.eraOf(message, received.request.headers)
    return era._tag === "Handshake"
      ? Effect.flatMapEager(
        legacyRevisionOf(received.request, message),
        (revision) => posts.serve(received, message, era, responses, revision)
      )
      : posts.serve(received, message, era, responses)
  }

  return {
    handle: guard.protect(
      new Map<string, Route>([["POST", (sender) => Effect.flatMap(guard.readPost(sender), post)]]),
      { methodNotAllowed: HttpResponses.withoutSessions }
    ),
    drain: Effect.suspend(() => {
      isDraining = true
      return Effect.andThen(server.drain, posts.ended)
    })
  }
})

/** The handler of Streamable HTTP with sessions: POST carries a message, GET opens a stream, DELETE ends a session. */
import { Revision } from "@effect-mcp/protocol"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import { SessionOwners } from "@effect-mcp/session/SessionOwners"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as SessionForwarding from "../forwarding/SessionForwarding.ts"
import * as HttpGuard from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import type { Lease } from "../SseStream.ts"
import * as StreamExpiry from "../StreamExpiry.ts"
import * as GetRoute from "./GetRoute.ts"
import type { PostResponse } from "./PostResponse.ts"
import * as PostRoute from "./PostRoute.ts"
import { hasMoved, SessionLookup } from "./SessionLookup.ts"
import { StatelessPosts } from "./StatelessPosts.ts"
import type { Options as ConnectionOptions } from "./StreamableHttpServerConnection.ts"

/** Makes the handler of all requests to the sessions of a host. */
export const make = Effect.fnUntraced(function*(
  guard: HttpGuard.HttpGuard,
  responses: PostResponse,
  options: ConnectionOptions & {
    readonly maxInitializeBytes: number
    readonly forwarding: SessionForwarding.Settings
  }
): Effect.fn.Return<HttpGuard.Handler, never, Scope.Scope | SessionHost.SessionHost> {
  const host = yield* SessionHost.SessionHost
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const { maxInitializeBytes, store } = options
  const { revisions } = host.stateless
  const { scopes } = guard
  const posts = new StatelessPosts(host.stateless, fork, { ...options, scopes })
  yield* Effect.addFinalizer(() => posts.ended)
  const owners = Option.getOrUndefined(yield* Effect.serviceOption(SessionOwners))
  const lease: Lease | undefined = owners && {
    isAlive: owners.isAlive,
    regained: (id) =>
      Effect.suspend(() => {
        const hosted = host.find(id)
        return hosted === undefined ? Exit.succeed(false) : Effect.orElseSucceed(host.ready(hosted), () => false)
      })
  }
  const lookup = new SessionLookup(host, { ...options, lease, calls: host.calls })
  const post = PostRoute.make({
    host,
    lookup,
    posts,
    responses,
    scopes,
    revisions,
    maxInitializeBytes,
    isStored: store !== undefined,
    fork
  })
  const forwarding = yield* SessionForwarding.make(
    host,
    (sender, id) => lookup.restore(sender, id, undefined),
    guard,
    options.forwarding
  )
  type Method = readonly [name: string, route: HttpGuard.Route]
  const posting: Method = ["POST", (sender) => Effect.flatMap(guard.readPost(sender), post)]
  const getting: Method = ["GET", GetRoute.make(lookup, revisions, store, yield* StreamExpiry.make)]
  const deleting: Method = [
    "DELETE",
    Effect.fnUntraced(function*(sender) {
      yield* HttpGuard.declaredVersion(sender.request, revisions)
      const { connection, hosted } = yield* lookup.find(sender, undefined)
      connection.endByClient()
      yield* hosted.close(PostRoute.peerEnded)
      // The store has rejected the deletion: the session goes on elsewhere.
      return hosted.isSuperseded ? hasMoved(undefined) : HttpResponses.empty(204)
    })
  ]
  const hasSessions = revisions.some((revision) => Revision.isLegacy(revision))
  // A revision without sessions has no standalone stream and nothing to delete.
  return guard.protect(new Map(hasSessions ? [getting, posting, deleting] : [posting]), {
    methodNotAllowed: hasSessions ? undefined : HttpResponses.withoutSessions,
    place: forwarding?.place
  })
})

/** The subscriptions of a proxy at its server: one for each resource, as long as a client is subscribed to it. */

import { Reconnection, type SupervisedSessions } from "@effect-mcp/client/internal"
import type { ServerUnavailableError } from "@effect-mcp/client/ServerUnavailableError"
import type { McpError } from "@effect-mcp/protocol"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RemoteErrors from "./RemoteErrors.ts"

const method = "resources/subscribe"

/** The time that the server has to begin a subscription, in milliseconds. */
const beginMillis = 60_000

/** Prepares the updates of a resource for one subscriber, until its scope closes. */
export type Observe = (uri: string) => Effect.Effect<void, McpError.McpError, Scope.Scope>

/**
 * Makes the subscriptions of one server. All subscribers of a resource share one, and `updated` notifies them: after
 * each update, and after a new session, because updates may have been lost.
 */
export const make = Effect.fnUntraced(function*(
  id: string,
  { ready, watched }: SupervisedSessions.SupervisedSessions,
  updated: (uri: string) => Effect.Effect<void>
): Effect.fn.Return<Observe, never, Scope.Scope> {
  // The services are those of the proxy, and none of the request that subscribes first.
  const run = yield* FiberSet.makeRuntime()
  const observed = yield* RcMap.make({
    lookup: (uri: string) =>
      Effect.gen(function*() {
        const subscribed = yield* Deferred.make<void, RequestError.RequestError | ServerUnavailableError>()
        const follow = Stream.runForEach(
          watched.follow(uri, () => Effect.void),
          () => Deferred.isDoneUnsafe(subscribed) ? updated(uri) : Deferred.succeed(subscribed, undefined)
        )
        yield* Effect.acquireRelease(
          Effect.sync(() =>
            run(Effect.catch(
              Effect.retry(follow, {
                schedule: Reconnection.defaultSchedule,
                while: (error) => error._tag === "RequestError" && Deferred.isDoneUnsafe(subscribed)
              }),
              (error) => Deferred.fail(subscribed, error)
            ))
          ),
          Fiber.interrupt
        )
        yield* Effect.timeoutOrElse(Deferred.await(subscribed), {
          duration: beginMillis,
          orElse: () => Effect.fail(RequestError.make(method, { _tag: "Timeout", afterMillis: beginMillis }))
        })
      })
  })
  return (uri: string) =>
    Effect.andThen(ready(), RcMap.get(observed, uri)).pipe(
      Effect.catchTag("ServerUnavailableError", (error) => Effect.fail(RemoteErrors.withoutSession(method)(error))),
      Effect.catch(RemoteErrors.failing(id))
    )
})

/** The sessions that a server has opened for one connection and that the client has to end (SHS-28): mostly one. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { atMost } from "../../../shared/nodeTimers.ts"
import * as HttpCall from "../HttpCall.ts"
import type * as McpEndpoint from "../McpEndpoint.ts"
import * as ResponseBody from "../ResponseBody.ts"

export interface SessionCleanup {
  /**
   * Makes a call that may open a session. Only its response has the session id. So if the caller is interrupted, the
   * call continues in the background for a limited time, and its session is ended then. The caller does not wait for
   * that.
   */
  readonly completeInBackground: McpEndpoint.Making
  /** Removes a session that the server has lost. */
  readonly forget: (session: string) => void
  /** Ends a session with a DELETE in the background, while the connection stays open. */
  readonly abandon: (session: string) => Effect.Effect<void>
  /** Ends all sessions, also those of calls that continue in the background, and waits for it. */
  readonly end: Effect.Effect<void>
}

/** Returns the id of the session that a response opens, if it opens one with an id. */
export const sessionOf = (response: HttpCall.HttpResponse): string | undefined => {
  const id = HttpCall.isAccepted(response) ? response.header("mcp-session-id") : undefined
  return id === "" ? undefined : id
}

/** Creates the cleanup of one connection. The server has this time to send a session id, and to confirm a DELETE. */
export const make = (
  remove: (session: string) => McpEndpoint.Called,
  closeTimeout: Duration.Input
): SessionCleanup => {
  const open = new Set<string>()
  // The fibers for which no caller waits: calls that may still open sessions, and the ends of sessions.
  const background = new Set<Fiber.Fiber<void>>()

  const endOne = (session: string): Effect.Effect<void> => {
    const removed = Effect.scoped(Effect.flatMap(remove(session), ResponseBody.discard))
    // The server may close a kept connection just when the DELETE is sent on it. A DELETE can be repeated.
    return Effect.ignore(Effect.catchIf(removed, ({ reason }) => reason._tag === "ExchangeEnded", () => removed))
  }

  const runInBackground = (work: Effect.Effect<void>): Effect.Effect<void> =>
    Effect.map(Effect.forkDetach(work), (fiber) => {
      background.add(fiber)
      fiber.addObserver(() => background.delete(fiber))
    })

  const completeAndEnd = (calling: Fiber.Fiber<HttpCall.HttpResponse, unknown>, callScope: Scope.Closeable) => {
    const close = Scope.close(callScope, Exit.void)
    const ended = Effect.flatMap(Fiber.join(calling), (response) => {
      const session = sessionOf(response)
      return Effect.andThen(close, session === undefined ? Effect.void : endOne(session))
    })
    return runInBackground(
      Effect.ensuring(
        atMost(Effect.ignore(ended), closeTimeout),
        Effect.andThen(Fiber.interrupt(calling), close)
      )
    )
  }

  return {
    completeInBackground: (called) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const callScope = yield* Scope.make()
          const calling = yield* Effect.forkDetach(Scope.provide(called, callScope), { startImmediately: true })
          const exit = yield* Effect.exit(restore(Fiber.join(calling)))
          if (Exit.hasInterrupts(exit)) yield* completeAndEnd(calling, callScope)
          else yield* Effect.addFinalizer((exit) => Scope.close(callScope, exit))
          const response = yield* exit
          const session = sessionOf(response)
          if (session !== undefined) open.add(session)
          return response
        })
      ),
    forget: (session) => {
      open.delete(session)
    },
    abandon: (session) => {
      open.delete(session)
      return runInBackground(atMost(endOne(session), closeTimeout))
    },
    end: Effect.suspend(() =>
      Effect.andThen(
        atMost(Effect.forEach(open, endOne, { concurrency: "unbounded", discard: true }), closeTimeout),
        // These fibers have their own timeout, which began no later.
        Effect.suspend(() => Fiber.awaitAll(Array.from(background)))
      )
    )
  }
}

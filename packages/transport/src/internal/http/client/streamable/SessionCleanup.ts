/** The sessions that a server has opened for one connection, and has to be told to end (SHS-28): mostly one. */
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
   * Makes a call that may open a session. Only its answer says by which id the server knows that session, so that the call goes on
   * for a while when it is given up, and the session is ended then. Whoever gives it up does not wait.
   */
  readonly heardOut: McpEndpoint.Making
  /** The server knows nothing of this one any more. */
  readonly forget: (session: string) => void
  /** Ends a session with a DELETE while the connection goes on, and does not wait for it. */
  readonly abandon: (session: string) => Effect.Effect<void>
  /** Has the server end them all, those that may still come included. */
  readonly end: Effect.Effect<void>
}

/** The id of the session that an answer opens, if it opens one that has an id. */
export const sessionOf = (answer: HttpCall.Answer): string | undefined => {
  const id = HttpCall.isAccepted(answer) ? answer.header("mcp-session-id") : undefined
  return id === "" ? undefined : id
}

/** The server may take as long as this to say which session it has opened, and that it has ended it. */
export const make = (
  remove: (session: string) => McpEndpoint.Called,
  closeTimeout: Duration.Input
): SessionCleanup => {
  const known = new Set<string>()
  // Calls that no caller waits for any more: for the sessions that they may still open, and to end those that were
  // opened in vain.
  const givenUp = new Set<Fiber.Fiber<void>>()

  const endOne = (session: string): Effect.Effect<void> => {
    const said = Effect.scoped(Effect.flatMap(remove(session), ResponseBody.discard))
    // The server may close a connection that was kept at the very moment that this goes out on it. It can be said twice.
    return Effect.ignore(Effect.catchIf(said, ({ reason }) => reason._tag === "ExchangeEnded", () => said))
  }

  const beside = (work: Effect.Effect<void>): Effect.Effect<void> =>
    Effect.map(Effect.forkDetach(work), (fiber) => {
      givenUp.add(fiber)
      fiber.addObserver(() => givenUp.delete(fiber))
    })

  const giveUp = (calling: Fiber.Fiber<HttpCall.Answer, unknown>, whileCalled: Scope.Closeable) => {
    const letGo = Scope.close(whileCalled, Exit.void)
    const ended = Effect.flatMap(Fiber.join(calling), (answer) => {
      const session = sessionOf(answer)
      return Effect.andThen(letGo, session === undefined ? Effect.void : endOne(session))
    })
    return beside(
      Effect.ensuring(
        atMost(Effect.ignore(ended), closeTimeout),
        Effect.andThen(Fiber.interrupt(calling), letGo)
      )
    )
  }

  return {
    heardOut: (called) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const whileCalled = yield* Scope.make()
          const calling = yield* Effect.forkDetach(Scope.provide(called, whileCalled), { startImmediately: true })
          const exit = yield* Effect.exit(restore(Fiber.join(calling)))
          if (Exit.hasInterrupts(exit)) yield* giveUp(calling, whileCalled)
          else yield* Effect.addFinalizer((over) => Scope.close(whileCalled, over))
          const answer = yield* exit
          const session = sessionOf(answer)
          if (session !== undefined) known.add(session)
          return answer
        })
      ),
    forget: (session) => {
      known.delete(session)
    },
    abandon: (session) => {
      known.delete(session)
      return beside(atMost(endOne(session), closeTimeout))
    },
    end: Effect.suspend(() =>
      Effect.andThen(
        atMost(Effect.forEach(known, endOne, { concurrency: "unbounded", discard: true }), closeTimeout),
        // These have been waited for as long as the others by now, and are for no longer.
        Effect.suspend(() => Fiber.awaitAll(Array.from(givenUp)))
      )
    )
  }
}

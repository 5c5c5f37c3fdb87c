/**
 * The sign-ins of a person at one server: at most one at a time, and the windows that may be opened for them.
 *
 * A window needs an act of a person. The start of the program permits one, each `login` another, and each `confirm` of
 * the host as well. Nothing that a server sends permits one. After a refusal, no question is asked until `login`.
 */
import { ForeignCall } from "@effect-mcp/session/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as OAuthError from "../../OAuthError.ts"
import type { Reason } from "./AccessReason.ts"
import { PendingSignIn } from "./PendingSignIn.ts"
import * as PersonFlow from "./PersonFlow.ts"
import type { ServerSettings } from "./ServerSettings.ts"

/** The time within which a sign-in shows its URL: discovery, registration and the listener together. */
const showingMillis = 45_000

/**
 * Permissions for a request that needs a person.
 *
 * - `Window`: a window opens.
 * - `Question`: the person is asked whether one may open, if the host can ask.
 * - `Nothing`: the person has refused, or has signed out.
 */
type Permission = "Window" | "Question" | "Nothing"

/** Runs the flow of a sign-in, and stores its tokens. */
export type Run = (reason: Reason, pending: PendingSignIn) => Effect.Effect<void, OAuthError.OAuthError>

export class SignIns {
  readonly #settings: ServerSettings
  readonly #server: string
  readonly #scope: Scope.Scope
  readonly #run: Run
  #pending: PendingSignIn | undefined = undefined
  #permission: Permission = "Window"

  /** The flows run in the scope. `server` is the name of the server in errors. */
  constructor(settings: ServerSettings, server: string, scope: Scope.Scope, run: Run) {
    this.#settings = settings
    this.#server = server
    this.#scope = scope
    this.#run = run
  }

  /** The sign-in that waits for the person. */
  get pending(): PendingSignIn | undefined {
    return this.#pending
  }

  /** Permits one window, because a person has acted. */
  permit(): void {
    this.#permission = "Window"
  }

  /**
   * Begins to sign a person in, or begins it anew, and waits until its URL is known. It goes on without the caller.
   * Unless a person wants it now, it waits for the sign-ins at other servers.
   */
  begin(reason: Reason, isWanted: boolean): Effect.Effect<PendingSignIn, OAuthError.OAuthError> {
    return Effect.tap(this.#begun(reason, isWanted), (pending) =>
      Effect.timeoutOrElse(pending.isShown, {
        duration: showingMillis,
        orElse: () =>
          Effect.fail(OAuthError.make({
            _tag: "Unavailable",
            url: this.#server,
            problem: `the sign-in has not begun within ${showingMillis} ms`
          }))
      }))
  }

  #begun(reason: Reason, isWanted: boolean): Effect.Effect<PendingSignIn, OAuthError.OAuthError> {
    return Effect.uninterruptible(Effect.gen({ self: this }, function*() {
      const { queue, userAgent } = this.#settings
      const confirm = userAgent._tag === "Redirect" ? userAgent.confirm : undefined
      if (userAgent._tag === "None") return yield* PersonFlow.withoutPerson(this.#server)
      const isPermitted = this.#permission === "Window"
      const mayAsk = this.#permission === "Question" && confirm !== undefined
      if (!isPermitted && !mayAsk) return yield* this.#needsLogin(reason)
      this.#permission = "Question"
      const pending = this.#pending ?? new PendingSignIn(this.#server, yield* Clock.currentTimeMillis)
      yield* this.#stop(pending)
      pending.restart()
      this.#pending = pending
      const ask = isPermitted || confirm === undefined
        ? Effect.void
        : Effect.gen({ self: this }, function*() {
          yield* pending.show(undefined)
          const { scopes, target: { issuer } } = reason
          const asking = Effect.suspend(() => confirm({ server: this.#server, issuer, scopes }))
          if (!(yield* ForeignCall.detachable(asking))) return yield* this.#refused(reason)
          pending.restart()
        })
      const flow = Effect.scoped(Effect.gen({ self: this }, function*() {
        yield* queue.turn({ isWanted, onWait: pending.wait })
        yield* ask
        yield* this.#run(reason, pending)
      }))
      pending.fiber = yield* Effect.forkIn(this.#settled(pending, flow, isPermitted), this.#scope, {
        startImmediately: true
      })
      return pending
    }))
  }

  /**
   * Runs the flow of a sign-in, and ends the sign-in with it, unless it is begun anew. The permission for a window is
   * given back if none was opened.
   */
  #settled(
    pending: PendingSignIn,
    flow: Effect.Effect<void, OAuthError.OAuthError>,
    isPermitted: boolean
  ): Effect.Effect<void> {
    return Effect.onExit(Effect.interruptible(flow), (exit) =>
      Effect.sync(() => {
        const isInterrupted = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
        if (isInterrupted && pending.fiber === undefined) return
        if (this.#pending === pending) this.#pending = undefined
        if (isPermitted && Exit.isFailure(exit) && pending.url === undefined) this.#permission = "Window"
        pending.end(outcomeOf(exit))
      })).pipe(Effect.exit, Effect.asVoid)
  }

  /** Stops the flow of a sign-in, which stays pending. */
  #stop(pending: PendingSignIn): Effect.Effect<void> {
    const { fiber } = pending
    pending.fiber = undefined
    return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
  }

  /** Ends the sign-in that waits, because the person has signed out. No window opens until {@link permit}. */
  get abandon(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#permission = "Nothing"
      const pending = this.#pending
      if (pending === undefined) return Effect.void
      return Effect.andThen(
        this.#stop(pending),
        Effect.sync(() => {
          this.#pending = undefined
          pending.end(Effect.fail(this.#needsLogin()))
        })
      )
    })
  }

  /** The person is not asked again: the server repeats its challenge as often as it likes. */
  #refused(reason: Reason): OAuthError.OAuthError {
    // A `login` that has begun meanwhile permits a window.
    if (this.#permission === "Question") this.#permission = "Nothing"
    return this.#needsLogin(reason)
  }

  #needsLogin(reason?: Reason): OAuthError.OAuthError {
    const { scopes = [] } = reason ?? {}
    return OAuthError.make({
      _tag: "SignInRequired",
      server: this.#server,
      remedy: "call OAuth.login",
      ...(scopes.length === 0 ? {} : { scopes })
    })
  }
}

/** Returns the outcome of a flow for those who wait. A defect of the program's own functions is contained. */
const outcomeOf = (exit: Exit.Exit<void, OAuthError.OAuthError>): Effect.Effect<void, OAuthError.OAuthError> => {
  if (Exit.isSuccess(exit)) return Effect.void
  const failure = Cause.findError(exit.cause)
  if (Result.isSuccess(failure)) return Effect.fail(failure.success)
  const problem = Cause.hasInterrupts(exit.cause) ? "the program ended it" : "the user agent died"
  return Effect.fail(OAuthError.make({ _tag: "UserAgentFailed", problem }))
}

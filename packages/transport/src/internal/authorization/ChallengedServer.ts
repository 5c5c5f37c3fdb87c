/** The authorization at one server by a function of its challenges. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AuthenticationChallenge } from "../../AuthenticationChallenge.ts"
import type { HeaderValues } from "../shared/HeaderValues.ts"
import * as ServerAddress from "../shared/ServerAddress.ts"

/** Returns the headers that answer the challenges of a server; `undefined` if there are none. */
export type Answer = (challenges: ReadonlyArray<AuthenticationChallenge>) => Effect.Effect<HeaderValues | undefined>

/** The time that a rejected request waits for the function, which may wait for a person. */
const patience = "1 second"

type Verdict = "Again" | "Final"

/** A run of the function, for all requests that were rejected meanwhile. */
interface Run {
  readonly target: string
  readonly since: number
  readonly verdict: Deferred.Deferred<Verdict, TransportError.TransportError>
}

/** A rejected request, as far as its answer depends on it. */
interface RejectedRequest {
  readonly url: URL
  readonly challenges: ReadonlyArray<AuthenticationChallenge>
  readonly sentWith: HeaderValues
  readonly repetitions: number
}

const none: HeaderValues = {}

/** The authorization at one server: the headers that the function has given last. */
export class ChallengedServer {
  readonly #answer: Answer
  #given = none
  #headers = Effect.succeed(none)
  /** Whether the server has accepted a request after the function gave the present headers. */
  #isAccepted = true
  #run: Run | undefined

  constructor(answer: Answer) {
    this.#answer = answer
  }

  readonly headers = (): Effect.Effect<HeaderValues> => this.#headers

  readonly responded = ({ sentWith }: Pick<RejectedRequest, "sentWith">): void => {
    // A response to earlier headers, or to a request without them, says nothing about the present ones.
    if (sentWith === this.#given) this.#isAccepted = true
  }

  readonly rejected = (request: RejectedRequest): Effect.Effect<Verdict, TransportError.TransportError> =>
    Effect.suspend(() => {
      if (this.#run !== undefined) return this.#wait(this.#run)
      if (request.sentWith !== this.#given) return Effect.succeed<Verdict>("Again")
      // Otherwise a server that rejects everything would run the function at each reconnection, for ever.
      if (!this.#isAccepted || request.repetitions > 0) return Effect.succeed<Verdict>("Final")
      return Effect.flatMap(this.#start(request), (run) => this.#wait(run))
    })

  /** Waits for a run. If that takes long, a person may have to act. */
  #wait({ since, target, verdict }: Run): Effect.Effect<Verdict, TransportError.TransportError> {
    const refused = TransportError.make({
      _tag: "AuthorizationFailed",
      target,
      problem: "the function of the challenges returned no headers",
      cause: undefined,
      isPermanent: true
    })
    const authorized = Effect.flatMap(
      Deferred.await(verdict),
      (verdict) => verdict === "Again" ? Effect.void : Effect.fail(refused)
    )
    return Effect.timeoutOrElse(Deferred.await(verdict), {
      duration: patience,
      orElse: () => TransportError.make({ _tag: "AuthorizationRequired", target, since, authorized })
    })
  }

  /** Runs the function. The request that it began with may end before it does: a person may need longer. */
  #start({ challenges, url }: RejectedRequest): Effect.Effect<Run> {
    return Effect.uninterruptible(Effect.gen({ self: this }, function*() {
      const verdict = Deferred.makeUnsafe<Verdict, TransportError.TransportError>()
      const run: Run = { target: ServerAddress.shown(url), since: yield* Clock.currentTimeMillis, verdict }
      this.#run = run
      const answered = Effect.onExit(
        Effect.interruptible(Effect.suspend(() => this.#answer(challenges))),
        (exit) => Effect.sync(() => this.#finish(run, exit))
      )
      yield* Effect.forkDetach(Effect.exit(answered))
      return run
    }))
  }

  #finish({ target, verdict }: Run, exit: Exit.Exit<HeaderValues | undefined>): void {
    this.#run = undefined
    if (Exit.isFailure(exit)) {
      const problem = "the function of the challenges failed"
      const cause = Cause.squash(exit.cause)
      Deferred.doneUnsafe(
        verdict,
        Exit.fail(TransportError.make({ _tag: "AuthorizationFailed", target, problem, cause }))
      )
    } else if (exit.value === undefined) Deferred.doneUnsafe(verdict, Exit.succeed("Final"))
    else {
      // A copy, because requests recognize their headers by identity, and the function may return the same ones again.
      this.#given = { ...exit.value }
      this.#headers = Effect.succeed(this.#given)
      this.#isAccepted = false
      Deferred.doneUnsafe(verdict, Exit.succeed("Again"))
    }
  }
}

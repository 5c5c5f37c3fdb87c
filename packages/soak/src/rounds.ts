/** Runs lives of clients in rounds, and measures after each round what is left of them. */
import { FiberCount } from "@effect-mcp/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import * as Idle from "./idle.ts"
import type { Sample } from "./Sample.ts"
import type { Failure, Outcome } from "./soak.ts"
import type { Counts } from "./Subject.ts"
import * as Tally from "./Tally.ts"
import { unexpected } from "./Unexpected.ts"

/** The life of one client. */
export interface Life {
  readonly subject: string
  readonly ending: Failure["ending"]
  /** The number of restarts, of tasks or of expiries. */
  readonly count: number
  readonly run: Effect.Effect<void, unknown, Scope.Scope>
}

export interface RoundsOptions {
  /** The number of restarts, of tasks or of expiries, of all rounds together. */
  readonly total: number
  readonly rounds: number
  readonly leakBytes: number
  readonly onFailure: (failure: Failure) => void
  readonly onSample: (sample: Sample, round: number) => void
}

/** The lives of a soak. */
export interface Lives {
  /** The number of clients at the same time. */
  readonly concurrency: number
  /** Returns lives with this count together. */
  readonly next: (count: number, tally: Tally.Tally) => ReadonlyArray<Life>
  /** Waits until nothing of the lives of a round is left that is meant to stay for a while. */
  readonly settled: Effect.Effect<void>
  readonly tables: Effect.Effect<Counts>
  /** Further levels, which must not grow. */
  readonly levels?: Effect.Effect<Counts> | undefined
  /** Further values that are only shown. */
  readonly shown?: (() => Counts) | undefined
}

/** The time limit of one life. A real process starts slowly, and others start at the same time. */
const lifetime = "2 minutes"

const soak = Effect.fnUntraced(function*(
  { leakBytes, onFailure, onSample, rounds, total }: RoundsOptions,
  make: Effect.Effect<Lives, never, Scope.Scope>,
  fibers: () => number
): Effect.fn.Return<Omit<Outcome, "warnings">, unknown, Scope.Scope> {
  const { concurrency, levels, next, settled, shown, tables } = yield* make
  const tally = Tally.make(leakBytes)
  const gauges: Idle.Gauges = { fibers, tables, levels, shown, tally, startedAt: performance.now() }
  const { samples, take } = yield* Idle.sampling(gauges, onSample)
  const failures: Array<Failure> = []
  const sessionsByEnding: Record<string, number> = {}

  yield* take(0)
  let planned = 0
  let clients = 0
  for (let round = 1; round <= rounds; round++) {
    const due = Math.round((total * round) / rounds)
    const lives = next(due - planned, tally)
    planned = due
    yield* Effect.forEach(lives, ({ count, ending, run, subject }) =>
      Effect.gen(function*() {
        const client = `client-${clients++}`
        const exit = yield* Effect.exit(
          Effect.scoped(run).pipe(
            Effect.timeoutOrElse({
              duration: lifetime,
              orElse: () => Effect.fail(unexpected(`the client did not end within ${lifetime}`))
            })
          )
        )
        const name = `${subject}: ${ending}`
        sessionsByEnding[name] = (sessionsByEnding[name] ?? 0) + count
        if (Exit.isSuccess(exit)) return
        const failure: Failure = { subject, ending, client, problem: Cause.pretty(exit.cause) }
        failures.push(failure)
        onFailure(failure)
      }), { concurrency, discard: true })
    yield* settled
    yield* take(round)
  }
  return { samples: samples(), failures, sessionsByEnding }
})

/** Runs a soak with a fiber count of its own. Its clients log each server that is down, which is no problem here. */
export const run = (
  options: RoundsOptions,
  make: Effect.Effect<Lives, never, Scope.Scope>
): Effect.Effect<Outcome, unknown> => {
  const census = FiberCount.make()
  return census.count(Effect.scoped(soak(options, make, census.living))).pipe(
    Effect.map((outcome) => ({ ...outcome, warnings: [] })),
    Effect.provideService(References.MinimumLogLevel, "Error")
  )
}

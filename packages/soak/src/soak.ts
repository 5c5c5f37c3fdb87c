/** Runs the sessions of a plan, and measures after each round which resources are left. */
import { FiberCount } from "@effect-mcp/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { EndingName } from "./EndingName.ts"
import { endings } from "./endings.ts"
import * as Idle from "./idle.ts"
import type { PlannedSession, Round } from "./plan.ts"
import type { Sample } from "./Sample.ts"
import type { Counts, Lifetime, Server, Subject } from "./Subject.ts"
import * as Tally from "./Tally.ts"
import { unexpected } from "./Unexpected.ts"

/** A session that did not end as expected. */
export interface Failure {
  readonly subject: string
  /** The way in which the session had to end, or the part that failed: a restart, a task or an expiry. */
  readonly ending: EndingName | "restart" | "task" | "expiry"
  readonly client: string
  readonly problem: string
}

/** The outcome of a soak. */
export interface Outcome {
  /** The samples before the first session and after each round. */
  readonly samples: ReadonlyArray<Sample>
  readonly failures: ReadonlyArray<Failure>
  /** The log messages at the level warning or above. */
  readonly warnings: ReadonlyArray<string>
  /** The numbers of sessions by subject and ending. */
  readonly sessionsByEnding: Counts
}

export interface SoakOptions {
  readonly subjects: ReadonlyArray<Subject>
  readonly plan: ReadonlyArray<Round>
  /** The number of bytes to leak for each session, which shows that the soak finds leaks. */
  readonly leakBytes: number
  /** Receives each session that did not end as expected, immediately. */
  readonly onFailure: (failure: Failure) => void
  /** Receives each sample. */
  readonly onSample: (sample: Sample, round: number) => void
}

/** The number of concurrent sessions of one subject that wait for an expiry. */
const slowConcurrency = 16

/** The number of concurrently active sessions of all subjects, small enough that each is fast on a busy machine. */
const activeLimit = 16

/** The time limit of one session. */
const sessionTimeout = "30 seconds"

const allLifetimes = ["unlimited", "shortIdle", "shortAge"] as const satisfies ReadonlyArray<Lifetime>

/** Starts the servers of a subject, one for each lifetime of its endings. */
const startAll = Effect.fnUntraced(function*(subject: Subject) {
  const needed = new Set(Object.values(subject.endings).map(({ lifetime }) => lifetime ?? "unlimited"))
  const servers = new Map<Lifetime, Server>()
  for (const lifetime of allLifetimes) if (needed.has(lifetime)) servers.set(lifetime, yield* subject.start(lifetime))
  return servers
})

type Servers = ReadonlyMap<string, ReadonlyMap<Lifetime, Server>>

/** Returns the sums of the table sizes of all servers, by subject. */
const tablesOf = (servers: Servers): Effect.Effect<Counts> =>
  Effect.gen(function*() {
    const sums: Record<string, number> = {}
    for (const [subject, byTerms] of servers) {
      for (const server of byTerms.values()) {
        for (const [table, size] of Object.entries(yield* server.tables)) {
          const name = `${subject}: ${table}`
          sums[name] = (sums[name] ?? 0) + size
        }
      }
    }
    return sums
  })

const problemOf = (exit: Exit.Exit<void, unknown>): string | undefined =>
  Exit.isSuccess(exit) ? undefined : Cause.pretty(exit.cause)

const runSession = (
  { chance, client, ending, subject }: PlannedSession,
  servers: Servers,
  tally: Tally.Tally,
  releaseSlot: Effect.Effect<void>
) =>
  Effect.suspend(() => {
    const expected = subject.endings[ending]
    const server = servers.get(subject.name)?.get(expected?.lifetime ?? "unlimited")
    return expected === undefined || server === undefined
      ? Effect.fail(unexpected(`${subject.name} has no ending ${ending}`))
      : endings[ending].run({ subject, ending, server, expected, client, chance, tally, releaseSlot })
  }).pipe(
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: sessionTimeout,
      orElse: () => Effect.fail(unexpected(`the session did not end within ${sessionTimeout}`))
    })
  )

const soak = Effect.fnUntraced(function*(
  { leakBytes, onFailure, onSample, plan, subjects }: SoakOptions,
  fibers: () => number
): Effect.fn.Return<Omit<Outcome, "warnings">, unknown, Scope.Scope> {
  const servers = new Map<string, ReadonlyMap<Lifetime, Server>>()
  for (const subject of subjects) servers.set(subject.name, yield* startAll(subject))

  const tally = Tally.make(leakBytes)
  const gauges: Idle.Gauges = { fibers, tables: tablesOf(servers), tally, startedAt: performance.now() }
  const { samples, take } = yield* Idle.sampling(gauges, onSample)
  const failures: Array<Failure> = []
  const sessionsByEnding: Record<string, number> = {}

  const slots = yield* Semaphore.make(activeLimit)
  const runPlanned = Effect.fnUntraced(function*(session: PlannedSession) {
    yield* slots.take(1)
    let holdsSlot = true
    const releaseSlot = Effect.suspend(() => {
      if (!holdsSlot) return Effect.void
      holdsSlot = false
      return Effect.asVoid(slots.release(1))
    })
    const exit = yield* Effect.exit(runSession(session, servers, tally, releaseSlot))
    yield* releaseSlot
    const { client, ending, subject } = session
    const name = `${subject.name}: ${ending}`
    sessionsByEnding[name] = (sessionsByEnding[name] ?? 0) + 1
    const problem = problemOf(exit)
    if (problem === undefined) return
    const failure: Failure = { subject: subject.name, ending, client, problem }
    failures.push(failure)
    onFailure(failure)
  })

  yield* take(0)
  for (const [index, round] of plan.entries()) {
    yield* Effect.forEach(
      subjects,
      (subject) => {
        const planned = round.filter((session) => session.subject === subject)
        const isSlow = ({ ending }: PlannedSession) => endings[ending].slow === true
        // Sessions that wait for an expiry block no others, and use little CPU time.
        return Effect.all([
          Effect.forEach(planned.filter(isSlow), runPlanned, { concurrency: slowConcurrency, discard: true }),
          Effect.forEach(planned.filter((session) => !isSlow(session)), runPlanned, {
            concurrency: subject.concurrency,
            discard: true
          })
        ], { concurrency: 2, discard: true })
      },
      { concurrency: "unbounded", discard: true }
    )
    yield* take(index + 1)
  }
  return { samples: samples(), failures, sessionsByEnding }
})

/** Runs a soak with a fiber count of its own. */
export const run = (options: SoakOptions): Effect.Effect<Outcome, unknown> => {
  const census = FiberCount.make()
  const warnings: Array<string> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    if (logLevel === "Warn" || logLevel === "Error" || logLevel === "Fatal") {
      warnings.push(`${logLevel}: ${JSON.stringify(message)} ${cause.reasons.length > 0 ? Cause.pretty(cause) : ""}`)
    }
  })
  return census.count(Effect.scoped(soak(options, census.living))).pipe(
    Effect.map((outcome) => ({ ...outcome, warnings })),
    Effect.provide(Logger.layer([logger]))
  )
}

/** Runs the sessions of a plan, and measures after each round what is left of them. */
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
import type { Round, Visit } from "./plan.ts"
import type { Sample } from "./Sample.ts"
import type { Counts, Server, Subject, Terms } from "./Subject.ts"
import * as Tally from "./Tally.ts"
import { unexpected } from "./Unexpected.ts"

/** A session that did not end as expected. */
export interface Failure {
  readonly subject: string
  readonly ending: EndingName
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
  readonly held: Counts
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
const atWork = 16

/** The time limit of one session. */
const sessionTimeout = "30 seconds"

const allTerms = ["patient", "idle", "ageing"] as const satisfies ReadonlyArray<Terms>

/** Starts the servers of a subject, one for each of the terms of its endings. */
const startAll = Effect.fnUntraced(function*(subject: Subject) {
  const needed = new Set(Object.values(subject.endings).map(({ terms }) => terms ?? "patient"))
  const servers = new Map<Terms, Server>()
  for (const terms of allTerms) if (needed.has(terms)) servers.set(terms, yield* subject.start(terms))
  return servers
})

type Servers = ReadonlyMap<string, ReadonlyMap<Terms, Server>>

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

const hold = (
  { chance, client, ending, subject }: Visit,
  servers: Servers,
  tally: Tally.Tally,
  rest: Effect.Effect<void>
) =>
  Effect.suspend(() => {
    const expected = subject.endings[ending]
    const server = servers.get(subject.name)?.get(expected?.terms ?? "patient")
    return expected === undefined || server === undefined
      ? Effect.fail(unexpected(`${subject.name} has no ending ${ending}`))
      : endings[ending].run({ subject, ending, server, expected, client, chance, tally, rest })
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
  const servers = new Map<string, ReadonlyMap<Terms, Server>>()
  for (const subject of subjects) servers.set(subject.name, yield* startAll(subject))

  const tally = Tally.make(leakBytes)
  const gauges: Idle.Gauges = { fibers, tables: tablesOf(servers), tally, startedAt: performance.now() }
  const base = yield* Idle.base(gauges)
  // Samples are kept as text; as objects they would count themselves.
  const samples: Array<string> = []
  const failures: Array<Failure> = []
  const held: Record<string, number> = {}
  const look = Effect.fnUntraced(function*(round: number) {
    const sample = yield* Idle.sample(gauges, base)
    samples.push(JSON.stringify(sample))
    onSample(sample, round)
  })

  const work = yield* Semaphore.make(atWork)
  const one = Effect.fnUntraced(function*(visit: Visit) {
    yield* work.take(1)
    let isAtWork = true
    const rest = Effect.suspend(() => {
      if (!isAtWork) return Effect.void
      isAtWork = false
      return Effect.asVoid(work.release(1))
    })
    const exit = yield* Effect.exit(hold(visit, servers, tally, rest))
    yield* rest
    const { client, ending, subject } = visit
    const name = `${subject.name}: ${ending}`
    held[name] = (held[name] ?? 0) + 1
    const problem = problemOf(exit)
    if (problem === undefined) return
    const failure: Failure = { subject: subject.name, ending, client, problem }
    failures.push(failure)
    onFailure(failure)
  })

  yield* look(0)
  for (const [index, round] of plan.entries()) {
    yield* Effect.forEach(
      subjects,
      (subject) => {
        const visits = round.filter((visit) => visit.subject === subject)
        const isSlow = ({ ending }: Visit) => endings[ending].slow === true
        // Sessions that wait for an expiry block no others, and use little CPU time.
        return Effect.all([
          Effect.forEach(visits.filter(isSlow), one, { concurrency: slowConcurrency, discard: true }),
          Effect.forEach(visits.filter((visit) => !isSlow(visit)), one, {
            concurrency: subject.concurrency,
            discard: true
          })
        ], { concurrency: 2, discard: true })
      },
      { concurrency: "unbounded", discard: true }
    )
    yield* look(index + 1)
  }
  return { samples: samples.map((text): Sample => JSON.parse(text)), failures, held }
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

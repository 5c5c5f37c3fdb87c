/** Holds the sessions of a plan, and looks after each round what is left of them. */
import { Census } from "@effect-mcp/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { EndingName } from "./EndingName.ts"
import { endings } from "./endings.ts"
import type { Round, Visit } from "./plan.ts"
import * as Rest from "./rest.ts"
import type { Sample } from "./Sample.ts"
import type { Counts, Server, Subject, Terms } from "./Subject.ts"
import * as Tally from "./Tally.ts"
import { unexpected } from "./Unexpected.ts"

/** A session that did not end as it was to. */
export interface Failure {
  readonly subject: string
  readonly ending: EndingName
  readonly client: string
  readonly problem: string
}

/** What came of it. */
export interface Outcome {
  /** Of before the first session, and of after each round. */
  readonly samples: ReadonlyArray<Sample>
  readonly failures: ReadonlyArray<Failure>
  /** What was logged as a warning, or worse. */
  readonly warnings: ReadonlyArray<string>
  /** How many sessions came to which end, by the name of the subject and the ending. */
  readonly held: Counts
}

export interface SoakOptions {
  readonly subjects: ReadonlyArray<Subject>
  readonly plan: ReadonlyArray<Round>
  /** How many bytes are leaked for each session, so that it can be seen that this is found. */
  readonly leakBytes: number
  /** Is told of each session that did not end as it was to, at once. */
  readonly onFailure: (failure: Failure) => void
  /** Is told of each sample. */
  readonly onSample: (sample: Sample, round: number) => void
}

/** How many sessions of one subject wait at a time. */
const slowConcurrency = 16

/** How many sessions are at work at a time, over all subjects, so that none takes long for what it does, also on a busy machine. */
const atWork = 16

/** How long one session may take, whatever becomes of it. */
const patience = "30 seconds"

const allTerms = ["patient", "idle", "ageing"] as const satisfies ReadonlyArray<Terms>

/** The servers of one subject, one for each of the terms that its endings ask for. */
const startAll = Effect.fnUntraced(function*(subject: Subject) {
  const needed = new Set(Object.values(subject.endings).map(({ terms }) => terms ?? "patient"))
  const servers = new Map<Terms, Server>()
  for (const terms of allTerms) if (needed.has(terms)) servers.set(terms, yield* subject.start(terms))
  return servers
})

type Servers = ReadonlyMap<string, ReadonlyMap<Terms, Server>>

/** The tables of all servers of each subject together. */
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
      ? Effect.fail(unexpected(`${subject.name} knows no ${ending}`))
      : endings[ending].hold({ subject, ending, server, expected, client, chance, tally, rest })
  }).pipe(
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.fail(unexpected(`nothing came of it within ${patience}`))
    })
  )

const soak = Effect.fnUntraced(function*(
  { leakBytes, onFailure, onSample, plan, subjects }: SoakOptions,
  fibers: () => number
): Effect.fn.Return<Omit<Outcome, "warnings">, unknown, Scope.Scope> {
  const servers = new Map<string, ReadonlyMap<Terms, Server>>()
  for (const subject of subjects) servers.set(subject.name, yield* startAll(subject))

  const tally = Tally.make(leakBytes)
  const gauges: Rest.Gauges = { fibers, tables: tablesOf(servers), tally, startedAt: performance.now() }
  const base = yield* Rest.base(gauges)
  // As text, or the samples would be among the objects that they count.
  const samples: Array<string> = []
  const failures: Array<Failure> = []
  const held: Record<string, number> = {}
  const look = Effect.fnUntraced(function*(round: number) {
    const sample = yield* Rest.sample(gauges, base)
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
        // Who waits for something to expire keeps nobody from going on, and as little busy.
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

/** Runs it, in a census of its own. */
export const run = (options: SoakOptions): Effect.Effect<Outcome, unknown> => {
  const census = Census.make()
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

/**
 * The soak of supervised clients: their servers are killed in the middle of calls and started again. After each restart
 * the client has to find the server again. After each round all clients are closed, and nothing may be left of them.
 */
import { McpClient } from "@effect-mcp/client"
import { FiberCount } from "@effect-mcp/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Idle from "../idle.ts"
import * as Random from "../Random.ts"
import type { Sample } from "../Sample.ts"
import type { Failure, Outcome } from "../soak.ts"
import * as Tally from "../Tally.ts"
import { unexpected } from "../Unexpected.ts"
import { type Place, places } from "./places.ts"

export interface SupervisedOptions {
  readonly restarts: number
  readonly rounds: number
  readonly seed: number
  readonly leakBytes: number
  readonly onFailure: (failure: Failure) => void
  readonly onSample: (sample: Sample, round: number) => void
}

/** The number of restarts in the life of one client. */
const restartsOfOne = 10

/** The number of clients at the same time. */
const concurrency = 8

/** The time limit of one client. A real process starts slowly, and others start at the same time. */
const lifetime = "2 minutes"

const info = { name: "soak", version: "1.0.0" }

/** Calls of a client that are in flight when its server is killed. Each has to end. */
const calls = (client: McpClient.McpClientShape): ReadonlyArray<Effect.Effect<unknown>> => [
  Effect.exit(client.callTool("echo", { value: 1 })),
  Effect.exit(client.tools)
]

/** One client, whose server is restarted. */
const live = Effect.fnUntraced(function*(
  place: Place,
  restarts: number,
  random: Random.Random,
  tally: Tally.Tally
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const { restart, revisions, target } = yield* place.start
  const client = yield* McpClient.make(target, {
    info,
    revisions,
    reconnect: Schedule.spaced("5 millis"),
    waitFor: "1 minute"
  })
  yield* Effect.forkScoped(Effect.ignore(Stream.runDrain(client.watch("law://resource"))))
  yield* Effect.forkScoped(Stream.runDrain(client.changes))
  tally.add(yield* client.session)
  for (let done = 0; done < restarts; done++) {
    // The server never answers this call. The next server gets it if it was not sent before.
    const waiting = yield* Effect.forkChild(Effect.exit(client.callTool("wait")), { startImmediately: true })
    const inFlight = yield* Effect.forEach(calls(client), (call) => Effect.forkChild(call, { startImmediately: true }))
    yield* Effect.sleep(random.next() * 10)
    yield* restart
    const { isError } = yield* client.callTool("echo", { value: done }, { repeat: true })
    if (isError === true) return yield* unexpected("the tool failed")
    // Over HTTP it is the same session as before, which is then counted again.
    tally.add(yield* client.session)
    yield* Effect.forEach(inFlight, Fiber.join, { discard: true })
    yield* Fiber.interrupt(waiting)
  }
})

const soak = Effect.fnUntraced(function*(
  { leakBytes, onFailure, onSample, restarts, rounds, seed }: SupervisedOptions,
  fibers: () => number
): Effect.fn.Return<Omit<Outcome, "warnings">, unknown> {
  const random = Random.make(seed)
  const tally = Tally.make(leakBytes)
  const gauges: Idle.Gauges = { fibers, tables: Effect.succeed({}), tally, startedAt: performance.now() }
  const base = yield* Idle.base(gauges)
  // Samples are kept as text; as objects they would count themselves.
  const samples: Array<string> = []
  const failures: Array<Failure> = []
  const sessionsByEnding: Record<string, number> = {}
  const takeSample = Effect.fnUntraced(function*(round: number) {
    const sample = yield* Idle.sample(gauges, base)
    samples.push(JSON.stringify(sample))
    onSample(sample, round)
  })
  const weighted = places.flatMap((place) => Array.from({ length: place.weight }, () => place))
  let queue: ReadonlyArray<Place> = []
  const nextPlace = (): ReadonlyArray<Place> => {
    if (queue.length === 0) queue = random.shuffled(weighted)
    const [next, ...rest] = queue
    queue = rest
    return next === undefined ? [] : [next]
  }

  yield* takeSample(0)
  let planned = 0
  let clients = 0
  for (let round = 1; round <= rounds; round++) {
    const due = Math.round((restarts * round) / rounds)
    const lives: Array<{ readonly place: Place; readonly restarts: number }> = []
    for (; planned < due; planned += restartsOfOne) {
      for (const place of nextPlace()) lives.push({ place, restarts: Math.min(restartsOfOne, due - planned) })
    }
    planned = due
    yield* Effect.forEach(lives, ({ place, restarts }) =>
      Effect.gen(function*() {
        const client = `client-${clients++}`
        const exit = yield* Effect.exit(
          Effect.scoped(live(place, restarts, random, tally)).pipe(
            Effect.timeoutOrElse({
              duration: lifetime,
              orElse: () => Effect.fail(unexpected(`the client did not end within ${lifetime}`))
            })
          )
        )
        const name = `${place.name}: restart`
        sessionsByEnding[name] = (sessionsByEnding[name] ?? 0) + restarts
        if (Exit.isSuccess(exit)) return
        const failure: Failure = { subject: place.name, ending: "restart", client, problem: Cause.pretty(exit.cause) }
        failures.push(failure)
        onFailure(failure)
      }), { concurrency, discard: true })
    yield* takeSample(round)
  }
  return { samples: samples.map((text): Sample => JSON.parse(text)), failures, sessionsByEnding }
})

/** Runs a soak with a fiber count of its own. Its clients log each server that is down, which is no problem here. */
export const run = (options: SupervisedOptions): Effect.Effect<Outcome, unknown> => {
  const census = FiberCount.make()
  return census.count(soak(options, census.living)).pipe(
    Effect.map((outcome) => ({ ...outcome, warnings: [] })),
    Effect.provideService(References.MinimumLogLevel, "Error")
  )
}

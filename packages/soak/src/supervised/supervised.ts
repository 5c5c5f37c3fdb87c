/**
 * The soak of supervised clients: their servers are killed in the middle of calls and started again. After each restart
 * the client has to find the server again. After each round all clients are closed, and nothing may be left of them.
 */
import { McpClient } from "@effect-mcp/client"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Random from "../Random.ts"
import * as Rounds from "../rounds.ts"
import type * as Tally from "../Tally.ts"
import { unexpected } from "../Unexpected.ts"
import { type Place, places } from "./places.ts"

export interface SupervisedOptions extends Rounds.RoundsOptions {
  readonly seed: number
}

/** The number of restarts in the life of one client. */
const restartsOfOne = 10

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
    waitTimeout: "1 minute"
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

const make = (seed: number): Effect.Effect<Rounds.Lives> =>
  Effect.sync(() => {
    const random = Random.make(seed)
    const weighted = places.flatMap((place) => Array.from({ length: place.weight }, () => place))
    let queue: ReadonlyArray<Place> = []
    const nextPlace = (): ReadonlyArray<Place> => {
      if (queue.length === 0) queue = random.shuffled(weighted)
      const [next, ...rest] = queue
      queue = rest
      return next === undefined ? [] : [next]
    }
    return {
      concurrency: 8,
      tables: Effect.succeed({}),
      settled: Effect.void,
      next: (count, tally) => {
        const lives: Array<Rounds.Life> = []
        for (let planned = 0; planned < count; planned += restartsOfOne) {
          const restarts = Math.min(restartsOfOne, count - planned)
          for (const place of nextPlace()) {
            const run = live(place, restarts, random, tally)
            lives.push({ subject: place.name, ending: "restart", count: restarts, run })
          }
        }
        return lives
      }
    }
  })

/** Runs a soak of supervised clients. */
export const run = ({ seed, ...options }: SupervisedOptions) => Rounds.run(options, make(seed))

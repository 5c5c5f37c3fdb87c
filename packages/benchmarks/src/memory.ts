import { setFlagsFromString } from "node:v8"
import { alternate, millisOf, type Samples } from "./measure.ts"
import * as effectAi from "./peers/effectAi.ts"
import * as officialV1 from "./peers/officialV1.ts"
import * as officialV2 from "./peers/officialV2.ts"
import * as ours from "./peers/ours.ts"
import type { Peer } from "./peers/Peer.ts"
import type { ToolName } from "./peers/tools.ts"

/** A load of calls. */
export interface Load {
  readonly name: string
  readonly tool: ToolName
  readonly inFlight: number
}

/** The loads. A tool that returns at once keeps few calls in flight; one that waits for a turn keeps all in flight. */
export const loads: ReadonlyArray<Load> = [
  { name: "sequential", tool: "add", inFlight: 1 },
  { name: "64 in flight", tool: "add", inFlight: 64 },
  { name: "64 in flight, tool waits a turn", tool: "addLater", inFlight: 64 }
]

/** Microseconds per call, by load and peer, with one number per round. */
export interface Comparison {
  readonly [load: string]: { readonly [peer: string]: Samples }
}

/** The encoding of messages between the two sides. */
export type Encoding = "by reference" | "json"

/** A comparison for each encoding. */
export type Results = { readonly [E in Encoding]: Comparison }

export interface Options {
  readonly rounds: number
  readonly calls: number
}

// The memory reducer marks the heap when the process is idle. Writes to objects then cost more, and some samples would
// take 1.5 times as long as others.
setFlagsFromString("--no-memory-reducer")

/** The number of rounds until the just-in-time compiler has finished. */
const warmUpRounds = 8

/** The share of calls of a library. One that is ten times slower needs fewer calls for the same precision. */
const shares: { readonly [peer: string]: number } = { "effect/ai": 1 / 8 }

const compare = async (peers: ReadonlyArray<Peer>, options: Options): Promise<Comparison> => {
  const results: { [load: string]: { [peer: string]: Samples } } = {}
  for (const { inFlight, name, tool } of loads) {
    const contenders = peers.map((peer) => {
      const calls = Math.ceil(options.calls * (shares[peer.name] ?? 1))
      const run = () => peer.run(tool, calls, inFlight)
      return {
        name: peer.name,
        once: async () => {
          // Each contender starts without garbage of another. A full collection would shrink the young generation.
          globalThis.gc?.({ type: "minor", execution: "sync" })
          return await millisOf(run) * 1000 / calls
        }
      }
    })
    await alternate(contenders, warmUpRounds)
    results[name] = Object.fromEntries(await alternate(contenders, options.rounds))
  }
  await Promise.all(peers.map((peer) => peer.close()))
  return results
}

/** Measures `tools/call` through both sides of each library, in this process. */
export const measure = async (options: Options): Promise<Results> => ({
  "by reference": await compare(
    [
      await ours.connect("none"),
      await ours.connectModern("none"),
      await officialV1.connect("none"),
      await officialV2.connect("none")
    ],
    options
  ),
  "json": await compare(
    [
      await ours.connect("json"),
      await ours.connectModern("json"),
      await officialV1.connect("json"),
      await officialV2.connect("json"),
      await effectAi.connect()
    ],
    options
  )
})

/** Measures the same calls with and without observability. */
export const measureObserved = async (options: Options): Promise<Comparison> =>
  compare(await ours.connectObserved(), options)

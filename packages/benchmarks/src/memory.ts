import { setFlagsFromString } from "node:v8"
import { alternate, millisOf, type Samples } from "./measure.ts"
import * as effectAi from "./peers/effectAi.ts"
import * as officialV1 from "./peers/officialV1.ts"
import * as officialV2 from "./peers/officialV2.ts"
import * as ours from "./peers/ours.ts"
import type { Peer } from "./peers/Peer.ts"
import type { ToolName } from "./peers/tools.ts"

/**
 * How the calls are made.
 */
export interface Load {
  readonly name: string
  readonly tool: ToolName
  readonly inFlight: number
}

/** A tool that answers at once leaves little in flight, however many wait; one that takes a turn leaves it all there. */
export const loads: ReadonlyArray<Load> = [
  { name: "sequential", tool: "add", inFlight: 1 },
  { name: "64 in flight", tool: "add", inFlight: 64 },
  { name: "64 in flight, tool waits a turn", tool: "addLater", inFlight: 64 }
]

/** Microseconds per call: load, peer, one number per round. */
export interface Comparison {
  readonly [load: string]: { readonly [peer: string]: Samples }
}

/** What the messages go through between the two sides. */
export type Wire = "by reference" | "json"

/** A comparison for each wire. */
export type Results = { readonly [W in Wire]: Comparison }

export interface Options {
  readonly rounds: number
  readonly calls: number
}

// It marks the heap whenever the process rests, and while it does every write to an object costs more: some samples would
// be half as slow again as others.
setFlagsFromString("--no-memory-reducer")

/** What the just-in-time compiler takes to come to rest. */
const warmUpRounds = 8

/** The share of the calls that a library has to make; one that is an order of magnitude slower needs fewer for the same. */
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
          // Nobody cleans up after another. Not a full collection, which would leave the young generation small.
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

/** `tools/call` through both sides of each library, within this process. */
export const measure = async (options: Options): Promise<Results> => ({
  "by reference": await compare(
    [await ours.connect("none"), await officialV1.connect("none"), await officialV2.connect("none")],
    options
  ),
  "json": await compare(
    [
      await ours.connect("json"),
      await officialV1.connect("json"),
      await officialV2.connect("json"),
      await effectAi.connect()
    ],
    options
  )
})

/** The same calls with what observes them, and without. */
export const measureObserved = async (options: Options): Promise<Comparison> =>
  compare(await ours.connectObserved(), options)

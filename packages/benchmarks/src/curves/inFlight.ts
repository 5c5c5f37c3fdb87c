/** The curve of calls in flight: in one session, in memory, by reference. */
import { millisOf } from "../measure.ts"
import * as officialV1 from "../peers/officialV1.ts"
import * as officialV2 from "../peers/officialV2.ts"
import * as ours from "../peers/ours.ts"
import type { Peer } from "../peers/Peer.ts"
import * as Curve from "./Curve.ts"

const sizes = [1, 10, 100, 1_000, 10_000]

const contender = (name: string, connect: () => Promise<Peer>): Curve.CurveContender => ({
  name,
  prepare: async (inFlight, options) => {
    const { close, run } = await connect()
    const calls = Math.max(options.calls, 2 * inFlight)
    return {
      once: async () => {
        globalThis.gc?.({ type: "minor", execution: "sync" })
        // The tool waits for a turn of the event loop, because otherwise few calls would be in flight.
        return { call: await millisOf(() => run("addLater", calls, inFlight)) * 1000 / calls }
      },
      close
    }
  }
})

/** The default limit of a server is 256 requests of a client in flight. */
const limits = { maxIncomingRequests: 2 * Math.max(...sizes) }

export const curve: Curve.Curve = {
  sizes,
  meaning: "calls in flight",
  quantities: {
    call: { file: "calls-in-flight", title: "Calls in one session in memory, by reference", unit: "µs per call" }
  },
  contenders: [
    contender(Curve.ours, () => ours.connect("none", { limits })),
    contender("official v1", () => officialV1.connect("none")),
    contender("official v2", () => officialV2.connect("none"))
  ],
  warmUpRounds: () => 5,
  mostRounds: (size) => size < 10_000 ? Infinity : 9
}

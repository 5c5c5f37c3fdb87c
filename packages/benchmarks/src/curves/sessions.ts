/** The curve of idle sessions of one server over Streamable HTTP. Each sample is from a new process. */
import { connections, spread } from "../http.ts"
import { start } from "../http/ServerProcess.ts"
import * as Session from "../http/Session.ts"
import { millisOf } from "../measure.ts"
import * as Curve from "./Curve.ts"

/** The number of sessions that allocate the memory that later ones share. */
const first = 1_000

const sample = async (name: string, program: string, mode: string, size: number): Promise<Curve.Costs> => {
  const server = await start({ name, program, mode, compiled: false })
  try {
    const open = await connections(server.port)
    await spread(open, first, async (connection, _, turn) => {
      const session = await Session.open(server.port, connection)
      await session.add(connection, turn)
      await session.end(connection)
    })
    const before = await server.state("collected")
    const millis = await millisOf(() =>
      spread(open, size, async (connection) => {
        await Session.open(server.port, connection)
      })
    )
    const after = await server.state("collected")
    return {
      heap: (after.heap - before.heap) / size,
      resident: (after.resident - before.resident) / size,
      open: millis * 1000 / size
    }
  } finally {
    await server.stop()
  }
}

const contender = (name: string, program: string, mode: string, upTo: number): Curve.CurveContender => ({
  name,
  upTo,
  prepare: async (size) => ({ once: () => sample(name, program, mode, size), close: async () => {} })
})

const mostOfPeers = 10_000

export const curve: Curve.Curve = {
  sizes: [1, 10, 100, 1_000, 10_000, 100_000],
  meaning: "idle sessions",
  quantities: {
    heap: { file: "sessions-heap", title: "Heap of idle sessions over Streamable HTTP", unit: "bytes per session" },
    resident: {
      file: "sessions-resident",
      title: "Resident memory of idle sessions over Streamable HTTP",
      unit: "bytes per session"
    },
    open: {
      file: "sessions-open",
      title: "Opening of sessions over Streamable HTTP, 32 at a time",
      unit: "µs per session"
    }
  },
  contenders: [
    // Its number of sessions is unlimited. By default a host keeps 10,000.
    contender(Curve.ours, "ours", "adaptive", Infinity),
    contender("official v1, JSON", "officialV1", "json", mostOfPeers),
    contender("official v2, JSON", "officialV2", "json", mostOfPeers)
  ],
  warmUpRounds: () => 0,
  // Few rounds are enough, because the memory of many sessions hardly varies.
  mostRounds: (size) => size < 100_000 ? 3 : 2
}

/**
 * Benchmarks of servers over Streamable HTTP, each in a process of its own, under a load from this process.
 *
 * To profile a server:
 *
 *     node --cpu-prof --cpu-prof-dir=results/profiles src/main.ts http-calls --servers "Effect MCP" --rounds 5
 *
 * Node writes a profile for each process. The first is that of the load.
 */
import { type Connection, open, stall } from "./http/Connection.ts"
import { type ServerProcess, start } from "./http/ServerProcess.ts"
import * as Session from "./http/Session.ts"
import { alternate, type Contender, millisOf, quantile, type Samples } from "./measure.ts"
import type { Options } from "./Part.ts"

/** A server to measure. */
export interface Server {
  readonly name: string
  /** The program in `http/servers`, and its argument: the form of responses, or the number of tools. */
  readonly program: string
  readonly mode: string
  /** The role in comparisons: a peer, this library, or a floor that no server on the same foundation can undercut. */
  readonly role: "floor" | "peer" | "ours"
  /** Whether the server can send notifications before its response. */
  readonly sendsNotifications: boolean
  /** Whether the server's process compiles Effect's schemas. */
  readonly compiled: boolean
}

const floor = (name: string, program: string): Server => ({
  name,
  program,
  mode: "",
  role: "floor",
  sendsNotifications: false,
  compiled: false
})

/** Returns a server of another library. */
export const peer = (name: string, program: string, mode: string): Server => ({
  name,
  program,
  mode,
  role: "peer",
  sendsNotifications: mode !== "json",
  compiled: false
})

const ours = (name: string, mode: string): Server => ({ ...peer(name, "ours", mode), role: "ours" })

const compiled = (server: Server): Server => ({ ...server, name: `${server.name}, schemas compiled`, compiled: true })

/** The foundation that Effect MCP and `effect/ai` share, without MCP. */
export const bareRoute = "bare effect/http route"

const all: ReadonlyArray<Server> = [
  floor("bare node:http", "rawNode"),
  floor(bareRoute, "bareRoute"),
  peer("official v1, JSON", "officialV1", "json"),
  peer("official v1, SSE", "officialV1", "stream"),
  peer("official v2, JSON", "officialV2", "json"),
  peer("official v2, SSE", "officialV2", "stream"),
  peer("effect/ai", "effectAi", ""),
  compiled(peer("effect/ai", "effectAi", "")),
  ours("Effect MCP", "adaptive"),
  compiled(ours("Effect MCP", "adaptive")),
  ours("Effect MCP, JSON", "json"),
  ours("Effect MCP, SSE", "stream")
]

/** Returns the names of the servers. */
export const names = (isTaken: (server: Server) => boolean = () => true): ReadonlyArray<string> =>
  all.filter(isTaken).map(({ name }) => name)

/** The throughput of many connections, and the share of time in which each side is busy. */
export interface Throughput {
  readonly perSecond: number
  /** The CPU time of the server for one unit of work, in microseconds. Other processes hardly change it. */
  readonly cpu: number
  readonly server: number
  readonly load: number
}

/** The cost of an idle session, in bytes. */
export interface Idle {
  readonly resident: number
  readonly heap: number
}

/** The duration of a ping, in milliseconds. */
export interface Latency {
  readonly median: number
  readonly late: number
}

export interface Stalled {
  readonly alone: Latency
  /** The duration while another session's client does not read the notifications of a tool. */
  readonly beside: Latency | undefined
  /** The memory that the server held for that client, in bytes. */
  readonly held: number | undefined
}

/** The samples of each measured server. */
export interface Comparison<Sample> {
  readonly servers: ReadonlyArray<Server>
  readonly samples: { readonly [server: string]: ReadonlyArray<Sample> }
}

/** The number of concurrent connections. */
export const width = 32

/** The number of rounds until the just-in-time compiler has finished. */
export const warmUpRounds = 3

/** Returns the servers whose names contain a text. */
export const chosen = ({ servers: part }: Options, servers = all): ReadonlyArray<Server> =>
  servers.filter(({ name }) => name.includes(part))

const times = <A>(count: number, make: (index: number) => Promise<A>): Promise<ReadonlyArray<A>> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

/** Opens the connections of a measurement. */
export const connections = (port: number): Promise<ReadonlyArray<Connection>> => times(width, () => open(port))

/** Opens a session for each connection of a later measurement. */
export const sessions = async (port: number): Promise<ReadonlyArray<Session.Session>> => {
  const first = await connections(port)
  const opened = await Promise.all(first.map((connection) => Session.open(port, connection)))
  for (const connection of first) connection.close()
  return opened
}

/** Repeats work, sequentially on each connection. */
export const spread = async (
  connections: ReadonlyArray<Connection>,
  count: number,
  work: (connection: Connection, lane: number, turn: number) => Promise<void>
): Promise<void> => {
  let next = 0
  await Promise.all(connections.map(async (connection, lane) => {
    while (next < count) await work(connection, lane, next++)
  }))
}

/** Measures the rate of work, and the share of time in which each side is busy. */
export const throughput = async (
  server: ServerProcess,
  count: number,
  work: (connections: ReadonlyArray<Connection>) => Promise<void>
): Promise<Throughput> => {
  // New connections, because a server closes idle ones after a while.
  const open = await connections(server.port)
  const before = await server.state("as it is")
  const load = performance.eventLoopUtilization()
  const millis = await millisOf(() => work(open))
  const { utilization } = performance.eventLoopUtilization(load)
  const after = await server.state("as it is")
  const busy = after.busy - before.busy
  for (const connection of open) connection.close()
  return {
    perSecond: count / millis * 1000,
    cpu: (after.cpu - before.cpu) * 1000 / count,
    server: busy / (busy + after.idle - before.idle),
    load: utilization
  }
}

/** Compares servers. All of them run throughout, because an idle process takes no CPU time. */
export const compare = async <Sample>(
  taking: ReadonlyArray<Server>,
  rounds: number,
  prepare: (server: ServerProcess, kind: Server) => Promise<() => Promise<Sample>>
): Promise<Comparison<Sample>> => {
  const running: Array<ServerProcess> = []
  try {
    const contenders: Array<Contender<Sample>> = []
    for (const kind of taking) {
      const server = await start(kind)
      running.push(server)
      contenders.push({ name: kind.name, once: await prepare(server, kind) })
    }
    await alternate(contenders, warmUpRounds)
    return { servers: taking, samples: Object.fromEntries(await alternate(contenders, rounds)) }
  } finally {
    await Promise.all(running.map((server) => server.stop()))
  }
}

/** Measures `tools/call`, one at a time in each session, with one session for each connection. */
export const measureCalls = (options: Options): Promise<Comparison<Throughput>> =>
  compare(chosen(options), options.rounds, async (server) => {
    const opened = await sessions(server.port)
    return () =>
      throughput(server, options.calls, (open) =>
        spread(open, options.calls, async (connection, lane, turn) => {
          await opened[lane]?.add(connection, turn)
        }))
  })

/** Measures sessions that are opened and ended with nothing in between: three exchanges. */
export const measureHandshakes = (options: Options): Promise<Comparison<Throughput>> => {
  const count = Math.ceil(options.calls / 4)
  return compare(
    chosen(options),
    options.rounds,
    async (server) => () =>
      throughput(server, count, (open) =>
        spread(open, count, async (connection) => {
          const session = await Session.open(server.port, connection)
          await session.end(connection)
        }))
  )
}

/** Measures the cost of an idle session. Each sample is from a new process. */
export const measureIdle = async (options: Options): Promise<Comparison<Idle>> => {
  const taking = chosen(options).filter(({ role }) => role !== "floor")
  const once = async (kind: Server): Promise<Idle> => {
    const server = await start(kind)
    try {
      const open = await connections(server.port)
      // The first sessions of a process allocate memory that later sessions share.
      await spread(open, 1000, async (connection, _, turn) => {
        const session = await Session.open(server.port, connection)
        await session.add(connection, turn)
        await session.end(connection)
      })
      const before = await server.state("collected")
      await spread(open, options.sessions, async (connection) => {
        await Session.open(server.port, connection)
      })
      const after = await server.state("collected")
      return {
        resident: (after.resident - before.resident) / options.sessions,
        heap: (after.heap - before.heap) / options.sessions
      }
    } finally {
      await server.stop()
    }
  }
  const contenders = taking.map((server) => ({ name: server.name, once: () => once(server) }))
  // Few rounds are enough, because the results hardly vary.
  return { servers: taking, samples: Object.fromEntries(await alternate(contenders, Math.min(options.rounds, 3))) }
}

const latencyOf = (samples: Samples): Latency => {
  const sorted = samples.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), late: quantile(sorted, 0.99) }
}

/** The time after which the buffers between a server and a stalled client are full, in milliseconds. */
const settling = 1000

const pause = (millis: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, millis)
  })

/** Measures pings in one session, alone and while another session's client has stopped reading. */
export const measureStalled = (options: Options): Promise<Comparison<Stalled>> => {
  const count = Math.ceil(options.calls / 2)
  return compare(chosen(options), options.rounds, async ({ port, state }, { sendsNotifications }) => {
    const first = await open(port)
    const pinging = await Session.open(port, first)
    const stalling = await Session.open(port, first)
    first.close()
    const pings = async (): Promise<Latency> => {
      const connection = await open(port)
      const samples: Array<number> = []
      while (samples.length < count) samples.push(await millisOf(() => pinging.ping(connection)))
      connection.close()
      return latencyOf(samples)
    }
    return async () => {
      const before = await state("collected")
      const alone = await pings()
      if (!sendsNotifications) return { alone, beside: undefined, held: undefined }
      const { cancel, request } = stalling.flood()
      const hangUp = await stall(port, request)
      await pause(settling)
      const beside = await pings()
      const after = await state("collected")
      const cancelling = await open(port)
      await cancelling.exchange(cancel)
      cancelling.close()
      hangUp()
      // The next server is measured after this one has released its memory.
      await state("collected")
      return { alone, beside, held: after.heap + after.external - before.heap - before.external }
    }
  })
}

/** Benchmarks of revision 2026-07-28 over HTTP, which has no sessions, and of its questions to the user. */
import {
  chosen,
  compare,
  type Comparison,
  peer,
  type Server,
  sessions,
  spread,
  type Throughput,
  throughput,
  warmUpRounds
} from "./http.ts"
import type { Connection } from "./http/Connection.ts"
import { start } from "./http/ServerProcess.ts"
import * as Stateless from "./http/Stateless.ts"
import { alternate } from "./measure.ts"
import type { Options } from "./Part.ts"

/** The numbers of tools of the servers. */
export const sizes = [1, 50] as const

/** A number of tools. */
export type Size = typeof sizes[number]

/** Returns the names of the servers with a number of tools. */
export const names = (size: Size) => {
  const tools = size === 1 ? "1 tool" : `${size} tools`
  return {
    official: `official v2, ${tools}`,
    sessions: `Effect MCP with sessions, ${tools}`,
    ours: `Effect MCP, ${tools}`
  }
}

const servers: ReadonlyArray<Server> = sizes.flatMap((size) => {
  const { official, ours, sessions } = names(size)
  return [
    peer(official, "applications/officialV2", String(size)),
    // The same program, called at revision 2025-11-25.
    peer(sessions, "applications/ours", String(size)),
    peer(ours, "applications/ours", String(size))
  ]
})

/** The names of all servers. */
export const serverNames: ReadonlyArray<string> = servers.map(({ name }) => name)

const isSessionful = ({ name }: Server): boolean => sizes.some((size) => names(size).sessions === name)

/** Measures `tools/call`, one at a time on each connection. */
export const measureCalls = (options: Options): Promise<Comparison<Throughput>> =>
  compare(chosen(options, servers), options.rounds, async (server, kind) => {
    const opened = isSessionful(kind) ? await sessions(server.port) : []
    const calls = Stateless.calls(server.port)
    return () =>
      throughput(
        server,
        options.calls,
        (connections) =>
          spread(connections, options.calls, async (connection, lane, turn) => {
            await (opened[lane] ?? calls).add(connection, turn)
          })
      )
  })

/** Calls with a question, and what they are compared with: as many exchanges without a question. */
export interface Questions {
  readonly asking: ReadonlyArray<Throughput>
  readonly plain: ReadonlyArray<Throughput>
}

/** Measures calls that end with a question and are repeated with its answer, in one process. */
export const measureQuestions = async (options: Options): Promise<Questions> => {
  const server = await start(peer("a server that asks", "applications/asking", ""))
  try {
    const { add, ask } = Stateless.calls(server.port)
    const count = Math.ceil(options.calls / 2)
    const contender = (name: string, work: (connection: Connection, turn: number) => Promise<void>) => ({
      name,
      once: () =>
        throughput(
          server,
          count,
          (connections) => spread(connections, count, (connection, _, turn) => work(connection, turn))
        )
    })
    const contenders = [
      contender("asking", ask),
      contender("plain", async (connection, turn) => {
        await add(connection, turn)
        await add(connection, turn)
      })
    ]
    await alternate(contenders, warmUpRounds)
    const samples = await alternate(contenders, options.rounds)
    return { asking: samples.get("asking") ?? [], plain: samples.get("plain") ?? [] }
  } finally {
    await server.stop()
  }
}

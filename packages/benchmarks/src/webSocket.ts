/** Servers over WebSocket, each in a process of its own, under a load that this process writes as bare messages. */
import { NodeWS } from "@effect/platform-node"
import { once } from "node:events"
import { type ServerProcess, start } from "./http/ServerProcess.ts"
import * as load from "./load.ts"
import { alternate, type Contender, type Samples } from "./measure.ts"

/** What no server over WebSocket can undercut: `ws`, and JSON in and out. */
export const floor = "raw ws"

const programs = [
  { name: floor, program: "rawWebSocket", mode: "", compiled: false },
  { name: "Effect MCP", program: "oursWebSocket", mode: "", compiled: false },
  { name: "Effect MCP, schemas compiled", program: "oursWebSocket", mode: "", compiled: true }
]

/** Microseconds per call: how many under way, server, one number per round. */
export interface Results {
  readonly [width: string]: { readonly [server: string]: Samples }
}

/** How many calls are under way at a time. */
const widths: ReadonlyArray<number> = [1, 64]

const warmUpRounds = 5

const dial = async (port: number): Promise<{ readonly wire: load.Wire; readonly close: () => void }> => {
  const socket = new NodeWS.WebSocket(`ws://127.0.0.1:${port}/mcp`, "mcp")
  const gone = new Promise<never>((_, reject) => {
    socket.on("error", reject).on("close", (code, reason) => reject(new Error(`closed with ${code} ${String(reason)}`)))
  })
  gone.catch(() => {})
  await Promise.race([once(socket, "open"), gone])
  return {
    wire: {
      write: (messages) => messages.forEach((message) => socket.send(message)),
      listen: (hear) => void socket.on("message", (data) => hear([String(data)])),
      gone
    },
    close: () => socket.close()
  }
}

/** `tools/call` of servers over WebSocket. All run throughout: what is idle takes nothing. */
export const measure = async ({ calls, rounds }: {
  readonly rounds: number
  readonly calls: number
}): Promise<Results> => {
  const running: Array<ServerProcess> = []
  const dialled: Array<{ readonly close: () => void }> = []
  try {
    const clients: Array<{ readonly name: string; readonly client: load.Client }> = []
    for (const program of programs) {
      const server = await start(program)
      running.push(server)
      const { close, wire } = await dial(server.port)
      dialled.push({ close })
      clients.push({ name: program.name, client: await load.connect(wire) })
    }
    const results: { [width: string]: { readonly [server: string]: Samples } } = {}
    for (const width of widths) {
      const contenders = clients.map(({ client, name }): Contender => ({
        name,
        once: async () => await client.calls(calls, width) * 1000 / calls
      }))
      await alternate(contenders, warmUpRounds)
      results[width] = Object.fromEntries(await alternate(contenders, rounds))
    }
    return results
  } finally {
    for (const { close } of dialled) close()
    await Promise.all(running.map((server) => server.stop()))
  }
}

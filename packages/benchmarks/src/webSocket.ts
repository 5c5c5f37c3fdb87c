/** Benchmarks of servers over WebSocket, each in a process of its own, under a load of plain messages. */
import { NodeWS } from "@effect/platform-node"
import { once } from "node:events"
import { type ServerProcess, start } from "./http/ServerProcess.ts"
import * as load from "./load.ts"

/** The floor of servers over WebSocket: `ws` with JSON parsing and encoding. */
export const floor = "raw ws"

const programs = [
  { name: floor, program: "rawWebSocket", mode: "", compiled: false },
  { name: "Effect MCP", program: "oursWebSocket", mode: "", compiled: false },
  { name: "Effect MCP, schemas compiled", program: "oursWebSocket", mode: "", compiled: true }
]

const dial = async (
  port: number
): Promise<{ readonly connection: load.MessageConnection; readonly close: () => void }> => {
  const socket = new NodeWS.WebSocket(`ws://127.0.0.1:${port}/mcp`, "mcp")
  const closed = new Promise<never>((_, reject) => {
    socket.on("error", reject).on("close", (code, reason) => reject(new Error(`closed with ${code} ${String(reason)}`)))
  })
  closed.catch(() => {})
  await Promise.race([once(socket, "open"), closed])
  return {
    connection: {
      write: (messages) => messages.forEach((message) => socket.send(message)),
      subscribe: (receive) => void socket.on("message", (data) => receive([String(data)])),
      closed
    },
    close: () => socket.close()
  }
}

/** Measures `tools/call` of servers over WebSocket. All run throughout, because an idle process takes no CPU time. */
export const measure = async ({ calls, rounds }: {
  readonly rounds: number
  readonly calls: number
}): Promise<load.Results> => {
  const running: Array<ServerProcess> = []
  const dialled: Array<{ readonly close: () => void }> = []
  try {
    const clients: Array<{ readonly name: string; readonly client: load.Client }> = []
    for (const program of programs) {
      const server = await start(program)
      running.push(server)
      const { close, connection } = await dial(server.port)
      dialled.push({ close })
      clients.push({ name: program.name, client: await load.connect(connection) })
    }
    return await load.compare(clients, { calls, rounds })
  } finally {
    for (const { close } of dialled) close()
    await Promise.all(running.map((server) => server.stop()))
  }
}

/** Servers over WebSocket, each in a process of its own, under a load that this process writes as bare messages. */
import { NodeWS } from "@effect/platform-node"
import { once } from "node:events"
import { type ServerProcess, start } from "./http/ServerProcess.ts"
import * as load from "./load.ts"

/** What no server over WebSocket can undercut: `ws`, and JSON in and out. */
export const floor = "raw ws"

const programs = [
  { name: floor, program: "rawWebSocket", mode: "", compiled: false },
  { name: "Effect MCP", program: "oursWebSocket", mode: "", compiled: false },
  { name: "Effect MCP, schemas compiled", program: "oursWebSocket", mode: "", compiled: true }
]

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
}): Promise<load.Results> => {
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
    return await load.compare(clients, { calls, rounds })
  } finally {
    for (const { close } of dialled) close()
    await Promise.all(running.map((server) => server.stop()))
  }
}

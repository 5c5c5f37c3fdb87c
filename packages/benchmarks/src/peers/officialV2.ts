import { Client, InMemoryTransport } from "@modelcontextprotocol/client"
import { Server } from "@modelcontextprotocol/server"
import { throughJson } from "./json.ts"
import { fromPromises, type Peer } from "./Peer.ts"
import { info, nextTurn, numberIn, sum } from "./tools.ts"

/** Connects both sides of the official SDK, version 2. */
export const connect = async (serialization: "json" | "none"): Promise<Peer> => {
  const [near, far] = InMemoryTransport.createLinkedPair()
  if (serialization === "json") [near, far].forEach(throughJson)
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler("tools/call", async ({ params }) => {
    if (params.name === "addLater") await nextTurn()
    return { content: [{ type: "text", text: sum(params.arguments) }] }
  })
  const client = new Client(info)
  await Promise.all([server.connect(far), client.connect(near)])
  return fromPromises({
    name: "official v2",
    add: async (tool, a, b) => numberIn(await client.callTool({ name: tool, arguments: { a, b } })),
    close: async () => {
      await client.close()
      await server.close()
    }
  })
}

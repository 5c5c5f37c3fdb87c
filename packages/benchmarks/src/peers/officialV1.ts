import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { throughJson } from "./json.ts"
import { fromPromises, type Peer } from "./Peer.ts"
import { info, nextTurn, numberIn, sum } from "./tools.ts"

/** Connects both sides of the official SDK, version 1. */
export const connect = async (serialization: "json" | "none"): Promise<Peer> => {
  const [near, far] = InMemoryTransport.createLinkedPair()
  if (serialization === "json") [near, far].forEach(throughJson)
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    if (params.name === "addLater") await nextTurn()
    return { content: [{ type: "text", text: sum(params.arguments) }] }
  })
  const client = new Client(info)
  await Promise.all([server.connect(far), client.connect(near)])
  return fromPromises({
    name: "official v1",
    add: async (tool, a, b) => numberIn(await client.callTool({ name: tool, arguments: { a, b } })),
    close: async () => {
      await client.close()
      await server.close()
    }
  })
}

import { Client, InMemoryTransport } from "@modelcontextprotocol/client"
import { McpServer } from "@modelcontextprotocol/server"
import * as z from "zod/v4"
import { throughJson } from "../peers/json.ts"
import { info } from "../peers/tools.ts"
import { type Application, description, names, ofPromises, type Size, sumIn } from "./Application.ts"

/** Connects a client to a server of the official SDK, version 2. */
export const connect = async (size: Size): Promise<Application> => {
  const [near, far] = InMemoryTransport.createLinkedPair()
  ;[near, far].forEach(throughJson)
  const server = new McpServer(info)
  const inputSchema = z.object({ a: z.number(), b: z.number() })
  const outputSchema = z.object({ sum: z.number() })
  for (const name of names(size)) {
    server.registerTool(name, { description, inputSchema, outputSchema }, ({ a, b }) => {
      const structuredContent = { sum: a + b }
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent }
    })
  }
  const client = new Client(info)
  await Promise.all([server.connect(far), client.connect(near)])
  return ofPromises({
    name: "official v2",
    size,
    add: async (a, b) => sumIn(await client.callTool({ name: "add", arguments: { a, b } })),
    list: async () => (await client.listTools()).tools.length,
    close: async () => {
      await client.close()
      await server.close()
    }
  })
}

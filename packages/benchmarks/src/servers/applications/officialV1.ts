import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import * as z from "zod/v4"

const description = "Adds two numbers, and returns their sum"
const inputSchema = z.object({ a: z.number(), b: z.number() })
const outputSchema = z.object({ sum: z.number() })
const [size = 1] = process.argv.slice(2).map(Number)

const server = new McpServer({ name: "benchmark", version: "1.0.0" })
for (let index = 0; index < size; index++) {
  const name = index === 0 ? "add" : `add_${index}`
  server.registerTool(name, { description, inputSchema, outputSchema }, ({ a, b }) => {
    const structuredContent = { sum: a + b }
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent }
  })
}

await server.connect(new StdioServerTransport())

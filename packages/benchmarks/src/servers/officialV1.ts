import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js"

const info = { name: "benchmark", version: "1.0.0" }

const server = new Server(info, { capabilities: { tools: {} } })
server.setRequestHandler(CallToolRequestSchema, ({ params: { arguments: input, name } }) => {
  const text = name === "text"
    ? "x".repeat(Number(input?.["bytes"]))
    : String(Number(input?.["a"]) + Number(input?.["b"]))
  return { content: [{ type: "text", text }] }
})

await server.connect(new StdioServerTransport())

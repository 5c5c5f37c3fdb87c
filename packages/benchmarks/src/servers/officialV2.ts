import { Server } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"

const info = { name: "benchmark", version: "1.0.0" }

serveStdio(() => {
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler("tools/call", ({ params: { arguments: input } }) => ({
    content: [{ type: "text", text: String(Number(input?.["a"]) + Number(input?.["b"])) }]
  }))
  return server
})

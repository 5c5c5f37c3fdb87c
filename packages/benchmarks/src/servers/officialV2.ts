import { Server } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"

const info = { name: "benchmark", version: "1.0.0" }

serveStdio(() => {
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler("tools/call", ({ params: { arguments: input, name } }) => {
    const text = name === "text"
      ? "x".repeat(Number(input?.["bytes"]))
      : String(Number(input?.["a"]) + Number(input?.["b"]))
    return { content: [{ type: "text", text }] }
  })
  return server
})

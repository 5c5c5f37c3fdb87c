/** An HTTP server without sessions, written with the official SDK. */
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node"
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import { createServer } from "node:http"
import * as z from "zod/v4"

const handler = toNodeHandler(createMcpHandler(() => {
  const server = new McpServer({ name: "greeter", version: "1.0.0" })
  server.registerTool("greet", { inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    content: [{ type: "text", text: `Hello, ${name}!` }]
  }))
  return server
}))
const validateHost = localhostHostValidation()
const validateOrigin = localhostOriginValidation()

createServer((request, response) => {
  if (!validateHost(request, response) || !validateOrigin(request, response)) return
  const { method = "GET", url = "/" } = request
  void handler(Object.assign(request, { method, url }), response)
}).listen(Number(process.env["PORT"] ?? 3460), "127.0.0.1")

/** The handler of the official SDK for both eras. It makes a server for each request. Argument: the number of tools. */
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node"
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import { createServer } from "node:http"
import * as z from "zod/v4"
import { description } from "../../../applications/Application.ts"
import { listen } from "../listen.ts"
import { info, mode } from "../tools.ts"

const inputSchema = z.object({ a: z.number(), b: z.number() })
const outputSchema = z.object({ sum: z.number() })
const names = Array.from({ length: Number(mode) }, (_, index) => index === 0 ? "add" : `add_${index}`)

const handle = toNodeHandler(createMcpHandler(() => {
  const server = new McpServer(info)
  for (const name of names) {
    server.registerTool(name, { description, inputSchema, outputSchema }, ({ a, b }) => {
      const structuredContent = { sum: a + b }
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent }
    })
  }
  return server
}))

const isHostValid = localhostHostValidation()
const isOriginValid = localhostOriginValidation()

await listen(createServer((request, response) => {
  if (!isHostValid(request, response) || !isOriginValid(request, response)) return
  // A request that a server receives has a method and a URL, which the optional members of Node's type hide.
  const { headers, method = "", url = "" } = request
  void handle(Object.assign(request, { headers, method, url }), response)
}))

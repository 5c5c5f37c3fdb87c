/** An HTTP server without sessions, written with FastMCP. */
import { FastMCP } from "fastmcp"
import * as z from "zod/v4"

const port = Number(process.env["PORT"] ?? 3460)

const server = new FastMCP({ name: "greeter", version: "1.0.0" })

server.addTool({
  name: "greet",
  parameters: z.object({ name: z.string() }),
  execute: async ({ name }) => `Hello, ${name}!`
})

await server.start({ transportType: "httpStream", httpStream: { port, host: "127.0.0.1", stateless: true } })

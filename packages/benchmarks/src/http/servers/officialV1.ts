import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { listen } from "./listen.ts"
import { burst, info, logged, mode, nextTurn, resultOf } from "./tools.ts"

const sessions = new Map<string, StreamableHTTPServerTransport>()

const serve = async (): Promise<StreamableHTTPServerTransport> => {
  const server = new Server(info, { capabilities: { tools: {}, logging: {} } })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification, signal }) => {
    if (params.name !== "flood") return resultOf(params)
    while (!signal.aborted) {
      for (let said = 0; said < burst; said++) {
        await sendNotification({ method: "notifications/message", params: logged })
      }
      await nextTurn()
    }
    return { content: [] }
  })
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: mode === "json",
    enableDnsRebindingProtection: true,
    allowedHosts: [`127.0.0.1:${port}`],
    onsessioninitialized: (id) => {
      sessions.set(id, transport)
    },
    onsessionclosed: (id) => {
      sessions.delete(id)
    }
  })
  // Only a part, because its callbacks may be undefined, which the type of a transport does not allow.
  const connected: Pick<StreamableHTTPServerTransport, "start" | "send" | "close"> = transport
  await server.connect(connected)
  return transport
}

const server = createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"]
  const transport = typeof id === "string" ? sessions.get(id) : await serve()
  if (transport === undefined) response.writeHead(404).end()
  else await transport.handleRequest(request, response)
})

const port = await listen(server)

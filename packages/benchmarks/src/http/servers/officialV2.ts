import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport
} from "@modelcontextprotocol/node"
import { Server } from "@modelcontextprotocol/server"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { listen } from "./listen.ts"
import { burst, info, logged, mode, nextTurn, resultOf } from "./tools.ts"

const sessions = new Map<string, NodeStreamableHTTPServerTransport>()

const serve = async (): Promise<NodeStreamableHTTPServerTransport> => {
  const server = new Server(info, { capabilities: { tools: {}, logging: {} } })
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    if (params.name !== "flood") return resultOf(params)
    while (!mcpReq.signal.aborted) {
      for (let said = 0; said < burst; said++) {
        await mcpReq.notify({ method: "notifications/message", params: logged })
      }
      await nextTurn()
    }
    return { content: [] }
  })
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: mode === "json",
    onsessioninitialized: (id) => {
      sessions.set(id, transport)
    },
    onsessionclosed: (id) => {
      sessions.delete(id)
    }
  })
  const connected: Pick<NodeStreamableHTTPServerTransport, "start" | "send" | "close"> = transport
  await server.connect(connected)
  return transport
}

const isHostValid = localhostHostValidation()
const isOriginValid = localhostOriginValidation()

const server = createServer(async (request, response) => {
  if (!isHostValid(request, response) || !isOriginValid(request, response)) return
  const id = request.headers["mcp-session-id"]
  const transport = typeof id === "string" ? sessions.get(id) : await serve()
  if (transport === undefined) response.writeHead(404).end()
  else await transport.handleRequest(request, response)
})

await listen(server)

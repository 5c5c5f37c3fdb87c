/** A client of three servers, written with the official SDK. */
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

const url = new URL(process.argv[2] ?? "http://127.0.0.1:3460/mcp")
const program = (name: string) => () =>
  new StdioClientTransport({ command: process.execPath, args: [fileURLToPath(new URL(name, import.meta.url))] })

const servers = new Map<string, () => Transport>([
  ["tasks", program("a.ts")],
  [
    "remote",
    () => new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: "Bearer ada" } } })
  ],
  ["reports", program("c.ts")]
])
const clients = new Map<string, Promise<Client>>()

const connect = async (name: string, transport: Transport) => {
  const client = new Client({ name: "host", version: "1.0.0" }, {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} }
  })
  client.setRequestHandler("elicitation/create", ({ params }) => {
    console.log(`[user] ${name} asks: ${params.message}`)
    return { action: "accept", content: { audience: "kids", words: 20 } }
  })
  client.setRequestHandler("sampling/createMessage", ({ params }) => ({
    role: "assistant",
    model: "parrot",
    content: { type: "text", text: `[model] ${JSON.stringify(params.messages.at(-1)?.content)}` }
  }))
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///home/ada" }] }))
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- The SDK has no `addEventListener`.
  client.onclose = () => clients.delete(name)
  await client.connect(transport)
  return client
}

const clientOf = (name: string) => {
  const running = clients.get(name)
  if (running !== undefined) return running
  const makeTransport = servers.get(name)
  if (makeTransport === undefined) throw new Error(`There is no server ${name}`)
  const client = connect(name, makeTransport())
  clients.set(name, client)
  client.catch(() => clients.delete(name))
  return client
}

const toolsOf = async (name: string) => {
  try {
    const { tools } = await (await clientOf(name)).listTools()
    return tools.map((tool) => ({ ...tool, name: `${name}__${tool.name}` }))
  } catch (error) {
    console.error(`${name} is down`, error)
    return []
  }
}

const callTool = async (name: string, input: Record<string, unknown>) => {
  try {
    const [server = "", tool = ""] = name.split("__", 2)
    const client = await clientOf(server)
    const { content, isError, structuredContent } = await client.callTool(
      { name: tool, arguments: input },
      { timeout: 10_000 }
    )
    return isError === true ? `error: ${JSON.stringify(content)}` : JSON.stringify(structuredContent)
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : error}`
  }
}

const tools = (await Promise.all([...servers.keys()].map(toolsOf))).flat()
console.log(tools.map(({ name }) => name).join(" "))
const results = await Promise.all([
  callTool("tasks__add_task", { title: "tea" }),
  callTool("remote__add_task", { title: "coffee" }),
  callTool("reports__report", { topic: "bees" }),
  callTool("nowhere__x", {})
])
console.log(results.join("\n"))
// Meanwhile a server may die.
await text(process.stdin)
console.log(await callTool("tasks__list_tasks", {}))

for (const client of await Promise.all(clients.values())) {
  if (client.transport instanceof StreamableHTTPClientTransport) await client.transport.terminateSession()
  await client.close()
}

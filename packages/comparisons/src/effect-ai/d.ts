/** A client of three servers, written with `effect/ai`. It cannot answer requests of the servers. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { McpClient, McpProtocol } from "effect/ai"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChildProcess from "effect/process/ChildProcess"
import * as RcMap from "effect/RcMap"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

const url = process.argv[2] ?? "http://127.0.0.1:3460/mcp"
const info = { name: "host", version: "1.0.0", protocol: McpProtocol.v2025_11_25 }

const program = (name: string) =>
  McpClient.layerStdio({
    ...info,
    command: ChildProcess.make(process.execPath, [fileURLToPath(new URL(name, import.meta.url))])
  }).pipe(Layer.provide(NodeServices.layer))
const servers = new Map([
  ["tasks", program("a.ts")],
  [
    "remote",
    McpClient.layerHttp({ ...info, url, headers: { authorization: "Bearer ada" } }).pipe(
      Layer.provide(NodeHttpClient.layerNodeHttp)
    )
  ],
  ["reports", program("c.ts")]
])

class Unknown extends Data.TaggedError("Unknown")<{ readonly name: string }> {
  override get message() {
    return `There is no ${this.name}`
  }
}

const main = Effect.gen(function*() {
  const clients = yield* RcMap.make({
    lookup: Effect.fnUntraced(function*(name: string) {
      const server = servers.get(name)
      if (server === undefined) return yield* new Unknown({ name: `server ${name}` })
      return Context.get(yield* Layer.build(server), McpClient.McpClient)
    }),
    idleTimeToLive: "1 hour"
  })

  // A client does not report that its server has closed, so each call lists the tools first. Listing is safe to repeat.
  const discover = (name: string) =>
    RcMap.get(clients, name).pipe(
      Effect.flatMap((client) => Effect.map(client.listTools(), (tools) => ({ client, tools }))),
      Effect.tapError(() => RcMap.invalidate(clients, name)),
      Effect.retry({ times: 1 })
    )

  const toolsOf = (server: string) =>
    discover(server).pipe(
      Effect.map(({ tools }) => tools.map(({ name }) => `${server}__${name}`)),
      Effect.catch((error) => Effect.as(Console.error(`${server} is down`, error), [])),
      Effect.scoped
    )

  const callTool = (name: string, input: Record<string, unknown>) =>
    Effect.gen(function*() {
      const [serverName = "", toolName = ""] = name.split("__", 2)
      const { client, tools } = yield* discover(serverName)
      const tool = tools.find((tool) => tool.name === toolName)
      if (tool === undefined) return yield* new Unknown({ name: `tool ${name}` })
      const { content, isError, structuredContent } = yield* client.callTool(
        { tool, arguments: input },
        { timeout: "10 seconds" }
      )
      return isError === true ? `error: ${JSON.stringify(content)}` : JSON.stringify(structuredContent)
    }).pipe(
      Effect.catch((error) => Effect.succeed(`error: ${error.message}`)),
      Effect.scoped
    )

  const tools = yield* Effect.forEach(servers.keys(), toolsOf, { concurrency: "unbounded" })
  yield* Console.log(tools.flat().join(" "))
  const results = yield* Effect.all([
    callTool("tasks__add_task", { title: "tea" }),
    callTool("remote__add_task", { title: "coffee" }),
    callTool("reports__report", { topic: "bees" }),
    callTool("nowhere__x", {})
  ], { concurrency: "unbounded" })
  yield* Console.log(results.join("\n"))
  // Meanwhile a server may die.
  yield* Effect.promise(() => text(process.stdin))
  yield* Console.log(yield* callTool("tasks__list_tasks", {}))
})

NodeRuntime.runMain(Effect.scoped(main))

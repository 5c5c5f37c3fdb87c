/** A client of three servers, written with the sessions of Effect MCP. */
import { Content } from "@effect-mcp/protocol"
import { ClientSession, type HandshakeError } from "@effect-mcp/session"
import { StdioClient, StreamableHttpClient } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import * as Stream from "effect/Stream"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

const url = process.argv[2] ?? "http://127.0.0.1:3460/mcp"
const program = (name: string) =>
  StdioClient.layerNode({ command: process.execPath, args: [fileURLToPath(new URL(name, import.meta.url))] })
const servers = new Map([
  ["tasks", program("a.ts")],
  ["remote", StreamableHttpClient.layerNode({ url, headers: { authorization: "Bearer ada" } })],
  ["reports", program("c.ts")]
])

class NoServer extends Data.TaggedError("NoServer")<{ readonly message: string }> {}

const connect = Effect.fnUntraced(function*(name: string) {
  const transport = servers.get(name)
  if (transport === undefined) return yield* new NoServer({ message: `There is no server ${name}` })
  const handlers = ClientSession.handlers({
    "elicitation/create": ({ message }) =>
      Effect.as(Console.log(`[user] ${name} asks: ${message}`), {
        action: "accept",
        content: { audience: "kids", words: 20 }
      }),
    "sampling/createMessage": ({ messages }) => {
      const content = Content.text(`[model] ${JSON.stringify(messages.at(-1)?.content)}`)
      return Effect.succeed({ role: "assistant", model: "parrot", content })
    },
    "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home/ada" }] })
  })
  const session = ClientSession.layer({ info: { name: "host", version: "1.0.0" }, handlers })
  return Context.get(yield* Layer.build(Layer.provide(session, transport)), ClientSession.ClientSession)
})

const main = Effect.gen(function*() {
  // A session that has closed leaves the map, so that the next call opens a new one.
  const sessions: RcMap.RcMap<string, ClientSession.ClientSessionShape, NoServer | HandshakeError.HandshakeError> =
    yield* RcMap.make({
      lookup: (name: string) =>
        connect(name).pipe(
          Effect.tap(({ closed }) => Effect.forkScoped(Effect.andThen(closed, RcMap.invalidate(sessions, name)))),
          Effect.tapError(() => RcMap.invalidate(sessions, name))
        ),
      idleTimeToLive: "1 hour"
    })

  const toolsOf = (server: string) =>
    RcMap.get(sessions, server).pipe(
      Effect.flatMap(({ tools }) => Stream.runCollect(tools)),
      Effect.map((tools) => tools.map(({ name }) => `${server}__${name}`)),
      Effect.catch((error) => Effect.as(Console.error(`${server} is down`, error), [])),
      Effect.scoped
    )

  const callTool = (name: string, input?: Record<string, unknown>) =>
    Effect.gen(function*() {
      const [server = "", tool = ""] = name.split("__", 2)
      const session = yield* RcMap.get(sessions, server)
      const { content, isError, structuredContent } = yield* session.callTool(tool, input, { timeout: "10 seconds" })
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
    callTool("nowhere__x")
  ], { concurrency: "unbounded" })
  yield* Console.log(results.join("\n"))
  // Meanwhile a server may die.
  yield* Effect.promise(() => text(process.stdin))
  yield* Console.log(yield* callTool("tasks__list_tasks"))
})

NodeRuntime.runMain(Effect.scoped(main))

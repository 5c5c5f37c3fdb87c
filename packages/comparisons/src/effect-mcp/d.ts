/** A client of three servers, written with a group of supervised clients. */
import { Content, McpAnswers, McpClients, McpTarget } from "@effect-mcp/client/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

const info = { name: "host", version: "1.0.0" }
const program = (name: string) => McpTarget.command(process.execPath, [fileURLToPath(new URL(name, import.meta.url))])
const servers = {
  tasks: program("a.ts"),
  remote: McpTarget.url(process.argv[2] ?? "http://127.0.0.1:3460/mcp", { headers: { authorization: "Bearer ada" } }),
  reports: program("c.ts")
}

const answers = McpAnswers.make({
  elicit: (question) =>
    Effect.andThen(
      Console.log(`[user] ${question.server} asks: ${question.params.message}`),
      McpAnswers.accept(question, { audience: "kids", words: 20 })
    ),
  sample: ({ params: { messages } }) => {
    const content = Content.text(`[model] ${JSON.stringify(messages.at(-1)?.content)}`)
    return Effect.succeed({ role: "assistant", model: "parrot", content })
  },
  roots: [{ uri: "file:///home/ada" }]
})

const main = Effect.gen(function*() {
  const clients = yield* McpClients.make(servers, { info, answers, listWaitTimeout: "30 seconds" })
  const callTool = (name: string, input?: Record<string, unknown>) =>
    clients.callTool(name, input, { timeout: "10 seconds" }).pipe(
      Effect.map(({ content, isError, structuredContent }) =>
        isError === true ? `error: ${JSON.stringify(content)}` : JSON.stringify(structuredContent)
      ),
      Effect.catch((error) => Effect.succeed(`error: ${error.message}`))
    )

  yield* Console.log((yield* clients.tools).map(({ name }) => name).join(" "))
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

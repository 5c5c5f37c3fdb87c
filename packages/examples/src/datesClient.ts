/** The first client (`docs/start/first-client.md`). Its arguments are the command of a server, after `node`. */
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { Dates } from "./dates.ts"

const server = McpTarget.command(process.execPath, process.argv.slice(2))

const main = Effect.gen(function*() {
  const client = yield* McpClient.make(server, { info: { name: "first-client", version: "1.0.0" } })
  yield* Console.log((yield* client.tools).map(({ name }) => name))

  const { structuredContent } = yield* client.callTool("days_until", { date: "2100-01-01T00:00:00Z" })
  yield* Console.log(structuredContent)

  const answer = yield* client.of(Dates).tools.days_until({ date: new Date("2000-01-01") }).pipe(
    Effect.map(({ days }) => `in ${days} days`),
    Effect.catchTag("PastDate", ({ days }) => Effect.succeed(`${days} days ago`))
  )
  yield* Console.log(answer)
})

NodeRuntime.runMain(Effect.scoped(main))

/** The program: answers the question on its command line, with the servers of `servers.json`. */
import { McpClients, McpServerLog, McpServersConfig, PlainText } from "@effect-mcp/client/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import { readFile } from "node:fs/promises"
import manifest from "../package.json" with { type: "json" }
import { answer } from "./agent.ts"
import { Consent } from "./Consent.ts"
import * as Model from "./model.ts"

/** The error of a command line, or of a file, that the program cannot use. */
class StartError extends Schema.TaggedError<StartError>()("StartError", { message: Schema.String }) {}

/** The error of a program that has printed why it failed. */
class PrintedError extends Data.TaggedError("PrintedError") {
  override readonly [Runtime.errorReported] = false
}

const readServers = Effect.tryPromise({
  try: () => readFile("servers.json", "utf8"),
  catch: () => new StartError({ message: "servers.json cannot be read; run the program in a folder with this file" })
})

const servers = Layer.unwrap(Effect.gen(function*() {
  const text = yield* readServers
  return McpClients.layer(yield* McpServersConfig.parse(text), {
    info: { name: manifest.name, version: manifest.version },
    // Providers of models accept no other names.
    names: "model",
    handlers: { "notifications/message": McpServerLog.write }
  })
}))

const question = process.argv.slice(2).join(" ")

const main = Effect.gen(function*() {
  if (question === "") {
    return yield* new StartError({ message: "write the question after the command: npm start -- \"What is new?\"" })
  }
  const clients = yield* McpClients.McpClients
  // A server that is downloaded first takes a while.
  yield* clients.settled("30 seconds")
  // The answer may repeat text of a server, which must not control the terminal.
  yield* Console.log(PlainText.text(yield* answer(question)))
})

NodeRuntime.runMain(
  main.pipe(
    Effect.provide([servers, Consent.layerTerminal, Model.layer]),
    // The person corrects an error by its message. A fault of the program is printed with its stack.
    Effect.catch(({ message }) => Effect.andThen(Console.error(`error: ${message}`), Effect.fail(new PrintedError()))),
    // The answer is on standard output, and everything else on standard error.
    Effect.provideService(Logger.LogToStderr, true)
  )
)

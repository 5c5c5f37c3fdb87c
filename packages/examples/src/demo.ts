/**
 * One client program, three servers. `pnpm demo` runs it.
 */
import { StdioClient } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import * as Client from "./client.ts"
import { conversation } from "./conversation.ts"
import * as InMemory from "./inMemory.ts"
import * as Leftovers from "./leftovers.ts"
import * as Transcript from "./transcript.ts"
import * as Vocabulary from "./vocabulary.ts"

const calculator = fileURLToPath(import.meta.resolve("./calculator.ts"))
const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

const childProcess = (...args: ReadonlyArray<string>) =>
  StdioClient.layerNode({ command: process.execPath, args, stderr: Transcript.serverLog })

const subjects = [
  {
    title: "in memory: the calculator, in this process",
    layer: InMemory.layer(Transcript.serverLog),
    vocabulary: Vocabulary.calculator
  },
  {
    title: "over stdio: the calculator, as a child process",
    layer: childProcess(calculator),
    vocabulary: Vocabulary.calculator
  },
  {
    title: "over stdio: @modelcontextprotocol/server-everything, as a child process",
    layer: childProcess(everything, "stdio"),
    vocabulary: Vocabulary.everything
  }
]

/** What is done with each: the same. */
const program = ({ layer, title, vocabulary }: (typeof subjects)[number]) =>
  Effect.suspend(() => {
    Transcript.heading(title)
    Transcript.section("the handshake")
    return conversation(vocabulary).pipe(
      Effect.provide(Layer.provide(Client.layer, layer)),
      Leftovers.none
    )
  })

NodeRuntime.runMain(Effect.forEach(subjects, program, { discard: true }))

/**
 * One client program; three transports, and two servers. `pnpm demo` runs it.
 */
import type { Transport, TransportError } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import * as Client from "./client.ts"
import { conversation } from "./conversation.ts"
import * as InMemory from "./inMemory.ts"
import * as Leftovers from "./leftovers.ts"
import * as Listening from "./listening.ts"
import * as Transcript from "./transcript.ts"
import * as Vocabulary from "./vocabulary.ts"

const calculator = fileURLToPath(import.meta.resolve("./calculator.ts"))
const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

const childProcess = (...args: ReadonlyArray<string>) =>
  StdioClient.layerNode({ command: process.execPath, args, stderr: Transcript.serverLog })

/** A server, how to reach it, and what its tools are called. */
interface Subject {
  readonly title: string
  readonly layer: Layer.Layer<Transport.Transport, TransportError.TransportError | Listening.Failure>
  readonly vocabulary: Vocabulary.Vocabulary
}

const subjects: ReadonlyArray<Subject> = [
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
    title: "over Streamable HTTP: the calculator, as a child process that listens",
    layer: Listening.layer([calculator, "--http", "0"], Transcript.serverLog),
    vocabulary: Vocabulary.calculator
  },
  {
    title: "over stdio: @modelcontextprotocol/server-everything, as a child process",
    layer: childProcess(everything, "stdio"),
    vocabulary: Vocabulary.everything
  }
]

/** What is done with each: the same. */
const program = ({ layer, title, vocabulary }: Subject) =>
  Effect.suspend(() => {
    Transcript.heading(title)
    Transcript.section("the handshake")
    return conversation(vocabulary).pipe(
      Effect.provide(Layer.provide(Client.layer, layer)),
      Leftovers.none
    )
  })

NodeRuntime.runMain(Effect.forEach(subjects, program, { discard: true }))

/**
 * One client program over six transports, with two servers. `pnpm demo` runs it.
 */
import type { Transport, TransportError } from "@effect-mcp/session"
import {
  HttpSseClient,
  StdioClient,
  StreamableHttpClient,
  UnixSocketClient,
  WebSocketClient
} from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { tmpdir } from "node:os"
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

/** The calculator as a child process that listens with this option. */
const listening = (option: string, place: string, way: Listening.Way) =>
  Listening.layer([calculator, option, place], way, Transcript.serverLog)

/** A path for this process alone. */
const socketFile = `${tmpdir()}/calculator-${process.pid}.sock`

/** A server, its transport, and the names of its tools. */
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
    layer: listening("--http", "0", (url) => StreamableHttpClient.layerNode({ url })),
    vocabulary: Vocabulary.calculator
  },
  {
    title: "over HTTP+SSE: the calculator, likewise",
    layer: listening("--sse", "0", (url) => HttpSseClient.layerNode({ url })),
    vocabulary: Vocabulary.calculator
  },
  {
    title: "over WebSocket: the calculator, likewise",
    layer: listening("--ws", "0", (url) => WebSocketClient.layerNode({ url })),
    vocabulary: Vocabulary.calculator
  },
  {
    title: "over a Unix socket: the calculator, likewise",
    layer: listening("--unix", socketFile, () => UnixSocketClient.layerNode({ path: socketFile })),
    vocabulary: Vocabulary.calculator
  },
  {
    title: "over stdio: @modelcontextprotocol/server-everything, as a child process",
    layer: childProcess(everything, "stdio"),
    vocabulary: Vocabulary.everything
  }
]

/** Runs the same conversation with each server. */
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

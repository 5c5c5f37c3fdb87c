/**
 * One client program over six transports, with two servers. It calls tools, receives progress and log messages, cancels
 * a call, and checks that nothing stays open. Another one finds out which revisions its servers speak.
 *
 * ```sh
 * node packages/examples/src/demo.ts
 * ```
 */
import type { Transport, TransportError } from "@effect-mcp/session"
import {
  HttpSseClient,
  SocketClient,
  StdioClient,
  StreamableHttpClient,
  WebSocketClient
} from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import * as Client from "./client.ts"
import { conversation } from "./conversation.ts"
import * as Eras from "./eras.ts"
import * as InMemory from "./inMemory.ts"
import * as Leaks from "./leaks.ts"
import * as ListeningChild from "./listeningChild.ts"
import * as ServerCalls from "./serverCalls.ts"
import * as Transcript from "./transcript.ts"

const calculator = fileURLToPath(import.meta.resolve("./calculator.ts"))
const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

const childProcess = (...args: ReadonlyArray<string>) =>
  StdioClient.layerNode({ command: process.execPath, args, stderr: Transcript.serverLog })

/** The calculator as a child process that listens at an address. */
const listening = (option: string, address: string, transportTo: ListeningChild.TransportTo) =>
  ListeningChild.layer([calculator, option, address], transportTo, Transcript.serverLog)

/** A socket that only this process uses. */
const socketFile = `${tmpdir()}/calculator-${process.pid}.sock`

/** A server, the transport to it, and the calls of its tools. */
interface Server {
  readonly title: string
  readonly transport: Layer.Layer<Transport.Transport, TransportError.TransportError | ListeningChild.StartError>
  readonly calls: ServerCalls.ServerCalls
}

const servers: ReadonlyArray<Server> = [
  {
    title: "in memory: the calculator, in this process",
    transport: InMemory.layer(Transcript.serverLog),
    calls: ServerCalls.calculator
  },
  {
    title: "over stdio: the calculator, as a child process",
    transport: childProcess(calculator),
    calls: ServerCalls.calculator
  },
  {
    title: "over Streamable HTTP: the calculator, as a child process that listens",
    transport: listening("--http", "0", (url) => StreamableHttpClient.layerNode({ url })),
    calls: ServerCalls.calculator
  },
  {
    title: "over HTTP+SSE: the calculator, likewise",
    transport: listening("--sse", "0", (url) => HttpSseClient.layerNode({ url })),
    calls: ServerCalls.calculator
  },
  {
    title: "over WebSocket: the calculator, likewise",
    transport: listening("--ws", "0", (url) => WebSocketClient.layerNode({ url })),
    calls: ServerCalls.calculator
  },
  {
    title: "over a Unix socket: the calculator, likewise",
    transport: listening("--unix", socketFile, () => SocketClient.layerUnix({ path: socketFile })),
    calls: ServerCalls.calculator
  },
  {
    title: "over stdio: @modelcontextprotocol/server-everything, as a child process",
    transport: childProcess(everything, "stdio"),
    calls: ServerCalls.everything
  }
]

/** Runs the conversation with one server. */
const program = ({ calls, title, transport }: Server) =>
  Effect.suspend(() => {
    Transcript.heading(title)
    Transcript.section("the handshake")
    return conversation(calls).pipe(
      Effect.provide(Layer.provide(Client.layer, transport)),
      Leaks.checkNone
    )
  })

NodeRuntime.runMain(Effect.andThen(Effect.forEach(servers, program, { discard: true }), Eras.withEachServer))

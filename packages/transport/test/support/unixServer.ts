/** A server of Unix sockets, and raw clients of it. */
import { SessionHost } from "@effect-mcp/session"
import { SocketServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Net from "node:net"
import * as path from "node:path"
import { until } from "./process.ts"
import { collectLogs, hostOf, type ServerHandlers } from "./server.ts"
import { temporaryDirectory } from "./temporaryDirectory.ts"

export interface Settings {
  readonly session?: Partial<SessionHost.Options>
  readonly socket?: Omit<SocketServer.UnixOptions, "path">
  /** Services for the host and the server, such as a clock. */
  readonly services?: Layer.Layer<never>
}

export interface Served {
  readonly path: string
  readonly host: SessionHost.SessionHostShape
  /** The log entries of the levels warning, error and fatal. */
  readonly logs: ReadonlyArray<string>
  /** Stops the server, and waits until it has stopped. */
  readonly stop: Effect.Effect<void>
}

/** Runs a server at this path until the scope closes, or until it is stopped. */
export const serveAt = Effect.fnUntraced(function*(
  at: string,
  handlers: ServerHandlers,
  settings: Settings = {}
): Effect.fn.Return<Served, SocketServer.ListenError, Scope.Scope> {
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const layer = SocketServer.layerUnix({ path: at, ...settings.socket }).pipe(
    Layer.provideMerge(hostOf(handlers, { session: settings.session ?? {} })),
    Layer.provideMerge(collectLogs(logs)),
    Layer.provideMerge(settings.services ?? Layer.empty)
  )
  const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
  return {
    path: at,
    host: Context.get(context, SessionHost.SessionHost),
    logs,
    stop: Scope.close(scope, Exit.void)
  }
})

/** Runs a server in a temporary directory. */
export const serve = Effect.fnUntraced(function*(handlers: ServerHandlers, settings?: Settings) {
  const directory = yield* temporaryDirectory
  return yield* Effect.orDie(serveAt(path.join(directory, "s"), handlers, settings))
})

/** A client that writes raw bytes, and records the messages that it reads. */
export class RawClient {
  readonly socket: Net.Socket
  readonly #chunks: Array<Buffer> = []
  ended = false
  broken: Error | undefined

  constructor(socket: Net.Socket) {
    this.socket = socket
    socket.on("data", (chunk) => this.#chunks.push(chunk))
    socket.on("end", () => {
      this.ended = true
    })
    socket.on("error", (error) => {
      this.broken = error
    })
  }

  /** The messages that have arrived. */
  get messages(): ReadonlyArray<{ readonly [key: string]: unknown }> {
    return Buffer.concat(this.#chunks).toString().split("\n").filter((line) => line !== "").map((line) =>
      JSON.parse(line)
    )
  }

  /** The number of bytes that have arrived. */
  get bytes(): number {
    return this.#chunks.reduce((bytes, { length }) => bytes + length, 0)
  }

  send(...messages: ReadonlyArray<object>): void {
    this.socket.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""))
  }

  /** Waits for the message with this id. */
  awaitResponse(id: number | string) {
    return Effect.andThen(
      until(() => this.messages.some((message) => message["id"] === id)),
      Effect.sync(() => this.messages.find((message) => message["id"] === id))
    )
  }

  /** Waits until the server has ended its side, or the connection is closed. */
  readonly awaitEnd = until(() => this.ended || this.socket.closed)
}

/** Connects. The client can end its side and still read. Closing the scope destroys the socket. */
export const connect = (options: Net.NetConnectOpts): Effect.Effect<RawClient, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<RawClient, Error>((resume) => {
      const socket = Net.connect({ ...options, allowHalfOpen: true })
      socket.once("error", (error) => resume(Effect.fail(error)))
      socket.once("connect", () => resume(Effect.succeed(new RawClient(socket))))
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

export const initialize = {
  jsonrpc: "2.0",
  id: "hello",
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1.0.0" } }
} as const

export const initialized = { jsonrpc: "2.0", method: "notifications/initialized" } as const

export const call = (id: number, name: string, input: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: input }
})

export const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" })

/** Connects, and opens a session with the whole handshake. */
export const openSession = Effect.fnUntraced(function*(options: Net.NetConnectOpts) {
  const client = yield* connect(options)
  client.send(initialize, initialized)
  yield* client.awaitResponse(initialize.id)
  return client
})

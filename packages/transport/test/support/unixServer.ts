/** A server at a path of its own, and clients that are nothing but sockets. */
import { SessionHost } from "@effect-mcp/session"
import { UnixSocketServer } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Net from "node:net"
import * as path from "node:path"
import { until } from "../fixtures/process.ts"
import { temporaryDirectory } from "./directory.ts"
import { hostOf, listening, type ServerHandlers } from "./server.ts"

export interface Settings {
  readonly session?: Partial<SessionHost.Options>
  readonly socket?: Omit<UnixSocketServer.NodeOptions, "path">
  /** What the host and the server stand on. */
  readonly surroundings?: Layer.Layer<never>
}

export interface Served {
  readonly path: string
  readonly host: SessionHost.SessionHostShape
  /** What was logged above the level of information. */
  readonly logs: ReadonlyArray<string>
  /** Stops it, and waits until it has stopped. */
  readonly stop: Effect.Effect<void>
}

/** Serves at this path until the scope closes, or until it is stopped. */
export const serveAt = Effect.fnUntraced(function*(
  at: string,
  handlers: ServerHandlers,
  settings: Settings = {}
): Effect.fn.Return<Served, UnixSocketServer.ListenFailed, Scope.Scope> {
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const layer = UnixSocketServer.layerNode({ path: at, ...settings.socket }).pipe(
    Layer.provideMerge(hostOf(handlers, { session: settings.session ?? {} })),
    Layer.provideMerge(listening(logs)),
    Layer.provideMerge(settings.surroundings ?? Layer.empty)
  )
  const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
  return {
    path: at,
    host: Context.get(context, SessionHost.SessionHost),
    logs,
    stop: Scope.close(scope, Exit.void)
  }
})

/** Serves in a directory of its own. */
export const serve = Effect.fnUntraced(function*(handlers: ServerHandlers, settings?: Settings) {
  const directory = yield* temporaryDirectory
  return yield* Effect.orDie(serveAt(path.join(directory, "s"), handlers, settings))
})

/** A client that is nothing but a socket, with what it has read. */
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

  /** What came so far, message by message. */
  get messages(): ReadonlyArray<{ readonly [key: string]: unknown }> {
    return Buffer.concat(this.#chunks).toString().split("\n").filter((line) => line !== "").map((line) =>
      JSON.parse(line)
    )
  }

  /** How many bytes came so far. */
  get bytes(): number {
    return this.#chunks.reduce((bytes, { length }) => bytes + length, 0)
  }

  say(...messages: ReadonlyArray<object>): void {
    this.socket.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""))
  }

  /** Waits for the message with this id. */
  answer(id: number | string) {
    return Effect.andThen(
      until(() => this.messages.some((message) => message["id"] === id)),
      Effect.sync(() => this.messages.find((message) => message["id"] === id))
    )
  }

  /** Waits until the server has ended its side, or broken it off. */
  readonly over = until(() => this.ended || this.socket.closed)
}

/** Connects, and goes with the scope. It may stop sending and go on reading. */
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

/** Connects and shakes hands. */
export const join = Effect.fnUntraced(function*(options: Net.NetConnectOpts) {
  const client = yield* connect(options)
  client.say(initialize, initialized)
  yield* client.answer(initialize.id)
  return client
})

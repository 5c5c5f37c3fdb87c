/** The places of the servers of supervised clients: each transport, and a way to kill the server and start it again. */
import { McpTarget } from "@effect-mcp/client/node"
import { Revision } from "@effect-mcp/protocol"
import { LawServer } from "@effect-mcp/testing/laws"
import {
  Authentication,
  HttpSseServer,
  SocketServer,
  StatelessHttpServer,
  StreamableHttpServer,
  WebSocketServer
} from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../../../scripts/freePort.ts"
import { childProgram } from "../childProgram.ts"
import * as Hosted from "../Hosted.ts"
import * as Relay from "../Relay.ts"
import * as Http from "../subjects/http.ts"

/** A server that can be killed. The next one starts at the same address. */
export interface Server {
  readonly target: McpTarget.McpTarget
  readonly revisions: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  /** Breaks all connections as the exit of the process does, and starts the next server. */
  readonly restart: Effect.Effect<void, unknown>
}

/** A place. Servers of heavier places are chosen more often. */
export interface Place {
  readonly name: string
  readonly weight: number
  readonly start: Effect.Effect<Server, unknown, Scope.Scope>
}

const host = () => Layer.provideMerge(Hosted.layer("unlimited"), Authentication.anonymous)

/** Starts again and again what a scope holds. The earlier one is released when its connections have been broken. */
const restarting = Effect.fnUntraced(function*(start: Effect.Effect<void, unknown, Scope.Scope>) {
  const all = yield* Effect.scope
  let current: Scope.Closeable | undefined
  return Effect.uninterruptible(Effect.gen(function*() {
    if (current !== undefined) yield* Scope.close(current, Exit.void)
    current = yield* Scope.fork(all)
    yield* Scope.provide(start, current)
  }))
})

/** A place with a relay on a port, which breaks the connections before the server ends. */
const onPort = (
  name: string,
  revisions: Server["revisions"],
  url: (port: number) => string,
  server: () => Layer.Layer<HttpServer, ServeError>
): Place => ({
  name,
  weight: 8,
  start: Effect.gen(function*() {
    const port = yield* freePort
    const restart = yield* restarting(Effect.gen(function*() {
      const context = yield* Layer.build(Layer.fresh(server()))
      yield* Relay.make({ host: "127.0.0.1", port: yield* Http.portOf(context) }, { host: "127.0.0.1", port })
    }))
    yield* restart
    const target = McpTarget.url(url(port), { reconnect: { initialInterval: "20 millis", maxAttempts: 3 } })
    return { target, revisions, restart }
  })
})

const unix: Place = {
  name: "unix-socket",
  weight: 8,
  start: Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "soak-"))),
      (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
    )
    const [path, relayed] = [join(directory, "server"), join(directory, "relay")]
    const restart = yield* restarting(Effect.gen(function*() {
      yield* Layer.build(Layer.fresh(Layer.provide(SocketServer.layerUnix({ path }), host())))
      yield* Relay.make({ path }, { path: relayed })
    }))
    yield* restart
    return { target: McpTarget.url(`unix://${relayed}`), revisions: Revision.supported, restart }
  })
}

/** A real process takes most of a second to start. */
const stdio: Place = {
  name: "stdio",
  weight: 1,
  start: Effect.sync(() => {
    let pid: number | undefined
    const target = McpTarget.command(process.execPath, [childProgram], {
      stderr: (line) => {
        if (line.startsWith("pid ")) pid = Number(line.slice(4))
      }
    })
    const restart = Effect.sync(() => {
      // A process that has not reported its id yet is not killed.
      if (pid !== undefined) process.kill(pid, "SIGKILL")
      pid = undefined
    })
    return { target, revisions: Revision.legacy, restart }
  })
}

const mcp = (port: number): string => `http://127.0.0.1:${port}/mcp`

const streamable = () => Layer.provide(StreamableHttpServer.layerNode({ port: 0, ...Http.limits }), host())

export const places: ReadonlyArray<Place> = [
  stdio,
  onPort("streamable-http", Revision.legacy, mcp, streamable),
  onPort("streamable-http-modern", Revision.modern, mcp, streamable),
  onPort("http-stateless", Revision.legacy, mcp, () =>
    StatelessHttpServer.layerNode(LawServer.make(), {
      ...LawServer.options,
      limits: Hosted.limits,
      port: 0,
      ...Http.limits
    }).pipe(Layer.provide(Authentication.anonymous))),
  onPort(
    "http-sse",
    Revision.legacy,
    (port) => `http://127.0.0.1:${port}/sse`,
    () => Layer.provide(HttpSseServer.layerNode({ port: 0, ...Http.limits }), host())
  ),
  onPort(
    "websocket",
    Revision.supported,
    (port) => `ws://127.0.0.1:${port}/mcp`,
    () => Layer.provide(WebSocketServer.layerNode({ port: 0 }), host())
  ),
  unix
]

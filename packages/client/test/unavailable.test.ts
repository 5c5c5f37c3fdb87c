/** Supervised clients whose server hangs or ends in the handshake, over each transport. */
import { McpClient, ServerStatus } from "@effect-mcp/client"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import * as http from "node:http"
import * as net from "node:net"
import * as path from "node:path"
import type { Duplex } from "node:stream"
import { leavingNothing } from "./support/leavingNothing.ts"
import { addressOf, type Place, temporaryDirectory } from "./support/places.ts"

const info = { name: "host", version: "1.0.0" }

const transports: ReadonlyArray<Place["transport"]> = ["stdio", "http", "http-sse", "websocket", "unix"]

/** Listens for as long as the scope is open. */
const listening = (server: net.Server, bind: string): Effect.Effect<void, never, Scope.Scope> => {
  const sockets = new Set<net.Socket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    // A client that closes its connection may reset it.
    socket.on("error", () => {}).on("close", () => sockets.delete(socket)).resume()
  })
  return Effect.asVoid(Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(
        path.isAbsolute(bind) ? { path: bind } : { port: Number(bind), host: "127.0.0.1" },
        () => resume(Effect.void)
      )
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      })
  ))
}

/** Accepts a WebSocket. */
const accept = ({ headers }: http.IncomingMessage, socket: Duplex): void => {
  const key = createHash("sha1").update(`${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n" +
      `sec-websocket-accept: ${key.digest("base64")}\r\n` +
      `sec-websocket-protocol: ${headers["sec-websocket-protocol"]}\r\n\r\n`
  )
}

/** A server of HTTP, HTTP+SSE and WebSocket that accepts what a client sends, and answers no message. */
const silentHttp = () =>
  http.createServer(({ method, url }, response) => {
    if (url === "/sse" && method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("event: endpoint\ndata: /messages\n\n")
    } else if (url === "/sse") response.writeHead(405).end()
    else if (url === "/messages") response.writeHead(202).end()
  }).on("upgrade", accept)

/** Returns the target of a server that accepts connections, and never answers `initialize`. */
const silent = Effect.fnUntraced(function*(transport: Place["transport"]) {
  const { bind, target } = yield* addressOf(transport, yield* temporaryDirectory)
  if (transport === "unix") yield* listening(net.createServer(), bind)
  else if (transport !== "stdio") yield* listening(silentHttp(), bind)
  return target(["--eval", "process.stderr.write('waits for the database\\n'); setInterval(() => {}, 1000)"])
})

/** Returns the target of a server that ends each connection at once, and the number of these. */
const crashing = Effect.fnUntraced(function*(transport: Place["transport"]) {
  const { bind, target } = yield* addressOf(transport, yield* temporaryDirectory)
  let connections = 0
  const server = net.createServer((socket) => {
    connections++
    socket.destroy()
  })
  if (transport !== "stdio") yield* listening(server, bind)
  return {
    target: target(["--eval", "process.stderr.write('no such table\\n'); process.exit(7)"]),
    connections: () => connections
  }
})

const untilDown = (client: McpClient.McpClientShape, attempts: number): Effect.Effect<ServerStatus.ServerStatus> =>
  client.statuses.pipe(
    Stream.filter((status) => status._tag === "Down" && status.attempts === attempts),
    Stream.runHead,
    Effect.map((found) => found._tag === "Some" ? found.value : { _tag: "Connecting", attempt: 0 })
  )

for (const transport of transports) {
  describe(`a server over ${transport}`, () => {
    it.live("that never answers initialize keeps no call waiting longer than waitTimeout, and is tried again", () =>
      Effect.gen(function*() {
        yield* leavingNothing(Effect.gen(function*() {
          const target = yield* silent(transport)
          const client = yield* McpClient.make(target, {
            info,
            limits: { handshakeTimeout: "200 millis", discoverTimeout: "100 millis" },
            reconnect: Schedule.spaced("10 millis"),
            waitTimeout: "100 millis"
          })
          const error = yield* Effect.flip(client.callTool("x"))
          assert.strictEqual(error._tag, "ServerUnavailableError")
          const status = yield* untilDown(client, 2)
          assert(status._tag === "Down")
          assert.strictEqual(status.problem._tag, "ConnectFailed")
          if (transport === "stdio") {
            assert.deepStrictEqual(status.stderr, ["waits for the database"])
            assert.include(ServerStatus.describe(status), "on its standard error: waits for the database; ")
          }
        }))
      }))

    it.live("that ends at once is tried at growing intervals, and its error is visible", () =>
      Effect.gen(function*() {
        yield* leavingNothing(Effect.gen(function*() {
          const { connections, target } = yield* crashing(transport)
          const client = yield* McpClient.make(target, { info, waitTimeout: "100 millis" })
          const statuses = yield* Stream.runCollect(client.statuses.pipe(
            Stream.filter((status) => status._tag === "Down"),
            Stream.take(3)
          ))
          const delays = statuses.map((status) => status.retryMillis ?? 0)
          for (const [at, longest] of [500, 1_000, 2_000].entries()) {
            assert.isTrue((delays[at] ?? 0) >= longest / 2 && (delays[at] ?? 0) <= longest, delays.join())
          }
          // A server may have ended because of the question for its revisions. So it is asked again without it.
          assert.isAtMost(connections(), 2 * statuses.length)
          const error = yield* Effect.flip(client.callTool("x"))
          assert.match(error.message, /^the server ".*" is not available: /)
          if (transport === "stdio") {
            const [down] = statuses
            assert.deepStrictEqual(down?.stderr, ["no such table"])
            assert.match(error.message, /exited with code 7; on its standard error: no such table; /)
          }
        }))
      }))
  })
}

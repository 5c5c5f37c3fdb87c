/** The proxy as a child process, between a client over stdio and a server over HTTP (`proxy.ts`). */
import { ClientSession, EventStore, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
import { LawServer, TransportLaws } from "@effect-mcp/testing/laws"
import { Authentication, HttpFallbackClient, StdioClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as JoinedTransports from "../src/joinedTransports.ts"
import * as Calculator from "../src/listeningCalculator.ts"

/** The program in one file, because each law starts it. */
const program = await joinedProgram(fileURLToPath(new URL("../src/proxy.ts", import.meta.url)))

const throughProxy = (url: string) =>
  StdioClient.layerNode({
    command: process.execPath,
    args: [program, url],
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
    stderr: () => {}
  })

/** A server for the laws over HTTP, and its URL. */
const lawServer = Effect.gen(function*() {
  const server = yield* Layer.build(
    StreamableHttpServer.layerNode({ port: 0 }).pipe(
      Layer.provideMerge(
        SessionHost.layer(LawServer.make(), { ...LawServer.options, limits: { gracefulTimeout: "2 seconds" } })
      ),
      Layer.provideMerge(EventStore.layerMemory()),
      Layer.provide(Authentication.anonymous),
      Layer.provideMerge(Logger.layer([]))
    )
  )
  const { address } = Context.get(server, HttpServer)
  return {
    url: `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`,
    host: Context.get(server, SessionHost.SessionHost)
  }
})

type Served = TransportLaws.ClientEnd & { readonly host: SessionHost.SessionHostShape }

/** Joins a client in memory with the server at a URL, in this process. */
const joinedTo = Effect.fnUntraced(function*(url: string) {
  const { client, server } = yield* MemoryTransport.make()
  const toServer = yield* Layer.build(HttpFallbackClient.layerNode({ url }))
  const connections = Effect.all([server.connect, Context.get(toServer, Transport.Transport).connect])
  yield* Effect.flatMap(connections, ([from, to]) => JoinedTransports.join(from, to, () => {})).pipe(
    Effect.scoped,
    Effect.forkScoped
  )
  return client
})

const lawsOf = (proxyTo: (url: string) => Effect.Effect<TransportLaws.ClientEnd, unknown, Scope.Scope>) =>
  TransportLaws.laws<Served>({
    serve: Effect.gen(function*() {
      const { host, url } = yield* lawServer
      return { ...yield* proxyTo(url), host }
    }),
    sessionFirst: true,
    shutDown: ({ host }) => host.drain,
    // The laws run in full over each of the two transports that the proxy joins.
    runs: 1
  })

// The server rejects requests before the handshake. The proxy keeps them until the handshake is complete.
const replacedLaw =
  "[SHS-25] a request before the response to initialize is rejected, and does not affect the handshake"

const laws = lawsOf(joinedTo)

/** One law of each topic, because each starts a process. The laws run in full over stdio with a process. */
const lawsWithProcess = lawsOf((url) =>
  Effect.map(Layer.build(throughProxy(url)), (client) => Context.get(client, Transport.Transport))
).filter(({ name, topic }, index, all) =>
  name !== replacedLaw &&
  all.findIndex((law) => law.topic === topic && law.name !== replacedLaw) === index
)

describe("a client in memory, with a proxy to Streamable HTTP", () => {
  for (const { name, run } of laws) {
    if (name !== replacedLaw) it.live(name, () => run, 20_000)
  }

  it("replaces one law", () => {
    assert.strictEqual(laws.filter(({ name }) => name === replacedLaw).length, 1)
  })
})

describe("stdio, with a proxy to Streamable HTTP as a process", () => {
  for (const { name, run } of lawsWithProcess) it.live(name, () => run, 20_000)
})

const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(`${tmpdir()}/proxy-`)),
  (path) => Effect.sync(() => fs.rmSync(path, { recursive: true }))
)

/** Listens until the scope closes. Returns the URL. */
const listen = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(listener)
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      return { server, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/mcp` }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
      })
  )

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = ""
  for await (const chunk of request) body += chunk
  return body
}

/** Serves Streamable HTTP with a function that answers each request: with a message, or with a status. */
const scriptedServer = (respond: (message: Record<string, unknown>) => object | number) =>
  Effect.gen(function*() {
    const received: Array<unknown> = []
    const { url } = yield* listen(async (request, response) => {
      const body = await bodyOf(request)
      if (request.method !== "POST") return void response.writeHead(405).end()
      const message = JSON.parse(body)
      received.push(message)
      const reply = "id" in message && "method" in message ? respond(message) : 202
      if (typeof reply === "number") return void response.writeHead(reply).end()
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply))
    })
    return { received, url }
  })

/** Encodes a message as an SSE event. */
const event = (message: object): string => `data: ${JSON.stringify(message)}\n\n`

/** Serves HTTP+SSE with a function that gets each message and the SSE stream. */
const scriptedSseServer = (onMessage: (message: Record<string, unknown>, stream: ServerResponse) => void) =>
  Effect.suspend(() => {
    let stream: ServerResponse | undefined
    return listen(async (request, response) => {
      const body = await bodyOf(request)
      if (request.method === "GET") {
        stream = response.writeHead(200, { "content-type": "text/event-stream" })
        stream.write("event: endpoint\ndata: /in\n\n")
      } else if (request.url === "/in" && stream !== undefined) {
        response.writeHead(202).end()
        onMessage(JSON.parse(body), stream)
      } else response.writeHead(405).end()
    })
  })

/** Starts the proxy, and sends and receives single lines. */
const start = (url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [program, url], { stdio: ["pipe", "pipe", "pipe"] })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const exited = once(child, "exit")
      return {
        send: (line: unknown) => void child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`),
        next: Effect.promise(async () => JSON.parse((await lines.next()).value ?? "null")),
        end: Effect.promise(async () => {
          child.stdin.end()
          const [code] = await exited
          return code
        }),
        child
      }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

const initialize = {
  jsonrpc: "2.0",
  id: "first",
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: { experimental: { "example.com/odd": { deep: [1, null] } } },
    clientInfo: { name: "me", version: "1", "example.com/member": true },
    "example.com/param": { kept: "yes" }
  },
  "example.com/envelope": [1, 2, 3]
}

const initializeResult = {
  protocolVersion: "2025-11-25",
  capabilities: { "example.com/capability": {} },
  serverInfo: { name: "scripted", version: "1", "example.com/member": 1 },
  "example.com/result": null
}

describe("the proxy", () => {
  it.live("forwards unknown methods and members unchanged in both directions", () =>
    Effect.gen(function*() {
      const server = yield* scriptedServer(({ id, method }) =>
        method === "initialize"
          ? { jsonrpc: "2.0", id, result: initializeResult, "example.com/envelope": "kept" }
          : { jsonrpc: "2.0", id, error: { code: 4711, message: "odd", data: { a: 1 }, "example.com/error": 2 } }
      )
      const proxy = yield* start(server.url)
      proxy.send(initialize)
      assert.deepStrictEqual(yield* proxy.next, {
        jsonrpc: "2.0",
        id: "first",
        result: initializeResult,
        "example.com/envelope": "kept"
      })
      const odd = { jsonrpc: "2.0", id: 0, method: "example.com/odd", params: { _meta: { x: 1 }, y: [] }, more: {} }
      proxy.send(odd)
      assert.deepStrictEqual(yield* proxy.next, {
        jsonrpc: "2.0",
        id: 0,
        error: { code: 4711, message: "odd", data: { a: 1 }, "example.com/error": 2 }
      })
      assert.deepStrictEqual(server.received, [initialize, odd])
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  it.live("answers with an error if the server is unreachable or returns 503, and answers malformed lines", () =>
    Effect.gen(function*() {
      const unreachable = yield* start("http://127.0.0.1:9/mcp")
      unreachable.send(initialize)
      const { error, id } = yield* unreachable.next
      assert.deepStrictEqual([id, error.code], ["first", -32603])
      assert.include(error.message, "could not connect to http://127.0.0.1:9/mcp")

      const server = yield* scriptedServer(({ id, method }) =>
        method === "initialize" ? { jsonrpc: "2.0", id, result: initializeResult } : 503
      )
      const proxy = yield* start(server.url)
      proxy.send(initialize)
      yield* proxy.next
      proxy.send({ jsonrpc: "2.0", id: 7, method: "tools/list" })
      const failed = yield* proxy.next
      assert.deepStrictEqual([failed.id, failed.error.code], [7, -32603])
      assert.include(failed.error.message, "503")
      proxy.send("{\"jsonrpc\":")
      assert.deepStrictEqual(yield* proxy.next, {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32700, message: "Parse error" }
      })
      proxy.send({ jsonrpc: "1.0", id: 8, method: "ping" })
      assert.deepStrictEqual((yield* proxy.next).error.code, -32600)
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  it.live("[INIT-10] keeps messages after initialize until the response has brought the session id", () =>
    Effect.gen(function*() {
      const { url } = yield* lawServer
      const proxy = yield* start(url)
      for (
        const line of [
          initialize,
          { jsonrpc: "2.0", method: "notifications/initialized" },
          { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { value: 42 } } }
        ]
      ) proxy.send(line)
      const code = yield* Effect.forkChild(proxy.end, { startImmediately: true })
      assert.strictEqual((yield* proxy.next).id, "first")
      assert.deepStrictEqual((yield* proxy.next).result.structuredContent, { value: 42 })
      assert.strictEqual(yield* Fiber.join(code), 0)
    }).pipe(Effect.scoped))

  it.live("at the end of its input, answers the requests in flight and ends its session at the server", () =>
    Effect.gen(function*() {
      const { host, url } = yield* lawServer
      const proxy = yield* start(url)
      proxy.send(initialize)
      yield* proxy.next
      assert.strictEqual((yield* host.sessions).length, 1)
      proxy.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { value: 42 } } })
      const code = yield* Effect.forkChild(proxy.end, { startImmediately: true })
      assert.deepStrictEqual((yield* proxy.next).result.structuredContent, { value: 42 })
      assert.strictEqual(yield* Fiber.join(code), 0)
      assert.deepStrictEqual(yield* host.sessions, [])
    }).pipe(Effect.scoped))

  it.live("forwards 5,000 messages of one chunk, and answers a request whose server ends its stream", () =>
    Effect.gen(function*() {
      const count = 5000
      const server = yield* scriptedSseServer(({ id }, stream) => {
        if (id === 3) return void stream.end()
        const notifications = Array.from(
          { length: count },
          (_, n) => event({ jsonrpc: "2.0", method: "example.com/n", params: n })
        )
        stream.write(`${notifications.join("")}${event({ jsonrpc: "2.0", id, result: {} })}`)
      })
      const proxy = yield* start(server.url)
      proxy.send({ jsonrpc: "2.0", id: 1, method: "example.com/all" })
      for (let n = 0; n < count; n++) {
        assert.strictEqual((yield* proxy.next).params, n)
      }
      assert.strictEqual((yield* proxy.next).id, 1)
      proxy.send({ jsonrpc: "2.0", id: 3, method: "example.com/end" })
      const ended = yield* proxy.next
      assert.deepStrictEqual([ended.id, ended.error.code], [3, -32603])
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  it.live("fails if 64 MiB wait for a client or a server that reads nothing", () =>
    Effect.gen(function*() {
      const mebibyte: Transport.Inbound = { frame: Result.succeed({ jsonrpc: "2.0", method: "x" }), bytes: 1024 * 1024 }
      const silent: Transport.Connection = { run: () => Effect.never, send: () => Effect.never }
      const loud: Transport.Connection = {
        ...silent,
        run: (deliver) =>
          Effect.suspend(() => {
            for (let count = 0; count < 100; count++) deliver(mebibyte)
            return Effect.never
          })
      }
      const problemOf = (client: Transport.Connection, server: Transport.Connection) =>
        Effect.map(
          Effect.flip(Effect.scoped(JoinedTransports.join(client, server, () => {}))),
          ({ message }) => message
        )
      assert.include(yield* problemOf(silent, loud), "the client does not read its messages")
      assert.include(yield* problemOf(loud, silent), "the server does not read its messages")
    }))

  it.live("forwards the last messages of a server that then ends its stream", () =>
    Effect.gen(function*() {
      const server = yield* scriptedSseServer(({ id }, stream) =>
        void stream.end(
          `${event({ jsonrpc: "2.0", method: "example.com/last" })}${event({ jsonrpc: "2.0", id, result: {} })}`
        )
      )
      const proxy = yield* start(server.url)
      proxy.send({ jsonrpc: "2.0", id: 1, method: "example.com/all" })
      assert.strictEqual((yield* proxy.next).method, "example.com/last")
      assert.deepStrictEqual(yield* proxy.next, { jsonrpc: "2.0", id: 1, result: {} })
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  for (const transport of ["http", "sse", "ws", "unix"] as const) {
    it.live(`forwards to a server over ${transport}`, () =>
      Effect.gen(function*() {
        const url = yield* Deferred.make<string>()
        const address = transport === "unix" ? `${yield* directory}/calculator.sock` : 0
        yield* Layer.build(
          Layer.fresh(Calculator.layer({ [transport]: address }, (listening) => Deferred.succeed(url, listening)))
        )
        const context = yield* Layer.build(Layer.provide(
          ClientSession.layer({ info: { name: "test", version: "1" } }),
          throughProxy(yield* Deferred.await(url))
        ))
        const session = Context.get(context, ClientSession.ClientSession)
        const steps: Array<number> = []
        const counted = yield* session.callTool("count", { to: 3, delayMs: 1 }, {
          onProgress: ({ progress }) => Effect.sync(() => steps.push(progress))
        })
        assert.deepStrictEqual([counted.content, steps], [[{ type: "text", text: "3" }], [1, 2, 3]])
      }).pipe(Effect.scoped))
  }

  for (const url of ["ftp://127.0.0.1/mcp", "unix:", "unix:/%zz", "nowhere"]) {
    it.live(`exits with 2 for a URL that it does not support: ${url}`, () =>
      Effect.gen(function*() {
        const { child } = yield* start(url)
        const [code] = yield* Effect.promise(() => once(child, "exit"))
        assert.strictEqual(code, 2)
      }).pipe(Effect.scoped))
  }
})

/** The proxy as a child process: stdio in front, a real HTTP server behind. */
import { ClientSession, EventStore, SessionHost, Transport } from "@effect-mcp/session"
import { LawServer, TransportLaws } from "@effect-mcp/testing/laws"
import { Authentication, StdioClient, StreamableHttpServer } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as JoinedTransports from "../src/joinedTransports.ts"
import * as Calculator from "../src/listeningCalculator.ts"

const program = fileURLToPath(new URL("../src/proxy.ts", import.meta.url))

const through = (url: string) =>
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
        SessionHost.layer(LawServer.make(), { ...LawServer.options, limits: { gracefulCloseTimeout: "2 seconds" } })
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

const laws = TransportLaws.laws<Served>({
  serve: Effect.gen(function*() {
    const { host, url } = yield* lawServer
    const client = yield* Layer.build(through(url))
    return { ...Context.get(client, Transport.Transport), host }
  }),
  sessionFirst: true,
  runs: 3
})

describe("stdio, with a proxy to Streamable HTTP", () => {
  for (const { name, run } of laws) {
    // What the server refuses before there is a session, the proxy holds until there is one.
    if (!name.endsWith("what is asked before initialize is answered is refused, and does not disturb it")) {
      it.live(name, () => run, 20_000)
    }
  }
})

const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(`${tmpdir()}/proxy-`)),
  (path) => Effect.sync(() => fs.rmSync(path, { recursive: true }))
)

/** Listens until the scope closes. What comes back is where. */
const listening = (listener: RequestListener) =>
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

/** What a scripted server has heard, and what it answers. */
const scripted = (answer: (message: Record<string, unknown>) => object | number) =>
  Effect.gen(function*() {
    const heard: Array<unknown> = []
    const { url } = yield* listening(async (request, response) => {
      const body = await bodyOf(request)
      if (request.method !== "POST") return void response.writeHead(405).end()
      const message = JSON.parse(body)
      heard.push(message)
      const answered = "id" in message && "method" in message ? answer(message) : 202
      if (typeof answered === "number") return void response.writeHead(answered).end()
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answered))
    })
    return { heard, url }
  })

/** A message on the stream of an older server. */
const event = (message: object): string => `data: ${JSON.stringify(message)}\n\n`

/** A scripted server of HTTP+SSE, and what it does with its stream when it is asked something. */
const olderScripted = (asked: (message: Record<string, unknown>, stream: ServerResponse) => void) =>
  Effect.suspend(() => {
    let stream: ServerResponse | undefined
    return listening(async (request, response) => {
      const body = await bodyOf(request)
      if (request.method === "GET") {
        stream = response.writeHead(200, { "content-type": "text/event-stream" })
        stream.write("event: endpoint\ndata: /in\n\n")
      } else if (request.url === "/in" && stream !== undefined) {
        response.writeHead(202).end()
        asked(JSON.parse(body), stream)
      } else response.writeHead(405).end()
    })
  })

/** The proxy's process, spoken to in bare lines. */
const lines = (url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [program, url], { stdio: ["pipe", "pipe", "pipe"] })
      const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const exited = once(child, "exit")
      return {
        say: (line: unknown) => void child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`),
        next: Effect.promise(async () => JSON.parse((await said.next()).value ?? "null")),
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

const welcome = {
  protocolVersion: "2025-11-25",
  capabilities: { "example.com/capability": {} },
  serverInfo: { name: "scripted", version: "1", "example.com/member": 1 },
  "example.com/result": null
}

describe("the proxy", () => {
  it.live("passes what nobody here knows through untouched, both ways", () =>
    Effect.gen(function*() {
      const server = yield* scripted(({ id, method }) =>
        method === "initialize"
          ? { jsonrpc: "2.0", id, result: welcome, "example.com/envelope": "kept" }
          : { jsonrpc: "2.0", id, error: { code: 4711, message: "odd", data: { a: 1 }, "example.com/error": 2 } }
      )
      const proxy = yield* lines(server.url)
      proxy.say(initialize)
      assert.deepStrictEqual(yield* proxy.next, {
        jsonrpc: "2.0",
        id: "first",
        result: welcome,
        "example.com/envelope": "kept"
      })
      const odd = { jsonrpc: "2.0", id: 0, method: "example.com/odd", params: { _meta: { x: 1 }, y: [] }, more: {} }
      proxy.say(odd)
      assert.deepStrictEqual(yield* proxy.next, {
        jsonrpc: "2.0",
        id: 0,
        error: { code: 4711, message: "odd", data: { a: 1 }, "example.com/error": 2 }
      })
      assert.deepStrictEqual(server.heard, [initialize, odd])
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  it.live("answers what the server will not: nobody there, a refusal, and lines that are none", () =>
    Effect.gen(function*() {
      const nowhere = yield* lines("http://127.0.0.1:9/mcp")
      nowhere.say(initialize)
      const unreachable = yield* nowhere.next
      assert.deepStrictEqual([unreachable.id, unreachable.error.code], ["first", -32603])
      assert.include(unreachable.error.message, "could not connect to http://127.0.0.1:9/mcp")

      const server = yield* scripted(({ id, method }) =>
        method === "initialize" ? { jsonrpc: "2.0", id, result: welcome } : 503
      )
      const proxy = yield* lines(server.url)
      proxy.say(initialize)
      yield* proxy.next
      proxy.say({ jsonrpc: "2.0", id: 7, method: "tools/list" })
      const refused = yield* proxy.next
      assert.deepStrictEqual([refused.id, refused.error.code], [7, -32603])
      assert.include(refused.error.message, "503")
      proxy.say("{\"jsonrpc\":")
      assert.deepStrictEqual(yield* proxy.next, {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32700, message: "Parse error" }
      })
      proxy.say({ jsonrpc: "1.0", id: 8, method: "ping" })
      assert.deepStrictEqual((yield* proxy.next).error.code, -32600)
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  it.live("[INIT-10] holds what is said behind initialize until that is answered, and the session has a name", () =>
    Effect.gen(function*() {
      const { url } = yield* lawServer
      const proxy = yield* lines(url)
      for (
        const line of [
          initialize,
          { jsonrpc: "2.0", method: "notifications/initialized" },
          { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { value: 42 } } }
        ]
      ) proxy.say(line)
      const code = yield* Effect.forkChild(proxy.end, { startImmediately: true })
      assert.strictEqual((yield* proxy.next).id, "first")
      assert.deepStrictEqual((yield* proxy.next).result.structuredContent, { value: 42 })
      assert.strictEqual(yield* Fiber.join(code), 0)
    }).pipe(Effect.scoped))

  it.live("answers what was asked before its input ended, and ends its session at the server", () =>
    Effect.gen(function*() {
      const { host, url } = yield* lawServer
      const proxy = yield* lines(url)
      proxy.say(initialize)
      yield* proxy.next
      assert.strictEqual((yield* host.sessions).length, 1)
      proxy.say({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { value: 42 } } })
      const code = yield* Effect.forkChild(proxy.end, { startImmediately: true })
      assert.deepStrictEqual((yield* proxy.next).result.structuredContent, { value: 42 })
      assert.strictEqual(yield* Fiber.join(code), 0)
      assert.deepStrictEqual(yield* host.sessions, [])
    }).pipe(Effect.scoped))

  it.live("passes on all that a server says at once, and that it says no more", () =>
    Effect.gen(function*() {
      const count = 5000
      const server = yield* olderScripted(({ id }, stream) => {
        if (id === 3) return void stream.end()
        const told = Array.from({ length: count }, (_, n) =>
          event({ jsonrpc: "2.0", method: "example.com/n", params: n }))
        stream.write(`${told.join("")}${event({ jsonrpc: "2.0", id, result: {} })}`)
      })
      const proxy = yield* lines(server.url)
      proxy.say({ jsonrpc: "2.0", id: 1, method: "example.com/all" })
      for (let n = 0; n < count; n++) {
        assert.strictEqual((yield* proxy.next).params, n)
      }
      assert.strictEqual((yield* proxy.next).id, 1)
      proxy.say({ jsonrpc: "2.0", id: 3, method: "example.com/end" })
      const ended = yield* proxy.next
      assert.deepStrictEqual([ended.id, ended.error.code], [3, -32603])
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  it.live("gives up who takes nothing, before what waits for it fills the memory", () =>
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
      const problemOf = (front: Transport.Connection, back: Transport.Connection) =>
        Effect.map(Effect.flip(Effect.scoped(JoinedTransports.join(front, back, () => {}))), ({ message }) => message)
      assert.include(yield* problemOf(silent, loud), "the client takes nothing")
      assert.include(yield* problemOf(loud, silent), "the server takes nothing")
    }))

  it.live("passes on the last that a server says", () =>
    Effect.gen(function*() {
      const server = yield* olderScripted(({ id }, stream) =>
        void stream.end(
          `${event({ jsonrpc: "2.0", method: "example.com/last" })}${event({ jsonrpc: "2.0", id, result: {} })}`
        )
      )
      const proxy = yield* lines(server.url)
      proxy.say({ jsonrpc: "2.0", id: 1, method: "example.com/all" })
      assert.strictEqual((yield* proxy.next).method, "example.com/last")
      assert.deepStrictEqual(yield* proxy.next, { jsonrpc: "2.0", id: 1, result: {} })
      assert.strictEqual(yield* proxy.end, 0)
    }).pipe(Effect.scoped))

  for (const transport of ["http", "sse", "ws", "unix"] as const) {
    it.live(`leads to a server over ${transport}`, () =>
      Effect.gen(function*() {
        const announced = yield* Deferred.make<string>()
        const place = transport === "unix" ? `${yield* directory}/calculator.sock` : 0
        yield* Layer.build(
          Layer.fresh(Calculator.layer({ [transport]: place }, (url) => Deferred.succeed(announced, url)))
        )
        const context = yield* Layer.build(Layer.provide(
          ClientSession.layer({ info: { name: "test", version: "1" } }),
          through(yield* Deferred.await(announced))
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
    it.live(`says which URLs it takes, and does not take ${url}`, () =>
      Effect.gen(function*() {
        const { child } = yield* lines(url)
        const [code] = yield* Effect.promise(() => once(child, "exit"))
        assert.strictEqual(code, 2)
      }).pipe(Effect.scoped))
  }
})

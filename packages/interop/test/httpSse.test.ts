/** HTTP+SSE against foreign software: the official clients, the official server, and `server-everything`. */
import * as Tools from "@effect-mcp/examples/src/tools.ts"
import { Revision, type Tool } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { ClientSession, SessionHost, type Transport } from "@effect-mcp/session"
import { Authentication, HttpFallbackClient, HttpSseClient, HttpSseServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as V2 from "@modelcontextprotocol/client"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { freePort } from "../../../scripts/freePort.ts"
import * as Child from "./fixtures/child.ts"
import { startEverything } from "./fixtures/httpListener.ts"
import { isLateProgress } from "./fixtures/officialClients.ts"
import { plainClients } from "./fixtures/plainClients.ts"
import * as SseServerV1 from "./fixtures/sseServerV1.ts"

const info = { name: "effect-mcp", version: "0.1.0" }

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join()

const transports = { HttpSseClient: HttpSseClient.layerNode, HttpFallbackClient: HttpFallbackClient.layerNode }

const session = (transport: Layer.Layer<Transport.Transport>, revision: Revision.LegacyRevision) =>
  Effect.map(
    Layer.build(Layer.provide(ClientSession.layer({ info, revisions: [revision] }), transport)),
    Context.get(ClientSession.ClientSession)
  )

describe.concurrent("the client over HTTP+SSE", () => {
  for (const [name, layerNode] of Object.entries(transports)) {
    for (const revision of Revision.legacy) {
      it.live(`[SSE-03] ${name} with the official server at ${revision}`, () =>
        Effect.gen(function*() {
          const server = yield* SseServerV1.serve()
          yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* session(layerNode({ url: server.url }), revision)
            assert.strictEqual(client.profile.revision, revision)
            assert.include((yield* client.listTools()).tools.map((tool) => tool.name), "add")
            const sums = yield* Effect.forEach(
              [1, 2, 3],
              (a) => Effect.map(client.callTool("add", { a, b: 1 }), textOf),
              { concurrency: "unbounded" }
            )
            assert.deepStrictEqual(sums, ["2", "3", "4"])
            const steps: Array<number> = []
            yield* client.callTool("count", { to: 3, delayMs: 1 }, {
              onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
            })
            assert.deepStrictEqual(steps, [1, 2, 3])
            yield* client.ping()
            const counting = yield* Effect.forkChild(client.callTool("count", { to: 1, delayMs: 60_000 }))
            yield* Effect.sleep("20 millis")
            yield* Fiber.interrupt(counting)
            yield* client.ping()
            assert.strictEqual(server.sessions(), 1)
          }))
          yield* Child.until(() => server.sessions() === 0)
          assert.strictEqual(server.requests[0], name === "HttpSseClient" ? "GET /sse" : "POST /sse")
        }))
    }
  }

  it.live("the session ends when the official server closes it", () =>
    Effect.gen(function*() {
      const server = yield* SseServerV1.serve()
      const client = yield* session(HttpSseClient.layerNode({ url: server.url }), "2024-11-05")
      yield* server.close
      assert.deepStrictEqual(yield* client.closed, { _tag: "PeerEnded", exit: undefined })
    }))

  it.live("[SSE-07] both transports connect to server-everything", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      const program = yield* startEverything("sse", port)
      for (const layerNode of Object.values(transports)) {
        yield* Effect.scoped(Effect.gen(function*() {
          const client = yield* session(layerNode({ url: `http://127.0.0.1:${port}/sse` }), "2025-11-25")
          assert.strictEqual(client.profile.info.name, "mcp-servers/everything")
          assert.strictEqual(
            textOf(yield* client.callTool("get-sum", { a: 15, b: 27 })),
            "The sum of 15 and 27 is 42."
          )
          const steps: Array<number> = []
          yield* client.callTool("trigger-long-running-operation", { duration: 0.1, steps: 2 }, {
            onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
          })
          assert.deepStrictEqual(steps, [1, 2])
        }))
      }
      yield* Child.until(() => program.stderr().split("Client Disconnected").length === 3)
    }))
})

const clients = plainClients({
  v1: (url) => new SSEClientTransport(url),
  v2: (url) => new V2.SSEClientTransport(url)
})

describe.concurrent("the server over HTTP+SSE", () => {
  for (const { connect, name, revision } of clients) {
    it.live(`[SSE-01] [SSE-02] [SSE-04] serves ${name}`, () =>
      Effect.gen(function*() {
        const context = yield* Layer.build(Layer.fresh(
          HttpSseServer.layerNode({ port: 0 }).pipe(
            Layer.provideMerge(McpServer.layerHost(Tools.layer, Tools.options)),
            Layer.provide(Authentication.anonymous)
          )
        ))
        const { address } = Context.get(context, HttpServer)
        const host = Context.get(context, SessionHost.SessionHost)
        const port = address._tag === "UnixPathAddress" ? 0 : address.port
        yield* Effect.scoped(Effect.gen(function*() {
          const client = yield* Effect.acquireRelease(
            Effect.promise(() => connect(new URL(`http://127.0.0.1:${port}/sse`))),
            (client) => Effect.promise(() => client.close())
          )
          assert.strictEqual(client.revision(), revision)
          yield* Effect.promise(() => client.ping())
          assert.include(yield* Effect.promise(() => client.tools()), "add")
          const progress: Array<number> = []
          assert.deepStrictEqual(
            yield* Effect.promise(() => client.call("count", { to: 3, delayMs: 1 }, progress)),
            [{ type: "text", text: "3" }]
          )
          // These clients lose progress that they read together with the response, and report an error for it.
          assert.deepStrictEqual(progress, [1, 2, 3].slice(0, progress.length))
          assert.strictEqual(client.errors.filter(isLateProgress).length, 3 - progress.length)
          assert.isTrue(client.errors.every(isLateProgress))
          assert.deepStrictEqual((yield* host.sessions).map(({ kind }) => kind), ["http-sse"])
        }))
        yield* Effect.repeat(host.health, { until: ({ sessions }) => sessions === 0 })
      }))
  }
})

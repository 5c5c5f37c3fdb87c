/** The calculator's tools over HTTP without sessions, with the official clients. */
import * as Tools from "@effect-mcp/examples/src/tools.ts"
import { McpServer } from "@effect-mcp/server"
import { Authentication, StatelessHttpServer } from "@effect-mcp/transport/node"
import { assert, describe, layer } from "@effect/vitest"
import * as V2 from "@modelcontextprotocol/client"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { plainClients } from "./fixtures/plainClients.ts"

const clients = plainClients({
  v1: (url) => new StreamableHTTPClientTransport(url),
  v2: (url) => new V2.StreamableHTTPClientTransport(url)
})

const textContent = (text: string) => [{ type: "text", text }]

describe("HTTP without sessions", () => {
  const server = Layer.provide(
    Layer.unwrap(Effect.map(
      McpServer.makeStatelessHandlers(Tools.layer),
      (handlers) => StatelessHttpServer.layerNode(handlers, { info: { name: "calculator", version: "0" }, port: 0 })
    )),
    Authentication.anonymous
  )

  layer(server, { excludeTestServices: true })(
    (it) => {
      for (const { connect, name, revision } of clients) {
        it.effect(`[HTTP-09] [SHS-13] [INIT-04] serves ${name}`, () =>
          Effect.gen(function*() {
            const { address } = yield* HttpServer
            const port = address._tag === "UnixPathAddress" ? 0 : address.port
            const client = yield* Effect.acquireRelease(
              Effect.promise(() => connect(new URL(`http://127.0.0.1:${port}/mcp`))),
              (client) => Effect.promise(() => client.close())
            )
            assert.deepStrictEqual([client.session(), client.revision()], [undefined, revision])
            yield* Effect.promise(() => client.ping())
            assert.include(yield* Effect.promise(() => client.tools()), "add")
            const sums = yield* Effect.forEach(
              [1, 2, 3],
              (a) => Effect.promise(() => client.call("add", { a, b: 1 })),
              { concurrency: "unbounded" }
            )
            assert.deepStrictEqual(sums, [textContent("2"), textContent("3"), textContent("4")])
            const progress: Array<number> = []
            assert.deepStrictEqual(
              yield* Effect.promise(() => client.call("count", { to: 3, delayMs: 1 }, progress)),
              textContent("3")
            )
            assert.deepStrictEqual(progress, [1, 2, 3])
            // The server rejects the standalone stream, and the clients accept that.
            assert.deepStrictEqual(client.errors, [])
          }))
      }

      for (const mode of ["auto", { pin: "2026-07-28" }] as const) {
        it.effect(`serves official v2 at 2026-07-28 (${mode === "auto" ? mode : "pinned"})`, () =>
          Effect.gen(function*() {
            const { address } = yield* HttpServer
            const port = address._tag === "UnixPathAddress" ? 0 : address.port
            const client = new V2.Client({ name: "official", version: "1.0.0" }, { versionNegotiation: { mode } })
            const transport = new V2.StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`))
            yield* Effect.acquireRelease(
              Effect.promise(() => client.connect(transport)),
              () => Effect.promise(() => client.close())
            )
            assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
            assert.deepInclude(client.getServerVersion(), { name: "calculator", version: "0" })
            const { tools } = yield* Effect.promise(() => client.listTools())
            assert.include(tools.map(({ name }) => name), "add")
            const added = yield* Effect.promise(() => client.callTool({ name: "add", arguments: { a: 1, b: 2 } }))
            assert.deepStrictEqual<unknown>(added.content, textContent("3"))
            const progress: Array<number> = []
            const counted = yield* Effect.promise(() =>
              client.callTool({ name: "count", arguments: { to: 3, delayMs: 1 } }, {
                onprogress: (step) => void progress.push(step.progress)
              })
            )
            assert.deepStrictEqual<unknown>([counted.content, progress], [textContent("3"), [1, 2, 3]])
            const unknown = yield* Effect.flip(Effect.tryPromise(() => client.callTool({ name: "none" })))
            assert.include(String(unknown.cause), "Unknown tool: none")
          }))
      }
    }
  )
})

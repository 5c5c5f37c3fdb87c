/** Targets of the root, whose clients a page or a worker has as well. */
import { McpClients, McpTarget } from "@effect-mcp/client"
import { SessionHost } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import { StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"

const host = SessionHost.layer({
  "tools/list": () => Effect.succeed({ tools: [{ name: "greet", inputSchema: { type: "object" } }] }),
  "tools/call": ({ name }) => Effect.succeed({ content: [{ type: "text", text: name }] })
}, { info: { name: "greeter", version: "1.0.0" } })

const listeners = {
  http: StreamableHttpServer.layerNode({ port: 0 }),
  ws: WebSocketServer.layerNode({ port: 0 })
}

const problemOf = (url: string, options?: McpTarget.UrlOptions): string => {
  try {
    return McpTarget.url(url, options).description
  } catch (error) {
    return error instanceof McpTarget.InvalidUrlError ? error.problem : assert.fail(`a defect: ${String(error)}`)
  }
}

describe("a target of the root", () => {
  for (const scheme of ["http", "ws"] as const) {
    it.live(`of ${scheme}: calls a server over what every platform has`, () =>
      Effect.gen(function*() {
        const listener = listeners[scheme].pipe(Layer.provide(host), Layer.provide(Authentication.anonymous))
        const { address } = Context.get(yield* Layer.build(listener), HttpServer)
        assert(address._tag !== "UnixPathAddress")
        const greeter = McpTarget.url(`${scheme}://127.0.0.1:${address.port}/mcp`)
        const clients = yield* Layer.build(McpClients.layer({ greeter }, { info: { name: "test", version: "1.0.0" } }))
        const { content } = yield* Context.get(clients, McpClients.McpClients).client("greeter").callTool("greet")
        assert.deepStrictEqual(content, [{ type: "text", text: "greet" }])
      }))
  }

  it("states what needs Node", () => {
    assert.strictEqual(
      problemOf("unix:///run/notes.sock"),
      "a Unix socket needs Node; import McpTarget from @effect-mcp/client/node"
    )
    assert.strictEqual(
      problemOf("wss://example.com", { headers: { authorization: "Bearer ada" } }),
      "the WebSocket of this platform has no headers; remove the option headers, or import McpTarget from " +
        "@effect-mcp/client/node"
    )
    assert.strictEqual(problemOf("https://example.com/mcp", { headers: { a: "b" } }), "https://example.com/mcp")
  })
})

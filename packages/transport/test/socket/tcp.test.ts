/** A server and a client over TCP, both on listeners and sockets of their own. */
import { Content, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { ClientSession, SessionHost } from "@effect-mcp/session"
import { SocketClient, SocketServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { connect as connectTo } from "node:net"
import { freePort } from "../support/loopback.ts"

const info = { name: "test", version: "1.0.0" }

const host = SessionHost.layer({
  "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(name)] })
}, { info })

const connect = (port: number) =>
  Layer.build(
    Layer.provide(ClientSession.layer({ info }), SocketClient.layerTcp({ port }))
  ).pipe(Effect.map((context) => Context.get(context, ClientSession.ClientSession)))

describe("sockets over TCP", () => {
  it.live("[TRN-04] several sessions call tools over one client, and end with the server", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      yield* Effect.scoped(Effect.gen(function*() {
        yield* Layer.build(Layer.provide(SocketServer.layerTcp({ port }), host))
        const one = yield* connect(port)
        const other = yield* connect(port)
        assert.deepStrictEqual((yield* one.callTool("a")).content, [Content.text("a")])
        assert.deepStrictEqual((yield* other.callTool("b")).content, [Content.text("b")])
      }))
      const error = yield* Effect.flip(Effect.scoped(connect(port)))
      assert.include(error.message, `127.0.0.1:${port}`)
    }))

  it.live("a port in use fails as ListenError, which names the address", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      const server = Layer.provide(SocketServer.layerTcp({ port }), host)
      yield* Layer.build(server)
      const error = yield* Effect.flip(Layer.build(Layer.fresh(server)))
      assert.instanceOf(error, SocketServer.ListenError)
      assert.include(error.message, `could not listen at 127.0.0.1:${port}: `)
      assert.include(error.message, "EADDRINUSE")
    }))

  it.live("a host that is no IP address fails as ListenError", () =>
    Effect.gen(function*() {
      const server = Layer.provide(SocketServer.layerTcp({ port: 0, host: "no address" }), host)
      assert.instanceOf(yield* Effect.flip(Layer.build(server)), SocketServer.ListenError)
    }))

  it.live("a request of HTTP, as pages in browsers send it, is closed, and no line of its body is served", () =>
    Effect.gen(function*() {
      const port = yield* freePort
      const called: Array<string> = []
      const observed = SessionHost.layer({
        "tools/call": ({ name }) => Effect.sync(() => (called.push(name), { content: [Content.text(name)] }))
      }, { info })
      yield* Layer.build(Layer.provide(SocketServer.layerTcp({ port }), observed))
      const line = JSON.stringify(JsonRpc.request(1, "tools/call", {
        name: "a",
        _meta: {
          [RequestMetadata.keys.protocolVersion]: "2026-07-28",
          [RequestMetadata.keys.clientInfo]: info,
          [RequestMetadata.keys.clientCapabilities]: {}
        }
      }))
      const exchange = (text: string) =>
        Effect.promise(async () => {
          const socket = connectTo(port, "127.0.0.1").setEncoding("utf8")
          socket.write(text)
          let received = ""
          for await (const chunk of socket) {
            received += chunk
            if (received.includes("\"result\"")) break
          }
          return received
        })
      const head = ["POST / HTTP/1.1", "Host: 127.0.0.1", "Origin: https://example.com", "Content-Type: text/plain"]
      assert.strictEqual(yield* exchange(`${[...head, "", line].join("\r\n")}\n`), "")
      assert.deepStrictEqual(called, [])
      assert.include(yield* exchange(`${line}\n`), "\"result\"")
      assert.deepStrictEqual(called, ["a"])
    }))
})

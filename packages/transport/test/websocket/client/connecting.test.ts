import { Transport, type TransportError } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { AuthenticationChallenge, ClientAuthorization, WebSocketClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Socket from "effect/socket/Socket"
import { execFileSync } from "node:child_process"
import { inspect } from "node:util"
import { turns } from "../../support/eventLoop.ts"
import { forkNow, until } from "../../support/httpClientConnection.ts"
import { openSockets } from "../../support/openSockets.ts"
import { fixture } from "../../support/process.ts"
import { tools } from "../../support/server.ts"
import { clients, open, read } from "../../support/webSocketClient.ts"
import * as Frames from "../../support/webSocketFrames.ts"
import { listen, ping, type UpgradeDecision } from "../../support/webSocketPeer.ts"
import { serve } from "../../support/webSocketServer.ts"

const node = WebSocketClient.layerNode

const rejectionOf = <A, R>(opening: Effect.Effect<A, TransportError.TransportError, R>) =>
  Effect.map(Effect.flip(opening), ({ reason }) => reason)

/** Waits for one turn of the event loop. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const causeOf = (reason: { readonly _tag: string; readonly cause?: unknown }): string =>
  reason.cause instanceof Error ? reason.cause.message : String(reason.cause)

it("the modules of WebSockets are loaded on first use, so that a program over stdio starts without them", () => {
  const webSocketModules = /\/effect\/(src|dist)\/socket\/|undici|NodeHttp|NodeWS|NodeSocket|\/ws\//
  for (
    const [name, others] of [
      ["WebSocketClient", /\/effect\/(src|dist)\/http\//],
      ["StdioServer", webSocketModules]
    ] as const
  ) {
    const module = new URL(`../../../src/node/${name}.ts`, import.meta.url).href
    const loaded: ReadonlyArray<string> = JSON.parse(
      execFileSync(process.execPath, [fixture("loadedModules.mjs"), module], { encoding: "utf8" })
    )
    assert.include(loaded, module)
    assert.deepStrictEqual(
      loaded.filter((url) => webSocketModules.test(url) || others.test(url)),
      []
    )
  }
})

for (const [name, layer] of Object.entries(clients)) {
  describe(`a client ${name}`, () => {
    it.live("sends a GET to the server's path, and offers only the subprotocol mcp", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        yield* open(layer, { url: `${server.url}?tenant=a` })
        const [peer] = server.peers
        assert.match(peer?.head ?? "", /^GET \/mcp\?tenant=a HTTP\/1\.1\r\n/)
        assert.strictEqual(peer?.header("sec-websocket-protocol"), "mcp")
        assert.strictEqual(peer?.header("sec-websocket-version"), "13")
      }))

    it.live("rejects a URL with credentials, and names headers as the place for them", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const reason = yield* rejectionOf(open(layer, { url: server.url.replace("//", "//ada:secret@") }))
        assert.deepStrictEqual([reason._tag, causeOf(reason).includes("headers")], ["ConnectFailed", true])
        assert.notInclude(inspect(reason, { depth: 5 }), "secret")
        assert.strictEqual(server.peers.length, 0)
      }))

    it.live("accepts a URL with the scheme http", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        yield* open(layer, { url: new URL(server.url.replace("ws:", "http:")) })
        assert.strictEqual(server.peers.length, 1)
      }))

    it.live("opens a connection for each session", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const one = yield* open(layer, { url: server.url })
        yield* open(layer, { url: server.url })
        yield* one.close
        assert.strictEqual(server.peers.length, 2)
        assert.isUndefined(server.peers[1]?.closeFrame)
      }))

    const failures: ReadonlyArray<
      readonly [name: string, server: ((decision: UpgradeDecision) => void) | string, problem: RegExp]
    > = [
      ["if no server listens", "ws://127.0.0.1:1/secret-free?token=secret", /^(?!.*secret=).*$/s],
      ["if the URL is invalid", "no url", /Invalid URL/],
      ["if the scheme of the URL is not supported", "ftp://127.0.0.1/", /ws:/],
      [
        "if the server selects no subprotocol",
        ({ accept }) => accept({ "Sec-WebSocket-Protocol": undefined }),
        /no subprotocol|reports no reason/
      ],
      [
        "if the server selects another subprotocol",
        ({ accept }) => accept({ "Sec-WebSocket-Protocol": "chat" }),
        /subprotocol|reports no reason/
      ],
      [
        "if the server answers another key",
        ({ accept }) => accept({ "Sec-WebSocket-Accept": "AAAA" }),
        /Sec-WebSocket-Accept|reports no reason/
      ],
      [
        "if the server upgrades to another protocol",
        ({ accept }) => accept({ Upgrade: "h2c" }),
        /Upgrade|reports no reason/
      ],
      ["if the server does not answer", () => {}, /did not answer within connectTimeout/]
    ]
    for (const [name, server, problem] of failures) {
      it.live(`fails to connect ${name}`, () =>
        Effect.gen(function*() {
          const url = typeof server === "string" ? server : (yield* listen(server)).url
          const reason = yield* rejectionOf(
            open(layer, { url, connectTimeout: name.endsWith("does not answer") ? "300 millis" : "Infinity" })
          )
          assert.strictEqual(reason._tag, "ConnectFailed")
          if (reason._tag !== "ConnectFailed") return
          assert.match(causeOf(reason), problem)
          if (server !== "no url") assert.strictEqual(reason.target, url.replace(/\?.*$/, ""))
        }))
    }

    it.live("shows no secrets of an invalid URL", () =>
      Effect.gen(function*() {
        const url = "wss://user:secret@example.com:port/mcp?token=secret#secret"
        const reason = yield* rejectionOf(open(layer, { url }))
        assert.strictEqual(reason._tag === "ConnectFailed" ? reason.target : "", "wss://example.com:port/mcp")
        assert.notInclude(inspect(reason), "secret")
      }))

    it.live("keeps the messages that arrive before run, also those sent with the upgrade", () =>
      Effect.gen(function*() {
        const early = Buffer.concat(
          [1, 2, 3].map((id) => Frames.encode(Frames.opcodes.text, JSON.stringify(ping(id)), { masked: false }))
        )
        const server = yield* listen(({ accept }) => accept({}, early))
        const opened = yield* open(layer, { url: server.url })
        for (let id = 4; id <= 500; id++) server.peers[0]?.send({ ...ping(id), params: { padding: "x".repeat(1000) } })
        yield* Effect.sleep("50 millis")
        const { frames } = yield* read(opened)
        yield* until(() => frames().length === 500)
        assert.deepStrictEqual(frames().slice(0, 3), [ping(1), ping(2), ping(3)])
      }))

    it.live("[law 2] leaves no connection if it is interrupted before it is open", () =>
      Effect.gen(function*() {
        const server = yield* listen(() => {})
        const opening = yield* forkNow(Effect.scoped(open(layer, { url: server.url })))
        yield* until(() => server.peers[0]?.head !== undefined && server.peers[0].head !== "")
        yield* Fiber.interrupt(opening)
        yield* until(() => server.peers[0]?.ended === true || server.peers[0]?.isClosed === true)
      }))

    it.live("[law 2] leaves no fiber and no socket, whenever it is interrupted", () =>
      Effect.gen(function*() {
        const server = yield* serve(tools({}))
        const url = `ws://127.0.0.1:${server.port}/mcp`
        // The first connection loads modules, which would take all the steps.
        yield* Effect.scoped(open(layer, { url }))
        const opened = yield* openSockets
        const fibers = FiberCount.make()
        yield* fibers.count(Effect.gen(function*() {
          for (let steps = 0; steps < 60; steps++) {
            const fiber = yield* forkNow(
              Effect.scoped(Effect.andThen(open(layer, { url }), Effect.never))
            )
            for (let step = 0; step < steps; step++) yield* turn
            yield* Fiber.interrupt(fiber)
          }
        }))
        assert.strictEqual(fibers.living(), 0)
        yield* until(() => opened.clients() + opened.accepted() === 0)
      }))
  })
}

type Rejection = Extract<TransportError.TransportErrorReason, { readonly _tag: "Rejected" }>

it.live("a client over any WebSocket fails to connect if the WebSocket has no subprotocol", () =>
  Effect.gen(function*() {
    const server = yield* listen(({ accept }) => accept({ "Sec-WebSocket-Protocol": undefined }))
    const layer = Layer.provide(
      WebSocketClient.layer({ url: server.url }),
      Layer.succeed(Socket.WebSocketConstructor, (url) => new globalThis.WebSocket(url))
    )
    const reason = yield* rejectionOf(Effect.scoped(open(() => layer, { url: server.url })))
    assert.strictEqual(reason._tag, "ConnectFailed")
    if (reason._tag === "ConnectFailed") {
      assert.strictEqual(causeOf(reason), "the server did not select the subprotocol mcp")
    }
    yield* until(() => server.peers[0]?.closeFrame !== undefined)
  }))

const challenge = "Bearer resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\""

describe("a client on Node", () => {
  it.live("sends headers, and evaluates an effect of headers for each connection", () =>
    Effect.gen(function*() {
      let count = 0
      const server = yield* listen()
      const layer = node({
        url: server.url,
        closeTimeout: "50 millis",
        headers: Effect.sync(() => ({ "X-Count": String(++count) }))
      })
      yield* open(() => layer, { url: server.url })
      yield* open(() => layer, { url: server.url })
      yield* open(node, { url: server.url, headers: { Authorization: Redacted.make("Bearer secret") } })
      assert.deepStrictEqual(
        server.peers.map((peer) => peer.header("x-count") ?? peer.header("authorization")),
        ["1", "2", "Bearer secret"]
      )
    }))

  it.live("[AUT-51] is authorized after a 401, and connects again with the new headers", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      const server = yield* listen(({ accept, reject }, peer) => {
        if (peer.header("authorization") === "Bearer good") accept()
        else reject(401, { "WWW-Authenticate": challenge }, "Unauthorized")
      })
      const layer = node({
        url: server.url,
        closeTimeout: "50 millis",
        authorization: ClientAuthorization.fromChallenge((challenges) =>
          Effect.sync(() => {
            received.push(challenges)
            return { Authorization: Redacted.make("Bearer good") }
          })
        )
      })
      const opened = yield* open(() => layer, { url: server.url })
      assert.deepStrictEqual(received, [AuthenticationChallenge.parse(challenge)])
      assert.strictEqual(server.peers.length, 2)
      yield* opened.close
    }))

  it.live("is authorized once for connections that are rejected at the same time", () =>
    Effect.gen(function*() {
      let authorizations = 0
      let rejected = 0
      const server = yield* listen(({ accept, reject }, peer) => {
        if (peer.header("authorization") === "Bearer good") return accept()
        rejected++
        reject(401, { "WWW-Authenticate": challenge })
      })
      const transport = yield* Layer.build(node({
        url: server.url,
        closeTimeout: "50 millis",
        // All connections have received their 401 before the function returns.
        authorization: ClientAuthorization.fromChallenge(() =>
          until(() => rejected === 3).pipe(
            Effect.andThen(turns(10)),
            Effect.andThen(Effect.sync(() => {
              authorizations++
              return { Authorization: "Bearer good" }
            }))
          )
        )
      }))
      const { connect } = Context.get(transport, Transport.Transport)
      yield* Effect.all([connect, connect, connect], { concurrency: "unbounded" })
      assert.strictEqual(authorizations, 1)
      assert.strictEqual(server.peers.length, 6)
    }))

  for (
    const [name, answer] of [
      ["without an authorization", undefined],
      ["if the authorization gives no headers", () => Effect.undefined],
      ["if the headers of the authorization are rejected", () => Effect.succeed({ authorization: "Bearer bad" })]
    ] as const
  ) {
    it.live(`fails with Unauthenticated after a 401 ${name}`, () =>
      Effect.gen(function*() {
        const server = yield* listen(({ reject }) => reject(401, { "WWW-Authenticate": challenge }, "Unauthorized"))
        const authorization = answer === undefined ? undefined : ClientAuthorization.fromChallenge(answer)
        const reason = yield* rejectionOf(open(node, { url: server.url, authorization }))
        assert.deepStrictEqual(reason, { _tag: "Unauthenticated", challenge, target: server.url })
        yield* until(() => server.peers.every(({ ended, isClosed }) => ended || isClosed))
      }))
  }

  it.live("fails with Rejected and the server's reason after any other status", () =>
    Effect.gen(function*() {
      const failure = { jsonrpc: "2.0", error: { code: -32003, message: "there is no room" } }
      type Expected = Omit<Rejection, "_tag" | "target">
      const rejections: ReadonlyArray<readonly [Parameters<UpgradeDecision["reject"]>, Expected]> = [
        [[403, {}, "Not here"], { status: 403, problem: "Not here", retryAfterMillis: undefined }],
        [[503, { "Retry-After": "5" }, JSON.stringify(failure)], {
          status: 503,
          problem: "there is no room",
          retryAfterMillis: 5000
        }],
        [[404], { status: 404, problem: "no reason given", retryAfterMillis: undefined }],
        [[200, {}, "<html>"], { status: 200, problem: "<html>", retryAfterMillis: undefined }],
        [[302, { Location: "ws://ada:secret@127.0.0.1:1/?key=secret" }], {
          status: 302,
          problem: "redirects are not followed: ws://127.0.0.1:1/",
          retryAfterMillis: undefined
        }]
      ]
      for (const [rejection, expected] of rejections) {
        const server = yield* listen(({ reject }) => reject(...rejection))
        const reason = yield* rejectionOf(open(node, { url: server.url }))
        assert.deepStrictEqual(reason, { _tag: "Rejected", ...expected, target: server.url })
        yield* until(() => server.peers.every(({ ended, isClosed }) => ended || isClosed))
      }
    }))

  it.live("does not wait for the end of an endless error response", () =>
    Effect.gen(function*() {
      const server = yield* listen((_, peer) => {
        peer.write("HTTP/1.1 500 Error\r\nContent-Length: 100000000\r\n\r\n")
        peer.write("x".repeat(100_000))
      })
      const reason = yield* rejectionOf(open(node, { url: server.url }))
      assert.strictEqual(reason._tag, "Rejected")
      yield* until(() => server.peers.every(({ ended, isClosed }) => ended || isClosed))
    }))
})

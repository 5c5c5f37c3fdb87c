import { Transport, type TransportError } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { WebSocketClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Socket from "effect/socket/Socket"
import { execFileSync } from "node:child_process"
import { inspect } from "node:util"
import { beside, until } from "../../fixtures/httpConnection.ts"
import { fixture } from "../../fixtures/process.ts"
import { openings } from "../../support/openings.ts"
import { tools } from "../../support/server.ts"
import { turns } from "../../support/still.ts"
import { clients, open, read } from "../../support/webSocketClient.ts"
import * as Frames from "../../support/webSocketFrames.ts"
import { listen, ping, type Reception } from "../../support/webSocketPeer.ts"
import { serve } from "../../support/webSocketServer.ts"

const node = WebSocketClient.layerNode

const refusalOf = <A, R>(opening: Effect.Effect<A, TransportError.TransportError, R>) =>
  Effect.map(Effect.flip(opening), ({ reason }) => reason)

/** Lets the event loop go round once. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const causeOf = (reason: { readonly _tag: string; readonly cause?: unknown }): string =>
  reason.cause instanceof Error ? reason.cause.message : String(reason.cause)

it("what speaks WebSocket is loaded when it is used, so that a program over stdio does not pay for it", () => {
  const any = /\/effect\/(src|dist)\/socket\/|undici|NodeHttp|NodeWS|NodeSocket|\/ws\//
  for (const [name, foreign] of [["WebSocketClient", /\/effect\/(src|dist)\/http\//], ["StdioServer", any]] as const) {
    const module = new URL(`../../../src/${name}.ts`, import.meta.url).href
    const loaded: ReadonlyArray<string> = JSON.parse(
      execFileSync(process.execPath, [fixture("loaded.mjs"), module], { encoding: "utf8" })
    )
    assert.include(loaded, module)
    assert.deepStrictEqual(
      loaded.filter((url) => any.test(url) || foreign.test(url)),
      []
    )
  }
})

for (const [name, layer] of Object.entries(clients)) {
  describe(`a client ${name}`, () => {
    it.live("offers mcp and nothing else, by GET on the server's path", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        yield* open(layer, { url: `${server.url}?tenant=a` })
        const [peer] = server.peers
        assert.match(peer?.head ?? "", /^GET \/mcp\?tenant=a HTTP\/1\.1\r\n/)
        assert.strictEqual(peer?.header("sec-websocket-protocol"), "mcp")
        assert.strictEqual(peer?.header("sec-websocket-version"), "13")
      }))

    it.live("goes nowhere with credentials in its URL, which are to be said in a header", () =>
      Effect.gen(function*() {
        const server = yield* listen()
        const reason = yield* refusalOf(open(layer, { url: server.url.replace("//", "//ada:secret@") }))
        assert.deepStrictEqual([reason._tag, causeOf(reason).includes("headers")], ["ConnectFailed", true])
        assert.notInclude(inspect(reason, { depth: 5 }), "secret")
        assert.strictEqual(server.peers.length, 0)
      }))

    it.live("takes an address of HTTP for one of WebSocket", () =>
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
        yield* one.leave
        assert.strictEqual(server.peers.length, 2)
        assert.isUndefined(server.peers[1]?.farewell)
      }))

    const nowhere: ReadonlyArray<
      readonly [name: string, receive: ((reception: Reception) => void) | string, problem: RegExp]
    > = [
      ["where nobody listens", "ws://127.0.0.1:1/secret-free?token=secret", /^(?!.*secret=).*$/s],
      ["where the address is none", "no address", /Invalid URL/],
      ["where the address is no WebSocket's", "ftp://127.0.0.1/", /ws:/],
      [
        "where the server selects no subprotocol",
        ({ accept }) => accept({ "Sec-WebSocket-Protocol": undefined }),
        /no subprotocol|without a reason/
      ],
      [
        "where the server selects another subprotocol",
        ({ accept }) => accept({ "Sec-WebSocket-Protocol": "chat" }),
        /subprotocol|without a reason/
      ],
      [
        "where the server answers another key",
        ({ accept }) => accept({ "Sec-WebSocket-Accept": "AAAA" }),
        /Sec-WebSocket-Accept|without a reason/
      ],
      [
        "where the server upgrades to something else",
        ({ accept }) => accept({ Upgrade: "h2c" }),
        /Upgrade|without a reason/
      ],
      ["where the server does not answer", () => {}, /did not answer within connectTimeout/]
    ]
    for (const [name, where, problem] of nowhere) {
      it.live(`does not connect ${name}`, () =>
        Effect.gen(function*() {
          const url = typeof where === "string" ? where : (yield* listen(where)).url
          const reason = yield* refusalOf(
            open(layer, { url, connectTimeout: name.endsWith("does not answer") ? "300 millis" : "Infinity" })
          )
          assert.strictEqual(reason._tag, "ConnectFailed")
          if (reason._tag !== "ConnectFailed") return
          assert.match(causeOf(reason), problem)
          if (where !== "no address") assert.strictEqual(reason.target, url.replace(/\?.*$/, ""))
        }))
    }

    it.live("does not show secrets of an address that is none", () =>
      Effect.gen(function*() {
        const url = "wss://user:secret@example.com:port/mcp?token=secret#secret"
        const reason = yield* refusalOf(open(layer, { url }))
        assert.strictEqual(reason._tag === "ConnectFailed" ? reason.target : "", "wss://example.com:port/mcp")
        assert.notInclude(inspect(reason), "secret")
      }))

    it.live("keeps what comes before anybody reads, even with the upgrade", () =>
      Effect.gen(function*() {
        const early = Buffer.concat(
          [1, 2, 3].map((id) => Frames.encode(Frames.opcodes.text, JSON.stringify(ping(id)), { masked: false }))
        )
        const server = yield* listen(({ accept }) => accept({}, early))
        const opened = yield* open(layer, { url: server.url })
        for (let id = 4; id <= 500; id++) server.peers[0]?.say({ ...ping(id), params: { padding: "x".repeat(1000) } })
        yield* Effect.sleep("50 millis")
        const { frames } = yield* read(opened)
        yield* until(() => frames().length === 500)
        assert.deepStrictEqual(frames().slice(0, 3), [ping(1), ping(2), ping(3)])
      }))

    it.live("[law 2] leaves nothing when it is given up before it is open", () =>
      Effect.gen(function*() {
        const server = yield* listen(() => {})
        const opening = yield* beside(Effect.scoped(open(layer, { url: server.url })))
        yield* until(() => server.peers[0]?.head !== undefined && server.peers[0].head !== "")
        yield* Fiber.interrupt(opening)
        yield* until(() => server.peers[0]?.ended === true || server.peers[0]?.gone === true)
      }))

    it.live("[law 2] leaves nothing, whenever it is interrupted", () =>
      Effect.gen(function*() {
        const server = yield* serve(tools({}))
        const url = `ws://127.0.0.1:${server.port}/mcp`
        // What is loaded for the first of them would take all the steps.
        yield* Effect.scoped(open(layer, { url }))
        const opened = yield* openings
        const census = FiberCount.make()
        yield* census.count(Effect.gen(function*() {
          for (let steps = 0; steps < 60; steps++) {
            const fiber = yield* beside(
              Effect.scoped(Effect.andThen(open(layer, { url }), Effect.never))
            )
            for (let step = 0; step < steps; step++) yield* turn
            yield* Fiber.interrupt(fiber)
          }
        }))
        assert.strictEqual(census.living(), 0)
        yield* until(() => opened.clients() + opened.accepted() === 0)
      }))
  })
}

type Rejection = Extract<TransportError.TransportErrorReason, { readonly _tag: "Rejected" }>

it.live("does not connect over a WebSocket that has another subprotocol, or none", () =>
  Effect.gen(function*() {
    const server = yield* listen(({ accept }) => accept({ "Sec-WebSocket-Protocol": undefined }))
    const layer = Layer.provide(
      WebSocketClient.layer({ url: server.url }),
      Layer.succeed(Socket.WebSocketConstructor, (url) => new globalThis.WebSocket(url))
    )
    const reason = yield* refusalOf(Effect.scoped(open(() => layer, { url: server.url })))
    assert.strictEqual(reason._tag, "ConnectFailed")
    if (reason._tag === "ConnectFailed") {
      assert.strictEqual(causeOf(reason), "the server did not select the subprotocol mcp")
    }
    yield* until(() => server.peers[0]?.farewell !== undefined)
  }))

const challenge = "Bearer resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\""

describe("a client on Node", () => {
  it.live("sends headers, and may find them out anew for each connection", () =>
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

  it.live("a 401 asks for a proof, with which it tries once more, and opens what follows", () =>
    Effect.gen(function*() {
      const asked: Array<string | undefined> = []
      const server = yield* listen(({ accept, refuse }, peer) => {
        if (peer.header("authorization") === "Bearer good") accept()
        else refuse(401, { "WWW-Authenticate": challenge }, "Who are you?")
      })
      const layer = node({
        url: server.url,
        closeTimeout: "50 millis",
        authorize: (how) =>
          Effect.sync(() => {
            asked.push(how)
            return { Authorization: Redacted.make("Bearer good") }
          })
      })
      const opened = yield* open(() => layer, { url: server.url })
      assert.deepStrictEqual(asked, [challenge])
      assert.strictEqual(server.peers.length, 2)
      yield* opened.leave
    }))

  it.live("asks for one proof where several connections learn at the same time that it is wanted", () =>
    Effect.gen(function*() {
      let asked = 0
      let refused = 0
      const server = yield* listen(({ accept, refuse }, peer) => {
        if (peer.header("authorization") === "Bearer good") return accept()
        refused++
        refuse(401, { "WWW-Authenticate": challenge })
      })
      const transport = yield* Layer.build(node({
        url: server.url,
        closeTimeout: "50 millis",
        // All of them have been refused, and have read that they were, when the proof is there.
        authorize: () =>
          until(() => refused === 3).pipe(
            Effect.andThen(turns(10)),
            Effect.andThen(Effect.sync(() => {
              asked++
              return { Authorization: "Bearer good" }
            }))
          )
      }))
      const { connect } = Context.get(transport, Transport.Transport)
      yield* Effect.all([connect, connect, connect], { concurrency: "unbounded" })
      assert.strictEqual(asked, 1)
      assert.strictEqual(server.peers.length, 6)
    }))

  for (
    const [name, authorize] of [
      ["without anybody to ask for a proof", undefined],
      ["without a proof", () => Effect.undefined],
      ["with a proof that is none", () => Effect.succeed({ authorization: "Bearer bad" })]
    ] as const
  ) {
    it.live(`a 401 is Unauthenticated ${name}`, () =>
      Effect.gen(function*() {
        const server = yield* listen(({ refuse }) => refuse(401, { "WWW-Authenticate": challenge }, "Who are you?"))
        const reason = yield* refusalOf(open(node, { url: server.url, authorize }))
        assert.deepStrictEqual(reason, { _tag: "Unauthenticated", challenge })
        yield* until(() => server.peers.every(({ ended, gone }) => ended || gone))
      }))
  }

  it.live("a refusal is Rejected, with what the server says about it", () =>
    Effect.gen(function*() {
      const failure = { jsonrpc: "2.0", error: { code: -32003, message: "there is no room" } }
      const rejections: ReadonlyArray<readonly [Parameters<Reception["refuse"]>, Omit<Rejection, "_tag">]> = [
        [[403, {}, "Not here"], { status: 403, problem: "Not here", retryAfterMillis: undefined }],
        [[503, { "Retry-After": "5" }, JSON.stringify(failure)], {
          status: 503,
          problem: "there is no room",
          retryAfterMillis: 5000
        }],
        [[404], { status: 404, problem: "it does not say why", retryAfterMillis: undefined }],
        [[200, {}, "<html>"], { status: 200, problem: "<html>", retryAfterMillis: undefined }],
        [[302, { Location: "ws://127.0.0.1:1/" }], {
          status: 302,
          problem: "redirects are not followed: ws://127.0.0.1:1/",
          retryAfterMillis: undefined
        }]
      ]
      for (const [refusal, expected] of rejections) {
        const server = yield* listen(({ refuse }) => refuse(...refusal))
        const reason = yield* refusalOf(open(node, { url: server.url }))
        assert.deepStrictEqual(reason, { _tag: "Rejected", ...expected })
        yield* until(() => server.peers.every(({ ended, gone }) => ended || gone))
      }
    }))

  it.live("does not wait for a refusal that never ends", () =>
    Effect.gen(function*() {
      const server = yield* listen((_, peer) => {
        peer.write("HTTP/1.1 500 Oh\r\nContent-Length: 100000000\r\n\r\n")
        peer.write("x".repeat(100_000))
      })
      const reason = yield* refusalOf(open(node, { url: server.url }))
      assert.strictEqual(reason._tag, "Rejected")
      yield* until(() => server.peers.every(({ ended, gone }) => ended || gone))
    }))
})

import { RequestContext } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as net from "node:net"
import { until } from "../fixtures/process.ts"
import { text, tools } from "../support/server.ts"
import * as Frames from "../support/webSocketFrames.ts"
import { call, connect, dial, initialize, type Offer } from "../support/webSocketPeer.ts"
import { serve } from "../support/webSocketServer.ts"

const whoami = tools({
  whoami: Effect.map(RequestContext.RequestContext, ({ principal }) => text(JSON.stringify(principal?.id ?? null)))
})

const owners: Readonly<Record<string, string>> = { "adas-secret": "ada", "bobs-secret": "bob" }

const bearer = Effect.map(
  Layer.build(Authentication.layerBearer({
    realm: "notes",
    verify: (token) =>
      Effect.sync(() => {
        const id = owners[Redacted.value(token)]
        return id === undefined ? undefined : { id }
      })
  })),
  Context.get(Authentication.Authentication)
)

const as = (token: string): Offer => ({ headers: { Authorization: `Bearer ${token}` } })

const refusals: ReadonlyArray<readonly [name: string, status: number, problem: RegExp, offer: Offer]> = [
  ["[HTTP-11] [HTTP-12] a page from elsewhere", 403, /Origin/, { headers: { Origin: "https://evil.example" } }],
  ["[HTTP-11] a page that had a name made to point here", 403, /Host/, { headers: { Host: "evil.example" } }],
  ["a POST", 405, /POST/, { method: "POST" }],
  ["a request that does not ask for an upgrade", 426, /WebSocket/, {
    headers: { Connection: undefined, Upgrade: undefined }
  }],
  ["a request that asks for an upgrade to something else", 426, /WebSocket/, { headers: { Upgrade: "h2c" } }],
  ["a request whose upgrade is not asked of this server", 426, /WebSocket/, { headers: { Connection: "close" } }],
  ["an old WebSocket", 426, /Sec-WebSocket-Version/, { headers: { "Sec-WebSocket-Version": "8" } }],
  ["no key", 400, /Sec-WebSocket-Key/, { headers: { "Sec-WebSocket-Key": undefined } }],
  ["a key that is none", 400, /Sec-WebSocket-Key/, { headers: { "Sec-WebSocket-Key": "secret" } }],
  ["no subprotocol", 400, /Sec-WebSocket-Protocol must offer mcp/, {
    headers: { "Sec-WebSocket-Protocol": undefined }
  }],
  ["other subprotocols", 400, /Sec-WebSocket-Protocol must offer mcp/, {
    headers: { "Sec-WebSocket-Protocol": "mcp2, MCP" }
  }]
]

describe.concurrent("before the upgrade", () => {
  for (const [name, status, problem, offer] of refusals) {
    it.live(`${name} is answered with ${status}, and no session is opened`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami)
        const peer = yield* dial(server, offer)
        assert.strictEqual(peer.status, status)
        assert.match(peer.problem, problem)
        if (status === 405) assert.strictEqual(peer.header("allow"), "GET")
        if (status === 426) assert.strictEqual(peer.header("upgrade"), "websocket")
        yield* server.stop
        assert.deepStrictEqual(server.events, [])
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  for (
    const [offered, selected] of [[undefined, undefined], ["other", undefined], ["other, mcp", "mcp"]] as const
  ) {
    it.live(`an optional subprotocol: offered ${offered}, selected ${selected}, and the session is served`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami, { webSocket: { subprotocol: "optional" } })
        const peer = yield* connect(server, { headers: { "Sec-WebSocket-Protocol": offered } })
        assert.strictEqual(peer.header("sec-websocket-protocol"), selected)
        peer.say(call(1, "whoami"))
        yield* until(() => peer.answer(1) !== undefined)
        assert.deepStrictEqual(peer.answer(1)?.result?.["content"], text("null").content)
      }))
  }

  it.live("an old WebSocket is told which version would do", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      const peer = yield* dial(server, { headers: { "Sec-WebSocket-Version": "7" } })
      assert.strictEqual(peer.header("sec-websocket-version"), "13")
    }))

  it.live("[HTTP-14] nobody is let in without a token that is somebody's", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { authentication: yield* bearer })
      for (const offer of [{}, as("somebodys-secret"), { headers: { Authorization: "Basic YWRh" } }]) {
        const peer = yield* dial(server, offer)
        assert.strictEqual(peer.status, 401)
        assert.match(peer.header("www-authenticate") ?? "", /^Bearer realm="notes"/)
      }
      assert.deepStrictEqual(yield* server.host.sessions, [])
    }))

  it.live("[HTTP-14] law 10: each session belongs to whoever opened it", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { authentication: yield* bearer })
      const peers = yield* Effect.forEach(["adas-secret", "bobs-secret"], (token) => connect(server, as(token)))
      for (const [index, peer] of peers.entries()) {
        peer.say(call(1, "whoami"))
        yield* until(() => peer.answer(1) !== undefined)
        assert.deepStrictEqual(peer.answer(1)?.result?.["content"], text(index === 0 ? "\"ada\"" : "\"bob\"").content)
      }
      const sessions = yield* server.host.sessions
      assert.sameDeepMembers(
        sessions.map(({ client, held, kind, principal }) => [kind, principal, client?.name, held]),
        [["websocket", "ada", "peer", 1], ["websocket", "bob", "peer", 1]]
      )
    }))

  it.live("a principal has no more sessions than one may have, and a host no more than there may be", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, {
        authentication: yield* bearer,
        session: { sessions: { max: 2, maxPerPrincipal: 1 } }
      })
      const ada = yield* connect(server, as("adas-secret"))
      const again = yield* dial(server, as("adas-secret"))
      assert.strictEqual(again.status, 429)
      assert.match(again.problem, /no room for another session of this principal/)
      // A session is as long as its connection, and when that ends is not known.
      assert.isUndefined(again.header("retry-after"))
      const bob = yield* connect(server, as("bobs-secret"))
      assert.match((yield* dial(server, as("bobs-secret"))).problem, /no room for another session/)
      // Who leaves makes room.
      ada.leave(1000)
      yield* until(() => ada.gone)
      yield* connect(server, as("adas-secret"))
      assert.isFalse(bob.gone)
    }))

  it.live("a host that is about to go lets nobody in", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      yield* server.host.drain
      const peer = yield* dial(server)
      assert.strictEqual(peer.status, 503)
      assert.match(peer.problem, /shutting down/)
    }))
})

/** A client that is refused an upgrade, and keeps its own side of the connection. */
const stay = Effect.fnUntraced(function*(port: number, path: string) {
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => net.connect({ port, host: "127.0.0.1", allowHalfOpen: true })),
    (opened) => Effect.sync(() => opened.destroy())
  )
  const seen = { said: "", ended: false, gone: false }
  socket.on("data", (chunk) => {
    seen.said += chunk.toString("latin1")
  }).on("end", () => {
    seen.ended = true
  }).on("error", () => {
    seen.gone = true
  })
  const headers = [`Host: 127.0.0.1:${port}`, "Connection: Upgrade", "Upgrade: websocket"]
  socket.write([`GET ${path} HTTP/1.1`, ...headers, "", ""].join("\r\n"))
  yield* until(() => seen.ended)
  return { seen, socket }
})

describe.concurrent("a client that was refused, and stays", () => {
  for (const [path, status] of [["/mcp", 426], ["/elsewhere", 404]] as const) {
    it.live(`[law 2] is let go of (${path})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami, { webSocket: { closeTimeout: "20 millis" } })
        const { seen, socket } = yield* stay(server.port, path)
        assert.strictEqual(Number(seen.said.slice("HTTP/1.1 ".length, "HTTP/1.1 426".length)), status)
        // What is written to a connection that is no more comes back as a reset.
        while (!seen.gone) {
          socket.write("still here")
          yield* Effect.sleep("5 millis")
        }
      }))
  }

  it.live("[law 2] does not keep the server from going, wherever it was refused", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { webSocket: { closeTimeout: "Infinity" } })
      assert.match((yield* stay(server.port, "/mcp")).seen.said, /^HTTP\/1\.1 426 /)
      assert.match((yield* stay(server.port, "/elsewhere")).seen.said, /^HTTP\/1\.1 404 /)
      yield* server.stop
    }))
})

describe.concurrent("a client that leaves before it is known what comes of it", () => {
  it.live("[law 2] has no session, whenever it leaves", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, {
        authentication: { identify: () => Effect.delay(Effect.succeed({ id: "ada" }), "30 millis") }
      })
      for (const millis of [0, 1, 5, 25, 28, 30, 31, 32, 35]) {
        const peer = yield* Effect.scoped(Effect.timeoutOption(dial(server), millis))
        assert.isTrue(peer._tag === "None" || peer.value.status === 101)
      }
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
      yield* server.stop
      assert.deepStrictEqual(server.logs, [])
    }))
})

describe.concurrent("the upgrade", () => {
  for (const offered of ["mcp", "chat, mcp", "mcp,chat", " chat ,  mcp "]) {
    it.live(`selects mcp, and nothing else, of "${offered}"`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami)
        const peer = yield* connect(server, { headers: { "Sec-WebSocket-Protocol": offered } })
        assert.strictEqual(peer.status, 101)
        assert.strictEqual(peer.header("sec-websocket-protocol"), "mcp")
        assert.strictEqual(peer.header("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        assert.deepStrictEqual(peer.answer(0)?.result?.["serverInfo"], { name: "test", version: "1.0.0" })
      }))
  }

  it.live("is written in any case of letters", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      const peer = yield* connect(server, { headers: { Connection: "keep-alive, upgrade", Upgrade: "WebSocket" } })
      assert.strictEqual(peer.status, 101)
    }))

  it.live("loses nothing of what a client says behind it", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      const peer = yield* dial(server, {
        behind: Frames.encode(Frames.opcodes.text, JSON.stringify(initialize("early")))
      })
      yield* peer.said(1)
      assert.isDefined(peer.answer("early")?.result)
    }))

  it.live("pages of this machine may use a server on it, and others that are let in", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { webSocket: { allowedOrigins: ["https://app.example.com"] } })
      for (const Origin of ["http://localhost:5173", "https://app.example.com"]) {
        assert.strictEqual((yield* connect(server, { headers: { Origin } })).status, 101)
      }
    }))
})

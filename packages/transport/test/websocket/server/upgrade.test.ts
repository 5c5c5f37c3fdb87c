import { RequestContext } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as net from "node:net"
import { until } from "../../support/process.ts"
import { text, tools } from "../../support/server.ts"
import * as Frames from "../../support/webSocketFrames.ts"
import { call, connect, dial, initialize, type UpgradeOptions } from "../../support/webSocketPeer.ts"
import { serve } from "../../support/webSocketServer.ts"

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

const withToken = (token: string): UpgradeOptions => ({ headers: { Authorization: `Bearer ${token}` } })

const rejections: ReadonlyArray<
  readonly [name: string, status: number, problem: RegExp, options: UpgradeOptions]
> = [
  ["[HTTP-11] [HTTP-12] a request of a page of another origin", 403, /Origin/, {
    headers: { Origin: "https://evil.example" }
  }],
  ["[HTTP-11] a request with a foreign Host, as after DNS rebinding,", 403, /Host/, {
    headers: { Host: "evil.example" }
  }],
  ["a POST", 405, /POST/, { method: "POST" }],
  ["a request without an upgrade", 426, /WebSocket/, {
    headers: { Connection: undefined, Upgrade: undefined }
  }],
  ["a request for an upgrade to another protocol", 426, /WebSocket/, { headers: { Upgrade: "h2c" } }],
  ["a request without Connection: upgrade", 426, /WebSocket/, { headers: { Connection: "close" } }],
  ["a request of another WebSocket version", 426, /Sec-WebSocket-Version/, {
    headers: { "Sec-WebSocket-Version": "8" }
  }],
  ["a request without a key", 400, /Sec-WebSocket-Key/, { headers: { "Sec-WebSocket-Key": undefined } }],
  ["a request with an invalid key", 400, /Sec-WebSocket-Key/, { headers: { "Sec-WebSocket-Key": "secret" } }],
  ["a request without a subprotocol", 400, /Sec-WebSocket-Protocol must offer mcp/, {
    headers: { "Sec-WebSocket-Protocol": undefined }
  }],
  ["a request with other subprotocols", 400, /Sec-WebSocket-Protocol must offer mcp/, {
    headers: { "Sec-WebSocket-Protocol": "mcp2, MCP" }
  }]
]

describe.concurrent("before the upgrade", () => {
  for (const [name, status, problem, options] of rejections) {
    it.live(`${name} is rejected with ${status}, and no session is opened`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami)
        const peer = yield* dial(server, options)
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
    it.live(`a server with an optional subprotocol selects ${selected} of ${offered}, and serves the session`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami, { webSocket: { subprotocol: "optional" } })
        const peer = yield* connect(server, { headers: { "Sec-WebSocket-Protocol": offered } })
        assert.strictEqual(peer.header("sec-websocket-protocol"), selected)
        peer.send(call(1, "whoami"))
        yield* until(() => peer.responseTo(1) !== undefined)
        assert.deepStrictEqual(peer.responseTo(1)?.result?.["content"], text("null").content)
      }))
  }

  it.live("the rejection of another WebSocket version names the supported version", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      const peer = yield* dial(server, { headers: { "Sec-WebSocket-Version": "7" } })
      assert.strictEqual(peer.header("sec-websocket-version"), "13")
    }))

  it.live("[HTTP-14] a request without a valid token is rejected with 401", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { authentication: yield* bearer })
      for (const options of [{}, withToken("unknown-secret"), { headers: { Authorization: "Basic YWRh" } }]) {
        const peer = yield* dial(server, options)
        assert.strictEqual(peer.status, 401)
        assert.match(peer.header("www-authenticate") ?? "", /^Bearer realm="notes"/)
      }
      assert.deepStrictEqual(yield* server.host.sessions, [])
    }))

  it.live("[HTTP-14] law 10: each session has the principal that opened it", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { authentication: yield* bearer })
      const peers = yield* Effect.forEach(["adas-secret", "bobs-secret"], (token) => connect(server, withToken(token)))
      for (const [index, peer] of peers.entries()) {
        peer.send(call(1, "whoami"))
        yield* until(() => peer.responseTo(1) !== undefined)
        assert.deepStrictEqual(
          peer.responseTo(1)?.result?.["content"],
          text(index === 0 ? "\"ada\"" : "\"bob\"").content
        )
      }
      const sessions = yield* server.host.sessions
      assert.sameDeepMembers(
        sessions.map(({ client, held, kind, principal }) => [kind, principal, client?.name, held]),
        [["websocket", "ada", "peer", 1], ["websocket", "bob", "peer", 1]]
      )
    }))

  it.live("a principal above maxPerPrincipal is rejected with 429, and one above max with a reason", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, {
        authentication: yield* bearer,
        session: { sessions: { max: 2, maxPerPrincipal: 1 } }
      })
      const ada = yield* connect(server, withToken("adas-secret"))
      const again = yield* dial(server, withToken("adas-secret"))
      assert.strictEqual(again.status, 429)
      assert.match(again.problem, /no room for another session of this principal/)
      // A session lasts as long as its connection, so the time of free room is not known.
      assert.strictEqual(again.header("retry-after"), "5")
      const bob = yield* connect(server, withToken("bobs-secret"))
      assert.match((yield* dial(server, withToken("bobs-secret"))).problem, /no room for another session/)
      // A client that disconnects makes room.
      ada.sendClose(1000)
      yield* until(() => ada.isClosed)
      yield* connect(server, withToken("adas-secret"))
      assert.isFalse(bob.isClosed)
    }))

  it.live("a draining host rejects the upgrade with 503", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      yield* server.host.drain
      const peer = yield* dial(server)
      assert.strictEqual(peer.status, 503)
      assert.match(peer.problem, /shutting down/)
    }))
})

/** Sends an upgrade request that is rejected, and keeps this side of the connection open. */
const rejectedAndOpen = Effect.fnUntraced(function*(port: number, path: string) {
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => net.connect({ port, host: "127.0.0.1", allowHalfOpen: true })),
    (opened) => Effect.sync(() => opened.destroy())
  )
  const state = { response: "", ended: false, isReset: false }
  socket.on("data", (chunk) => {
    state.response += chunk.toString("latin1")
  }).on("end", () => {
    state.ended = true
  }).on("error", () => {
    state.isReset = true
  })
  const headers = [`Host: 127.0.0.1:${port}`, "Connection: Upgrade", "Upgrade: websocket"]
  socket.write([`GET ${path} HTTP/1.1`, ...headers, "", ""].join("\r\n"))
  yield* until(() => state.ended)
  return { state, socket }
})

describe.concurrent("a rejected client that keeps its connection open", () => {
  for (const [path, status] of [["/mcp", 426], ["/elsewhere", 404]] as const) {
    it.live(`[law 2] is disconnected after closeTimeout (${path})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami, { webSocket: { closeTimeout: "20 millis" } })
        const { socket, state } = yield* rejectedAndOpen(server.port, path)
        assert.strictEqual(Number(state.response.slice("HTTP/1.1 ".length, "HTTP/1.1 426".length)), status)
        // A write to a closed connection causes a reset.
        while (!state.isReset) {
          socket.write("more")
          yield* Effect.sleep("5 millis")
        }
      }))
  }

  it.live("[law 2] does not delay the shutdown of the server", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { webSocket: { closeTimeout: "Infinity" } })
      assert.match((yield* rejectedAndOpen(server.port, "/mcp")).state.response, /^HTTP\/1\.1 426 /)
      assert.match((yield* rejectedAndOpen(server.port, "/elsewhere")).state.response, /^HTTP\/1\.1 404 /)
      yield* server.stop
    }))
})

describe.concurrent("a client that disconnects before its upgrade is answered", () => {
  it.live("[law 2] leaves no session, whenever it disconnects", () =>
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
    it.live(`selects only mcp of "${offered}"`, () =>
      Effect.gen(function*() {
        const server = yield* serve(whoami)
        const peer = yield* connect(server, { headers: { "Sec-WebSocket-Protocol": offered } })
        assert.strictEqual(peer.status, 101)
        assert.strictEqual(peer.header("sec-websocket-protocol"), "mcp")
        assert.strictEqual(peer.header("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        assert.deepStrictEqual(peer.responseTo(0)?.result?.["serverInfo"], { name: "test", version: "1.0.0" })
      }))
  }

  it.live("ignores the case of its headers", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      const peer = yield* connect(server, { headers: { Connection: "keep-alive, upgrade", Upgrade: "WebSocket" } })
      assert.strictEqual(peer.status, 101)
    }))

  it.live("loses no message that a client sends together with its request", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami)
      const peer = yield* dial(server, {
        trailing: Frames.encode(Frames.opcodes.text, JSON.stringify(initialize("early")))
      })
      yield* peer.awaitMessages(1)
      assert.isDefined(peer.responseTo("early")?.result)
    }))

  it.live("is accepted for pages of this machine, and for those in allowedOrigins", () =>
    Effect.gen(function*() {
      const server = yield* serve(whoami, { webSocket: { allowedOrigins: ["https://app.example.com"] } })
      for (const Origin of ["http://localhost:5173", "https://app.example.com"]) {
        assert.strictEqual((yield* connect(server, { headers: { Origin } })).status, 101)
      }
    }))
})

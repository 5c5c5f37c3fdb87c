/** Defects that lose sessions, keep them forever, or mix them up. */
import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { Content, Revision } from "@effect-mcp/protocol"
import {
  ClientSession,
  type HostLimits,
  RequestContext,
  ServerSession,
  SessionHost,
  SessionStore
} from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { freePort } from "../../../../scripts/freePort.ts"
import * as Child from "../fixtures/child.ts"
import * as HttpListener from "../fixtures/httpListener.ts"
import * as KillableServer from "../fixtures/killableServer.ts"
import * as LocalServer from "../fixtures/localServer.ts"
import { call, OfficialClient } from "../fixtures/officialClient.ts"
import { type Peer, peers } from "../fixtures/officialClients.ts"
import { make } from "../host/conditions.ts"
import { peers as servers } from "../host/peers.ts"
import { callForText } from "../host/results.ts"
import { members } from "../notebook/results.ts"

const latest = Revision.latestLegacy

const http = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** A call returns the name of its tool. The tool `roots` returns the URIs of the client's roots. */
const handlers = ServerSession.handlers({
  "tools/call": ({ name }) =>
    Effect.map(
      name === "roots"
        ? Effect.map(Effect.orDie(RequestContext.listRoots()), ({ roots }) => roots.map(({ uri }) => uri).join())
        : Effect.succeed(name),
      (text) => ({ content: [Content.text(text)] })
    )
})

const hostLayer = (limits: HostLimits.Options = {}) =>
  SessionHost.layer(handlers, {
    info: { name: "example", version: "1.0.0" },
    capabilities: { tools: { listChanged: true } },
    sessions: limits
  })

const success = (text: string) => ({ text, isError: false })

const testsWithClient = (peer: Peer) => {
  it.live("[SHS-26] #1708, #1476, #330, #843: a stored session survives a restart; this client starts no new one", () =>
    Effect.gen(function*() {
      const store = yield* Layer.build(SessionStore.layerMemory())
      const host = Layer.provide(hostLayer(), Layer.succeedContext(store))
      const port = yield* freePort
      const scope = yield* Scope.make()
      const { target } = yield* Scope.provide(LocalServer.listen(host, { port }), scope)
      yield* Effect.gen(function*() {
        const { sessionId } = yield* http
        const id = sessionId()
        assert.deepStrictEqual(yield* call("before", {}), success("before"))
        yield* Scope.close(scope, Exit.void)
        const { host: another } = yield* LocalServer.listen(host, { port })
        assert.deepStrictEqual(yield* call("after", {}), success("after"))
        const [session] = yield* another.sessions
        assert.deepStrictEqual([session?.id, session?.revision, session?.client?.name], [id, latest, "official"])
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))

  it.live("[SHS-26] #1708: without a store a call gets 404 and fails at once", () =>
    Effect.gen(function*() {
      const { host: { find }, target } = yield* LocalServer.listen(hostLayer())
      yield* Effect.gen(function*() {
        const { calls, sessionId } = yield* http
        yield* find(sessionId() ?? "")?.close({ _tag: "Requested" }) ?? Effect.void
        assert.notProperty(yield* call("after", {}), "text")
        assert.strictEqual(calls.findLast(({ method }) => method === "POST")?.status, 404)
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))

  it.live("modelcontextprotocol#2807, Effect B7: the session of a client that disconnects without DELETE expires", () =>
    Effect.gen(function*() {
      const clock = yield* TestClock.make()
      const { host: { sessions }, target } = yield* Effect.provideService(
        LocalServer.listen(hostLayer({ idleTimeout: "10 minutes" })),
        Clock.Clock,
        clock
      )
      yield* Effect.gen(function*() {
        yield* call("hello", {})
        assert.strictEqual((yield* sessions).length, 1)
      }).pipe(Effect.provide(peer.connect(target, latest)))
      const later = Effect.andThen(clock.adjust("10 minutes"), Effect.sleep("5 millis"))
      yield* Effect.repeat(Effect.andThen(later, sessions), { until: ({ length }) => length === 0 })
    }))

  it.live("Effect B7: a full host rejects new sessions until one ends", () =>
    Effect.gen(function*() {
      const { host: { health }, target, url } = yield* LocalServer.listen(hostLayer({ max: 2 }))
      const withClient = <A, E, R>(program: Effect.Effect<A, E, R>) =>
        Effect.provide(program, peer.connect(target, latest))
      yield* withClient(withClient(Effect.gen(function*() {
        assert.deepInclude(yield* health, { accepting: false, sessions: 2 })
        const initialize = {
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: latest, capabilities: {}, clientInfo: { name: "third", version: "1" } }
        }
        assert.strictEqual((yield* LocalServer.post(url, undefined, initialize)).status, 503)
        yield* Effect.flatMap(http, ({ terminate }) => terminate)
        assert.strictEqual((yield* LocalServer.post(url, undefined, initialize)).status, 200)
      })))
    }))

  it.live("[law 10] #961, #1278, #1405: one server serves many clients, and none receives messages of another", () =>
    Effect.gen(function*() {
      const { target } = yield* LocalServer.listen(hostLayer())
      const names = Array.from({ length: 8 }, (_, index) => `file:///${index}`)
      const outcomes = yield* Effect.forEach(names, (uri) =>
        Effect.gen(function*() {
          const client = yield* OfficialClient
          client.handlers.roots = () => Effect.delay(Effect.succeed({ roots: [{ uri }] }), "5 millis")
          return yield* Effect.forEach([1, 2, 3], () => call("roots", {}), { concurrency: "unbounded" })
        }).pipe(Effect.provide(peer.connect(target, latest))), { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes, names.map((uri) => [success(uri), success(uri), success(uri)]))
    }))

  it.live("Effect B8: a client without requests receives list_changed on the standalone stream", () =>
    Effect.gen(function*() {
      const { host: { find }, target } = yield* LocalServer.listen(hostLayer())
      yield* Effect.gen(function*() {
        const { http, notifications } = yield* OfficialClient
        const session = find(http?.sessionId() ?? "")?.session
        assert(session !== undefined)
        yield* session.toolListChanged
        yield* Child.until(() => notifications.some(({ method }) => method === "notifications/tools/list_changed"))
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))

  it.live("[SHS-10] a call whose client does not reconnect is interrupted after detachedRequestTimeout", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const host = SessionHost.layer({
        "tools/call": () =>
          Effect.andThen(
            Deferred.succeed(started, undefined),
            Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
          )
      }, { info: { name: "example", version: "1.0.0" } })
      const { target } = yield* LocalServer.listen(host, { detachedRequestTimeout: "50 millis" })
      yield* Effect.gen(function*() {
        const { close } = yield* OfficialClient
        yield* Effect.forkChild(call("wait", {}))
        yield* Deferred.await(started)
        yield* close
        yield* Deferred.await(interrupted)
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))
}

const rejections = () => {
  it.live("Effect B9: rejections over HTTP are JSON-RPC errors and disclose no internals", () =>
    Effect.gen(function*() {
      const { url } = yield* LocalServer.listen(hostLayer())
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" }
      for (
        const [session, message, status] of [
          [undefined, ping, 400],
          ["unknown", ping, 404],
          [undefined, "{bad", 400],
          [undefined, [], 400],
          [undefined, { ...ping, id: {} }, 400]
        ] as const
      ) {
        const answer = yield* LocalServer.post(url, session, message)
        assert.strictEqual(answer.status, status, answer.text)
        const { error, ...rest } = members(JSON.parse(answer.text))
        assert.hasAllKeys(error, ["code", "message"])
        assert.deepStrictEqual(Object.keys(rest).toSorted().filter((key) => key !== "id"), ["jsonrpc"])
      }
    }))
}

const testsWithServers = () => {
  for (const peer of servers) {
    it.live(`[SHS-27] #1708, #1476: after a restart of ${peer.name} a call starts a new session`, () =>
      Effect.gen(function*() {
        const { pid, port, restart } = yield* KillableServer.atPort(KillableServer.listening(peer.file, "--http"))
        const listener = { layer: Layer.empty, address: () => `http://127.0.0.1:${port}`, pid, stderr: () => "" }
        const server = HttpListener.server(listener, () => `${listener.address()}/stateful`)
        const host = make(latest, server)
        yield* Effect.gen(function*() {
          assert.strictEqual(yield* callForText("echo", { text: "before" }), "before")
          const session = server.calls.at(-1)?.sessionId
          yield* restart
          // The pooled connection may be closed. Only a request notices that.
          const { ping } = yield* ClientSession.ClientSession
          yield* Effect.eventually(ping())
          assert.strictEqual(yield* callForText("echo", { text: "after" }), "after")
          assert.isTrue(host.events.some(({ _tag }) => _tag === "SessionRenewed"))
          assert.notStrictEqual(server.calls.at(-1)?.sessionId, session)
          // The host also reopens the standalone stream.
          yield* Child.until(() =>
            server.calls.some(({ method, sessionId, status }) =>
              method === "GET" && status === 200 && sessionId !== session
            )
          )
          const method = "notifications/tools/list_changed"
          yield* callForText("notify", { method })
          yield* Notifications.next(method)
        }).pipe(Effect.provide(host.layer))
      }))
  }

  it.live("#1708: after a restart server-everything answers 400 instead of 404: a call starts a new session", () =>
    Effect.gen(function*() {
      const { pid, port, restart } = yield* KillableServer.atPort((port) =>
        HttpListener.startEverything("streamableHttp", port)
      )
      const listener = { layer: Layer.empty, address: () => `http://127.0.0.1:${port}`, pid, stderr: () => "" }
      const server = HttpListener.server(listener, () => `${listener.address()}/mcp`)
      const host = make(latest, server)
      yield* Effect.gen(function*() {
        const { ping } = yield* ClientSession.ClientSession
        yield* ping()
        const session = server.calls.at(-1)?.sessionId
        yield* restart
        // The pooled connection may be closed. Only a request notices that.
        yield* Effect.eventually(ping())
        assert.strictEqual(yield* callForText("echo", { message: "hello" }), "Echo: hello")
        assert.isTrue(host.events.some(({ _tag }) => _tag === "SessionRenewed"))
        assert.isTrue(server.calls.some(({ sessionId, status }) => sessionId === session && status === 400))
        assert.notStrictEqual(server.calls.at(-1)?.sessionId, session)
      }).pipe(Effect.provide(host.layer))
    }))
}

export const sessions = () => {
  for (const peer of peers) {
    describe(`sessions that could be lost or kept forever, with ${peer.name}`, () => {
      testsWithClient(peer)
    })
  }

  describe("sessions that could be lost or kept forever, with any client", () => {
    rejections()
  })

  describe("sessions that could be lost, with servers that restart", () => {
    testsWithServers()
  })
}

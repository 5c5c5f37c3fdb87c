/** Sessions that are lost, or never end, or get into each other's way. */
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
import * as Child from "../fixtures/child.ts"
import * as HttpListener from "../fixtures/httpListener.ts"
import { call, OfficialClient } from "../fixtures/officialClient.ts"
import { type Peer, peers } from "../fixtures/officialClients.ts"
import * as OwnServer from "../fixtures/ownServer.ts"
import { make } from "../host/conditions.ts"
import { peers as servers } from "../host/peers.ts"
import { said } from "../host/results.ts"
import { members } from "../notebook/results.ts"

const { latest } = Revision

const http = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** Answers with the name of its tool; `roots` with what the client calls its roots. */
const handlers = ServerSession.handlers({
  "tools/call": ({ name }) =>
    Effect.map(
      name === "roots"
        ? Effect.map(Effect.orDie(RequestContext.listRoots()), ({ roots }) => roots.map(({ uri }) => uri).join())
        : Effect.succeed(name),
      (text) => ({ content: [Content.text(text)] })
    )
})

const hosting = (limits: HostLimits.Options = {}) =>
  SessionHost.layer(handlers, {
    info: { name: "example", version: "1.0.0" },
    capabilities: { tools: { listChanged: true } },
    sessions: limits
  })

const text = (text: string) => ({ text, isError: false })

const underClient = (peer: Peer) => {
  it.live("[SHS-26] #1708, #1476, #330, #843: this client cannot begin anew, so a session outlives its server where a store keeps it", () =>
    Effect.gen(function*() {
      const store = yield* Layer.build(SessionStore.layerMemory())
      const host = Layer.provide(hosting(), Layer.succeedContext(store))
      const port = yield* HttpListener.freePort
      const scope = yield* Scope.make()
      const { place } = yield* Scope.provide(OwnServer.listen(host, { port }), scope)
      yield* Effect.gen(function*() {
        const { sessionId } = yield* http
        const id = sessionId()
        assert.deepStrictEqual(yield* call("before", {}), text("before"))
        yield* Scope.close(scope, Exit.void)
        const { host: another } = yield* OwnServer.listen(host, { port })
        assert.deepStrictEqual(yield* call("after", {}), text("after"))
        const [session] = yield* another.sessions
        assert.deepStrictEqual([session?.id, session?.revision, session?.client?.name], [id, latest, "official"])
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))

  it.live("[SHS-26] #1708: without a store it is told 404 at once, and does not wait", () =>
    Effect.gen(function*() {
      const { host: { find }, place } = yield* OwnServer.listen(hosting())
      yield* Effect.gen(function*() {
        const { calls, sessionId } = yield* http
        yield* find(sessionId() ?? "")?.close({ _tag: "Requested" }) ?? Effect.void
        assert.notProperty(yield* call("after", {}), "text")
        assert.strictEqual(calls.findLast(({ method }) => method === "POST")?.status, 404)
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))

  it.live("modelcontextprotocol#2807, Effect B7: this client leaves without a word, and its session expires all the same", () =>
    Effect.gen(function*() {
      const clock = yield* TestClock.make()
      const { host: { sessions }, place } = yield* Effect.provideService(
        OwnServer.listen(hosting({ idle: "10 minutes" })),
        Clock.Clock,
        clock
      )
      yield* Effect.gen(function*() {
        yield* call("hello", {})
        assert.strictEqual((yield* sessions).length, 1)
      }).pipe(Effect.provide(peer.connect(place, latest)))
      const later = Effect.andThen(clock.adjust("10 minutes"), Effect.sleep("5 millis"))
      yield* Effect.repeat(Effect.andThen(later, sessions), { until: ({ length }) => length === 0 })
    }))

  it.live("Effect B7: there are as many sessions as there may be, and one that ends makes room", () =>
    Effect.gen(function*() {
      const { host: { health }, place, url } = yield* OwnServer.listen(hosting({ max: 2 }))
      const connected = <A, E, R>(program: Effect.Effect<A, E, R>) =>
        Effect.provide(program, peer.connect(place, latest))
      yield* connected(connected(Effect.gen(function*() {
        assert.deepInclude(yield* health, { accepting: false, sessions: 2 })
        const initialize = {
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: latest, capabilities: {}, clientInfo: { name: "third", version: "1" } }
        }
        assert.strictEqual((yield* OwnServer.post(url, undefined, initialize)).status, 503)
        yield* Effect.flatMap(http, ({ terminate }) => terminate)
        assert.strictEqual((yield* OwnServer.post(url, undefined, initialize)).status, 200)
      })))
    }))

  it.live("[law 10] #961, #1278, #1405: one server serves many clients, and none gets what is another's", () =>
    Effect.gen(function*() {
      const { place } = yield* OwnServer.listen(hosting())
      const names = Array.from({ length: 8 }, (_, index) => `file:///${index}`)
      const served = yield* Effect.forEach(names, (uri) =>
        Effect.gen(function*() {
          const { answers } = yield* OfficialClient
          answers.roots = () => Effect.delay(Effect.succeed({ roots: [{ uri }] }), "5 millis")
          return yield* Effect.forEach([1, 2, 3], () => call("roots", {}), { concurrency: "unbounded" })
        }).pipe(Effect.provide(peer.connect(place, latest))), { concurrency: "unbounded" })
      assert.deepStrictEqual(served, names.map((uri) => [text(uri), text(uri), text(uri)]))
    }))

  it.live("Effect B8: a client that only listens hears that a list has changed", () =>
    Effect.gen(function*() {
      const { host: { find }, place } = yield* OwnServer.listen(hosting())
      yield* Effect.gen(function*() {
        const { heard, http } = yield* OfficialClient
        const session = find(http?.sessionId() ?? "")?.session
        assert(session !== undefined)
        yield* session.toolListChanged
        yield* Child.until(() => heard.some(({ method }) => method === "notifications/tools/list_changed"))
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))

  it.live("[SHS-10] a call whose client has left for good is interrupted in the end", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const host = SessionHost.layer({
        "tools/call": () =>
          Effect.andThen(
            Deferred.succeed(begun, undefined),
            Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
          )
      }, { info: { name: "example", version: "1.0.0" } })
      const { place } = yield* OwnServer.listen(host, { detachedRequestTimeout: "50 millis" })
      yield* Effect.gen(function*() {
        const { close } = yield* OfficialClient
        yield* Effect.forkChild(call("wait", {}))
        yield* Deferred.await(begun)
        yield* close
        yield* Deferred.await(interrupted)
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))
}

const refusals = () => {
  it.live("Effect B9: what is refused over HTTP says so as JSON-RPC does, and nothing of what is inside", () =>
    Effect.gen(function*() {
      const { url } = yield* OwnServer.listen(hosting())
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
        const answer = yield* OwnServer.post(url, session, message)
        assert.strictEqual(answer.status, status, answer.text)
        const { error, ...rest } = members(JSON.parse(answer.text))
        assert.hasAllKeys(error, ["code", "message"])
        assert.deepStrictEqual(Object.keys(rest).toSorted().filter((key) => key !== "id"), ["jsonrpc"])
      }
    }))
}

/** The same program, stopped and started again at the same port: it knows nothing of its sessions then. */
const restarting = (
  start: (port: number) => ReturnType<typeof Child.program>,
  isUp: (program: Child.Program) => boolean
) =>
  Effect.gen(function*() {
    const port = yield* HttpListener.freePort
    const begin = Effect.gen(function*() {
      const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
      const program = yield* Scope.provide(start(port), scope)
      yield* Child.until(() => isUp(program))
      return { program, scope }
    })
    let { program, scope } = yield* begin
    return {
      port,
      pid: () => program.pid,
      restart: Effect.gen(function*() {
        const { exited } = program
        yield* Scope.close(scope, Exit.void)
        yield* exited
        ;({ program, scope } = yield* begin)
      })
    }
  })

const withServer = () => {
  for (const peer of servers) {
    it.live(`[SHS-27] #1708, #1476: ${peer.name} is started again and knows nothing: the host begins anew, and its call is answered`, () =>
      Effect.gen(function*() {
        const { pid, port, restart } = yield* restarting(
          (port) => Child.program(process.execPath, [Child.file(peer.file), "--http", String(port)]),
          ({ stdout }) => stdout().includes("listening at")
        )
        const listener = { layer: Layer.empty, address: () => `http://127.0.0.1:${port}`, pid, stderr: () => "" }
        const server = HttpListener.server(listener, () => `${listener.address()}/stateful`)
        const host = make(latest, server)
        yield* Effect.gen(function*() {
          assert.strictEqual(yield* said("echo", { text: "before" }), "before")
          const session = server.calls.at(-1)?.sessionId
          yield* restart
          // Whether the connection that was kept is still good, only a request finds out.
          const { ping } = yield* ClientSession.ClientSession
          yield* Effect.eventually(ping())
          assert.strictEqual(yield* said("echo", { text: "after" }), "after")
          assert.isTrue(host.events.some(({ _tag }) => _tag === "SessionRenewed"))
          assert.notStrictEqual(server.calls.at(-1)?.sessionId, session)
          // What it says of its own account is heard again as well.
          yield* Child.until(() =>
            server.calls.some(({ method, sessionId, status }) =>
              method === "GET" && status === 200 && sessionId !== session
            )
          )
          const method = "notifications/tools/list_changed"
          yield* said("tell", { method })
          yield* Notifications.next(method)
        }).pipe(Effect.provide(host.layer))
      }))
  }

  it.live("#1708: server-everything, started again, says 400 where the protocol has 404: calls fail at once, and say why", () =>
    Effect.gen(function*() {
      const { pid, port, restart } = yield* restarting(
        (port) =>
          Child.program(process.execPath, [Child.everything, "streamableHttp"], {
            ...Child.environment,
            PORT: String(port)
          }),
        ({ stderr }) => stderr().includes("listening on port")
      )
      const listener = { layer: Layer.empty, address: () => `http://127.0.0.1:${port}`, pid, stderr: () => "" }
      const host = make(latest, HttpListener.server(listener, () => `${listener.address()}/mcp`))
      yield* Effect.gen(function*() {
        const { callTool, ping } = yield* ClientSession.ClientSession
        yield* ping()
        yield* restart
        const reasonOf = Effect.map(Effect.flip(callTool("echo", { message: "on" })), ({ reason }) => reason)
        // The first may find that the connection is gone.
        yield* reasonOf
        const reason = yield* reasonOf
        assert.strictEqual(reason._tag, "ErrorResponse")
      }).pipe(Effect.provide(host.layer))
    }))
}

export const sessions = () => {
  for (const peer of peers) {
    describe(`sessions that would be lost or kept, under ${peer.name}`, () => {
      underClient(peer)
    })
  }

  describe("sessions that would be lost or kept, under any client", () => {
    refusals()
  })

  describe("sessions that would be lost, with servers that are started again", () => {
    withServer()
  })
}

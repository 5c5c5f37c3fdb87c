import { McpError } from "@effect-mcp/protocol"
import { RequestContext, SessionHost, SessionStore } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as http from "node:http"
import { turns } from "../../../support/eventLoop.ts"
import { type Client, connect, countOpen, type ReceivedResponse } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { until } from "../../../support/process.ts"
import { collectLogs, hostOf, serve, type Served, text, tools } from "../../../support/server.ts"

const modes = ["adaptive", "json", "stream"] as const

type Ending = "result" | "error" | "defect" | "deadline"

/** Creates a tool that sends progress, if `reports` is true, waits, and ends as `ending` says. */
const waiting = (ending: Deferred.Deferred<Ending>) =>
  tools({
    wait: ({ reports }) =>
      Effect.gen(function*() {
        if (reports === true) yield* RequestContext.progress({ progress: 1 })
        switch (yield* Deferred.await(ending)) {
          case "result":
            return text("done")
          case "error":
            return yield* McpError.invalidParams("no")
          case "defect":
            return yield* Effect.die(new Error("broken"))
          case "deadline":
            return yield* Effect.mapError(
              Effect.timeout(Effect.never, "1 millis"),
              () => McpError.internalError
            )
        }
      }),
    // This handler cannot be interrupted before `ending` is set.
    uninterruptible: Effect.as(Effect.uninterruptible(Deferred.await(ending)), text("late"))
  })

interface Scene {
  readonly server: Served
  readonly client: Client
  readonly ending: Deferred.Deferred<Ending>
  readonly responses: ReadonlyArray<ReceivedResponse>
  readonly standalone: ReceivedResponse
  readonly clock: TestClock.TestClock
}

const inFlight = (server: Served, count: number) =>
  Effect.repeat(server.host.sessions, { until: ([one]) => one === undefined || one.inFlight === count })

const causes: ReadonlyArray<{
  readonly name: string
  /** Whether the session ends, and with it the standalone stream. */
  readonly ends: boolean
  readonly replies: "result" | "error" | "none"
  readonly isLogged?: boolean
  readonly act: (scene: Scene) => Effect.Effect<unknown>
}> = [
  { name: "a result", ends: false, replies: "result", act: ({ ending }) => Deferred.succeed(ending, "result") },
  { name: "an error", ends: false, replies: "error", act: ({ ending }) => Deferred.succeed(ending, "error") },
  {
    name: "a defect",
    ends: false,
    replies: "error",
    isLogged: true,
    act: ({ ending }) => Deferred.succeed(ending, "defect")
  },
  { name: "a deadline", ends: false, replies: "error", act: ({ ending }) => Deferred.succeed(ending, "deadline") },
  {
    name: "notifications/cancelled",
    ends: false,
    replies: "none",
    act: ({ client }) => Effect.forEach([1, 2], (requestId) => client.notify("notifications/cancelled", { requestId }))
  },
  { name: "a DELETE", ends: true, replies: "error", act: ({ client }) => client.delete },
  {
    name: "the maximum age of the session",
    ends: true,
    replies: "error",
    // In small steps, because the last events are stored meanwhile.
    act: ({ responses, clock }) =>
      Effect.repeat(Effect.andThen(clock.adjust("1 second"), turns(2)), { until: () => countOpen(responses) === 0 })
  },
  {
    name: "close of the host",
    ends: true,
    replies: "error",
    act: ({ client, server }) => server.host.find(client.id)?.close({ _tag: "Requested" }) ?? Effect.die("no session")
  },
  { name: "the drain of the host", ends: true, replies: "error", act: ({ server }) => server.host.drain },
  { name: "the shutdown of the server", ends: true, replies: "error", act: ({ server }) => server.stop }
]

describe.concurrent("every response ends", () => {
  for (const mode of modes) {
    for (const stored of [undefined, "stored at once", "stored slowly"] as const) {
      for (const { act, ends, isLogged, name, replies } of causes) {
        it.live(`[SHS-09] after ${name} (${mode}${stored === undefined ? "" : `, ${stored}`})`, () =>
          Effect.gen(function*() {
            const ending = yield* Deferred.make<Ending>()
            const store = new MapEventStore(() => stored === "stored slowly" ? 4 : undefined)
            const clock = yield* TestClock.make()
            const serving = serve(waiting(ending), {
              http: { responseMode: mode },
              store: stored === undefined ? undefined : store.service,
              session: { sessions: { maxAge: "1 minute" } }
            })
            const server = yield* name === "the maximum age of the session"
              ? Effect.provideService(serving, Clock.Clock, clock)
              : serving
            const client = yield* connect(server)
            const standalone = yield* client.get()
            const responses = [yield* client.call(1, "wait"), yield* client.call(2, "wait", { reports: true })]
            yield* inFlight(server, 2)
            if (mode !== "json") yield* until(() => responses[1]?.status !== 0)
            assert.isFalse(standalone.ended)
            yield* act({ server, client, ending, responses, standalone, clock })
            yield* until(() => countOpen(responses) === 0)
            for (const [index, response] of responses.entries()) {
              // The response ended normally.
              assert.isTrue(response.ended, `${response.status} ${response.text}`)
              const last = response.messages.at(-1)
              if (replies === "none") assert.isFalse(response.messages.some(({ id }) => id !== undefined))
              else {
                assert.strictEqual(last?.id, index + 1)
                assert.property(last, replies)
              }
            }
            if (ends) {
              yield* until(() => countOpen([standalone]) === 0)
              assert.isTrue(standalone.ended)
              yield* until(() => server.host.find(client.id) === undefined)
            } else {
              assert.isFalse(standalone.ended)
              yield* inFlight(server, 0)
            }
            if (isLogged !== true) assert.deepStrictEqual(server.logs, [])
          }))
      }

      it.live(`although its client has disconnected (${mode}${stored === undefined ? "" : `, ${stored}`})`, () =>
        Effect.gen(function*() {
          const ending = yield* Deferred.make<Ending>()
          const store = new MapEventStore(() => stored === "stored slowly" ? 4 : undefined)
          const server = yield* serve(waiting(ending), {
            http: { responseMode: mode },
            store: stored === undefined ? undefined : store.service
          })
          const client = yield* connect(server)
          const standalone = yield* client.get()
          const responses = [yield* client.call(1, "wait"), yield* client.call(2, "wait", { reports: true })]
          yield* inFlight(server, 2)
          standalone.disconnect()
          for (const response of responses) response.disconnect()
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 0 })
          // The requests continue (SHS-10), and their replies are discarded without a log entry.
          assert.strictEqual((yield* server.host.sessions)[0]?.inFlight, 2)
          yield* Deferred.succeed(ending, "result")
          yield* inFlight(server, 0)
          assert.strictEqual((yield* client.ping()).status, 200)
          yield* server.stop
          assert.deepStrictEqual(server.logs, [])
        }))
    }
  }

  it.live("[SHS-26] after its session expires as idle, which a session with an open stream does not", () =>
    Effect.gen(function*() {
      const ending = yield* Deferred.make<Ending>()
      const clock = yield* TestClock.make()
      const serving = serve(waiting(ending), { session: { sessions: { idleTimeout: "1 minute" } } })
      const server = yield* Effect.provideService(serving, Clock.Clock, clock)
      const client = yield* connect(server)
      const standalone = yield* client.get()
      yield* clock.adjust("1 hour")
      yield* turns(4)
      assert.isFalse(standalone.ended)
      assert.isDefined(server.host.find(client.id))
      standalone.disconnect()
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 0 })
      yield* clock.adjust("2 minutes")
      yield* until(() => server.host.find(client.id) === undefined)
      assert.strictEqual((yield* client.ping()).status, 404)
    }))

  it.live("and the stores keep nothing of an expired session whose client does not reconnect", () =>
    Effect.gen(function*() {
      for (const mode of modes) {
        const ending = yield* Deferred.make<Ending>()
        const store = new MapEventStore()
        const sessionStore = yield* SessionStore.makeMemory()
        const clock = yield* TestClock.make()
        const serving = serve(waiting(ending), {
          http: { responseMode: mode, detachedRequestTimeout: "1 minute" },
          store: store.service,
          sessionStore,
          session: { sessions: { idleTimeout: "1 minute" } }
        })
        const server = yield* Effect.provideService(serving, Clock.Clock, clock)
        const client = yield* connect(server)
        const standalone = yield* client.get()
        yield* until(() => standalone.lastId !== undefined)
        const responses = [standalone, yield* client.call(1, "wait"), yield* client.call(2, "wait", { reports: true })]
        yield* inFlight(server, 2)
        if (mode !== "json") yield* responses[2]?.awaitMessages(1) ?? Effect.void
        assert.isDefined(yield* sessionStore.load(client.id))
        for (const response of responses) response.disconnect()
        yield* Effect.repeat(Effect.andThen(clock.adjust("10 seconds"), turns(2)), {
          until: () => server.host.find(client.id) === undefined
        })
        yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
        assert.isUndefined(yield* sessionStore.load(client.id))
        // The event store removes ended streams by itself.
        const streams = Array.from(store.streams.get(client.id)?.values() ?? [])
        assert.isNotEmpty(streams)
        assert.isTrue(streams.every(({ ended }) => ended))
        assert.deepStrictEqual(server.logs, [])
      }
    }))

  it.live("although its handler cannot be interrupted", () =>
    Effect.gen(function*() {
      const ending = yield* Deferred.make<Ending>()
      const server = yield* serve(waiting(ending))
      const client = yield* connect(server)
      const call = yield* client.call(1, "uninterruptible")
      yield* inFlight(server, 1)
      yield* client.notify("notifications/cancelled", { requestId: 1 })
      yield* call.awaitEnd
      assert.strictEqual((yield* server.host.sessions)[0]?.inFlight, 1)
      assert.deepStrictEqual(call.messages, [])
      yield* Deferred.succeed(ending, "result")
    }))
})

describe.concurrent("the shutdown of a server", () => {
  /** Creates a backend that keeps idle connections open without a limit. */
  const backend = () => http.createServer({ keepAliveTimeout: 0 })

  const layers = {
    "on its own": (logs: Array<string>, ending: Deferred.Deferred<Ending>) =>
      StreamableHttpServer.layerNode({ port: 0 }).pipe(
        Layer.provideMerge(hostOf(waiting(ending), {})),
        Layer.provide(Authentication.anonymous),
        Layer.provideMerge(collectLogs(logs))
      ),
    "in a backend": (logs: Array<string>, ending: Deferred.Deferred<Ending>) =>
      SessionHost.layerDrain.pipe(
        Layer.provideMerge(HttpRouter.serve(
          Layer.merge(
            StreamableHttpServer.layer(),
            HttpRouter.add("GET", "/health", HttpServerResponse.text("healthy"))
          ),
          { disableLogger: true, disableListenLog: true }
        )),
        Layer.provideMerge(NodeHttpServer.layerServer(backend, { port: 0, host: "127.0.0.1" })),
        Layer.provideMerge(hostOf(waiting(ending), {})),
        Layer.provide(Authentication.anonymous),
        Layer.provideMerge(collectLogs(logs))
      )
  }

  for (const [name, make] of Object.entries(layers)) {
    it.live(`[law 2] ends all streams, closes the listener, and leaves no fiber (${name})`, () =>
      Effect.gen(function*() {
        const fibers = FiberCount.make()
        const logs: Array<string> = []
        const ending = yield* Deferred.make<Ending>()
        const scope = yield* Scope.make()
        const context = yield* fibers.count(Layer.buildWithScope(Layer.fresh(make(logs, ending)), scope))
        const { address } = Context.get(context, HttpServer)
        assert.isTrue(address._tag !== "UnixPathAddress")
        const port = address._tag === "UnixPathAddress" ? 0 : address.port
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new http.Agent({ keepAlive: true })),
          (made) => Effect.sync(() => made.destroy())
        )
        const clients = yield* Effect.forEach([1, 2, 3], () => connect({ port }))
        const responses: Array<ReceivedResponse> = []
        for (const client of clients) {
          // Each client has two idle connections, a standalone stream, a stream with messages, and a waiting request.
          yield* Effect.all([
            client.exchange({ body: { jsonrpc: "2.0", id: "a", method: "ping" }, agent }),
            client.exchange({ body: { jsonrpc: "2.0", id: "b", method: "ping" }, agent })
          ], { concurrency: 2 })
          responses.push(yield* client.send({ method: "GET", agent }))
          responses.push(yield* client.call(1, "wait", { reports: true }))
          responses.push(
            yield* client.send({
              agent,
              body: { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "wait" } }
            })
          )
        }
        yield* until(() => responses.filter(({ status }) => status !== 0).length === 6)
        yield* Scope.close(scope, Exit.void)
        yield* until(() => responses.every(({ ended }) => ended))
        assert.deepStrictEqual(responses.map(({ status }) => status), [200, 200, 503, 200, 200, 503, 200, 200, 503])
        // The listener is closed.
        const late = yield* connect({ port }).pipe(Effect.exit)
        assert.isTrue(Exit.isFailure(late))
        yield* until(() => fibers.living() === 0)
        assert.deepStrictEqual(logs, [])
      }))
  }

  it.live("does not wait for a client that reads nothing", () =>
    Effect.gen(function*() {
      const server = yield* serve(
        tools({
          flood: Effect.gen(function*() {
            for (let progress = 1;; progress++) {
              yield* RequestContext.progress({ progress, message: "x".repeat(10_000) })
            }
          })
        }),
        { http: { maxStreamCharacters: 10_000 } }
      )
      const client = yield* connect(server)
      const call = yield* client.call(1, "flood")
      yield* call.awaitHeaders
      call.stall()
      yield* server.stop
      assert.deepStrictEqual(server.logs, [])
    }))
})

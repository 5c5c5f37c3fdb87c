import { McpError } from "@effect-mcp/protocol"
import { RequestContext, SessionHost, SessionStore } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
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
import { until } from "../../../support/process.ts"
import { type ReceivedResponse, type Client, connect, countOpen } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { hostOf, collectLogs, serve, type Served, text, tools } from "../../../support/server.ts"
import { turns } from "../../../support/eventLoop.ts"

const modes = ["adaptive", "json", "stream"] as const

type Ending = "result" | "error" | "defect" | "deadline"

/** A tool that says something if it is asked to, waits, and then ends as it is told to. */
const waiting = (go: Deferred.Deferred<Ending>) =>
  tools({
    wait: ({ aloud }) =>
      Effect.gen(function*() {
        if (aloud === true) yield* RequestContext.progress({ progress: 1 })
        switch (yield* Deferred.await(go)) {
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
    // It does not let itself be interrupted before it is told to go.
    stubborn: Effect.as(Effect.uninterruptible(Deferred.await(go)), text("late"))
  })

interface Scene {
  readonly server: Served
  readonly client: Client
  readonly go: Deferred.Deferred<Ending>
  readonly answers: ReadonlyArray<ReceivedResponse>
  readonly standalone: ReceivedResponse
  readonly clock: TestClock.TestClock
}

const inFlight = (server: Served, count: number) =>
  Effect.repeat(server.host.sessions, { until: ([one]) => one === undefined || one.inFlight === count })

const endings: ReadonlyArray<{
  readonly name: string
  /** Whether the session ends, and with it the standalone stream. */
  readonly ends: boolean
  readonly replies: "result" | "error" | "none"
  readonly noisy?: boolean
  readonly act: (scene: Scene) => Effect.Effect<unknown>
}> = [
  { name: "a result", ends: false, replies: "result", act: ({ go }) => Deferred.succeed(go, "result") },
  { name: "an error", ends: false, replies: "error", act: ({ go }) => Deferred.succeed(go, "error") },
  { name: "a defect", ends: false, replies: "error", noisy: true, act: ({ go }) => Deferred.succeed(go, "defect") },
  { name: "a deadline", ends: false, replies: "error", act: ({ go }) => Deferred.succeed(go, "deadline") },
  {
    name: "notifications/cancelled",
    ends: false,
    replies: "none",
    act: ({ client }) => Effect.forEach([1, 2], (requestId) => client.notify("notifications/cancelled", { requestId }))
  },
  { name: "a DELETE on another connection", ends: true, replies: "error", act: ({ client }) => client.delete },
  {
    name: "the session's age",
    ends: true,
    replies: "error",
    // Little by little, since what ends with the session is stored meanwhile.
    act: ({ answers, clock }) =>
      Effect.repeat(Effect.andThen(clock.adjust("1 second"), turns(2)), { until: () => countOpen(answers) === 0 })
  },
  {
    name: "the host's closing of the session",
    ends: true,
    replies: "error",
    act: ({ client, server }) => server.host.find(client.id)?.close({ _tag: "Requested" }) ?? Effect.die("no session")
  },
  { name: "a drained host", ends: true, replies: "error", act: ({ server }) => server.host.drain },
  { name: "the server's shutdown", ends: true, replies: "error", act: ({ server }) => server.stop }
]

describe.concurrent("no response is left open", () => {
  for (const mode of modes) {
    for (const stored of [undefined, "stored at once", "stored slowly"] as const) {
      for (const { act, ends, name, noisy, replies } of endings) {
        it.live(`[SHS-09] after ${name} (${mode}${stored === undefined ? "" : `, ${stored}`})`, () =>
          Effect.gen(function*() {
            const go = yield* Deferred.make<Ending>()
            const store = new MapEventStore(() => stored === "stored slowly" ? 4 : undefined)
            const clock = yield* TestClock.make()
            const serving = serve(waiting(go), {
              http: { responseMode: mode },
              store: stored === undefined ? undefined : store.service,
              session: { sessions: { maxAge: "1 minute" } }
            })
            const server = yield* name === "the session's age"
              ? Effect.provideService(serving, Clock.Clock, clock)
              : serving
            const client = yield* connect(server)
            const standalone = yield* client.get()
            const answers = [yield* client.call(1, "wait"), yield* client.call(2, "wait", { aloud: true })]
            yield* inFlight(server, 2)
            if (mode !== "json") yield* until(() => answers[1]?.status !== 0)
            assert.isFalse(standalone.ended)
            yield* act({ server, client, go, answers, standalone, clock })
            yield* until(() => countOpen(answers) === 0)
            for (const [index, answer] of answers.entries()) {
              // It came to its end, and was not broken off.
              assert.isTrue(answer.ended, `${answer.status} ${answer.text}`)
              const last = answer.messages.at(-1)
              if (replies === "none") assert.isFalse(answer.messages.some(({ id }) => id !== undefined))
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
            if (noisy !== true) assert.deepStrictEqual(server.logs, [])
          }))
      }

      it.live(`and nothing is waited for that a client has left behind (${mode}${stored === undefined ? "" : `, ${stored}`})`, () =>
        Effect.gen(function*() {
          const go = yield* Deferred.make<Ending>()
          const store = new MapEventStore(() => stored === "stored slowly" ? 4 : undefined)
          const server = yield* serve(waiting(go), {
            http: { responseMode: mode },
            store: stored === undefined ? undefined : store.service
          })
          const client = yield* connect(server)
          const standalone = yield* client.get()
          const answers = [yield* client.call(1, "wait"), yield* client.call(2, "wait", { aloud: true })]
          yield* inFlight(server, 2)
          standalone.disconnect()
          for (const answer of answers) answer.disconnect()
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 0 })
          // They run on (SHS-10), and what they say at last goes nowhere, quietly.
          assert.strictEqual((yield* server.host.sessions)[0]?.inFlight, 2)
          yield* Deferred.succeed(go, "result")
          yield* inFlight(server, 0)
          assert.strictEqual((yield* client.ping()).status, 200)
          yield* server.stop
          assert.deepStrictEqual(server.logs, [])
        }))
    }
  }

  it.live("[SHS-26] by a session that is idle; one whose stream is read is not", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<Ending>()
      const clock = yield* TestClock.make()
      const serving = serve(waiting(go), { session: { sessions: { idle: "1 minute" } } })
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

  it.live("and nothing is kept for a client that never comes back, once its session has expired", () =>
    Effect.gen(function*() {
      for (const mode of modes) {
        const go = yield* Deferred.make<Ending>()
        const store = new MapEventStore()
        const remembered = yield* SessionStore.makeMemory()
        const clock = yield* TestClock.make()
        const serving = serve(waiting(go), {
          http: { responseMode: mode, detachedRequestTimeout: "1 minute" },
          store: store.service,
          sessionStore: remembered,
          session: { sessions: { idle: "1 minute" } }
        })
        const server = yield* Effect.provideService(serving, Clock.Clock, clock)
        const client = yield* connect(server)
        const standalone = yield* client.get()
        yield* until(() => standalone.lastId !== undefined)
        const answers = [standalone, yield* client.call(1, "wait"), yield* client.call(2, "wait", { aloud: true })]
        yield* inFlight(server, 2)
        if (mode !== "json") yield* answers[2]?.awaitMessages(1) ?? Effect.void
        assert.isDefined(yield* remembered.load(client.id))
        for (const answer of answers) answer.disconnect()
        yield* Effect.repeat(Effect.andThen(clock.adjust("10 seconds"), turns(2)), {
          until: () => server.host.find(client.id) === undefined
        })
        yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
        assert.isUndefined(yield* remembered.load(client.id))
        // What has ended the store forgets by itself.
        const streams = Array.from(store.streams.get(client.id)?.values() ?? [])
        assert.isNotEmpty(streams)
        assert.isTrue(streams.every(({ ended }) => ended))
        assert.deepStrictEqual(server.logs, [])
      }
    }))

  it.live("though a handler does not let itself be interrupted", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<Ending>()
      const server = yield* serve(waiting(go))
      const client = yield* connect(server)
      const call = yield* client.call(1, "stubborn")
      yield* inFlight(server, 1)
      yield* client.notify("notifications/cancelled", { requestId: 1 })
      yield* call.awaitEnd
      assert.strictEqual((yield* server.host.sessions)[0]?.inFlight, 1)
      assert.deepStrictEqual(call.messages, [])
      yield* Deferred.succeed(go, "result")
    }))
})

describe.concurrent("when a server goes", () => {
  /** Without a limit on what is idle: what is waited for then is waited for in vain. */
  const backend = () => http.createServer({ keepAliveTimeout: 0 })

  const layers = {
    "by itself": (logs: Array<string>, go: Deferred.Deferred<Ending>) =>
      StreamableHttpServer.layerNode({ port: 0 }).pipe(
        Layer.provideMerge(hostOf(waiting(go), {})),
        Layer.provide(Authentication.anonymous),
        Layer.provideMerge(collectLogs(logs))
      ),
    "in a backend": (logs: Array<string>, go: Deferred.Deferred<Ending>) =>
      SessionHost.layerDrain.pipe(
        Layer.provideMerge(HttpRouter.serve(
          Layer.merge(
            StreamableHttpServer.layer("/mcp"),
            HttpRouter.add("GET", "/health", HttpServerResponse.text("well"))
          ),
          { disableLogger: true, disableListenLog: true }
        )),
        Layer.provideMerge(NodeHttpServer.layerServer(backend, { port: 0, host: "127.0.0.1" })),
        Layer.provideMerge(hostOf(waiting(go), {})),
        Layer.provide(Authentication.anonymous),
        Layer.provideMerge(collectLogs(logs))
      )
  }

  for (const [name, make] of Object.entries(layers)) {
    it.live(`[law 2] its streams end, then it stops to listen, and nothing is left (${name})`, () =>
      Effect.gen(function*() {
        const fibers = FiberCount.make()
        const logs: Array<string> = []
        const go = yield* Deferred.make<Ending>()
        const scope = yield* Scope.make()
        const context = yield* fibers.count(Layer.buildWithScope(Layer.fresh(make(logs, go)), scope))
        const { address } = Context.get(context, HttpServer)
        assert.isTrue(address._tag !== "UnixPathAddress")
        const port = address._tag === "UnixPathAddress" ? 0 : address.port
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new http.Agent({ keepAlive: true })),
          (made) => Effect.sync(() => made.destroy())
        )
        const clients = yield* Effect.forEach([1, 2, 3], () => connect({ port }))
        const answers: Array<ReceivedResponse> = []
        for (const client of clients) {
          // Two connections that stay open behind their answers, three streams, and a request without a stream.
          yield* Effect.all([
            client.exchange({ body: { jsonrpc: "2.0", id: "a", method: "ping" }, agent }),
            client.exchange({ body: { jsonrpc: "2.0", id: "b", method: "ping" }, agent })
          ], { concurrency: 2 })
          answers.push(yield* client.send({ method: "GET", agent }))
          answers.push(yield* client.call(1, "wait", { aloud: true }))
          answers.push(
            yield* client.send({
              agent,
              body: { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "wait" } }
            })
          )
        }
        yield* until(() => answers.filter(({ status }) => status !== 0).length === 6)
        yield* Scope.close(scope, Exit.void)
        yield* until(() => answers.every(({ ended }) => ended))
        assert.deepStrictEqual(answers.map(({ status }) => status), [200, 200, 503, 200, 200, 503, 200, 200, 503])
        // Nobody listens any more.
        const late = yield* connect({ port }).pipe(Effect.exit)
        assert.isTrue(Exit.isFailure(late))
        yield* until(() => fibers.living() === 0)
        assert.deepStrictEqual(logs, [])
      }))
  }

  it.live("it does not wait for who takes nothing of what it says", () =>
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

import { RequestContext } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { Authentication, HttpSseServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { turns, untilStable } from "../../../support/eventLoop.ts"
import { exchange, send } from "../../../support/httpClient.ts"
import { connectSse, openSse, serveSse, type SseClient } from "../../../support/httpSse.ts"
import { until } from "../../../support/process.ts"
import { collectLogs, hostOf, type Served, text, tools } from "../../../support/server.ts"

/** Creates a tool that waits, and one that sends more than a client reads, and counts what they do. */
const busyTools = () => {
  const state = { started: 0, interrupted: 0, steps: 0 }
  const interruptible = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.onInterrupt(
      Effect.suspend(() => {
        state.started++
        return effect
      }),
      () => Effect.sync(() => void state.interrupted++)
    )
  return {
    state,
    handlers: tools({
      now: Effect.succeed(text("now")),
      wait: interruptible(Effect.never),
      flood: ({ steps }) =>
        interruptible(Effect.gen(function*() {
          for (let progress = 1; progress <= Number(steps ?? Infinity); progress++) {
            yield* RequestContext.progress({ progress, message: "x".repeat(10_000) })
            state.steps = progress
          }
          return text("done")
        }))
    })
  }
}

const reasonsOf = ({ events }: Served) => events.flatMap((event) => event._tag === "Closed" ? [event.reason] : [])

const awaitNoSessions = (server: Served) =>
  Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })

describe.concurrent("a session of HTTP+SSE ends", () => {
  it.live("with its stream: its handlers are interrupted, and it cannot be resumed", () =>
    Effect.gen(function*() {
      const { handlers, state } = busyTools()
      const server = yield* serveSse(handlers)
      const client = yield* connectSse(server)
      const { endpoint } = client
      yield* client.call(1, "wait")
      yield* until(() => state.started === 1)
      client.stream.disconnect()
      yield* until(() => state.interrupted === 1)
      yield* awaitNoSessions(server)
      assert.deepStrictEqual(reasonsOf(server), [{ _tag: "PeerEnded", exit: undefined }])
      const late = yield* Effect.scoped(
        exchange(server, { path: endpoint, body: { jsonrpc: "2.0", id: 2, method: "ping" } })
      )
      assert.strictEqual(late.status, 404)
      assert.deepStrictEqual(server.logs, [])
    }))

  const causes: ReadonlyArray<{
    readonly name: string
    readonly reason: string
    readonly sessions?: { readonly maxAge: "1 second" }
    readonly act: (scene: { readonly server: Served; readonly client: SseClient }) => Effect.Effect<unknown>
  }> = [
    { name: "its maximum age", reason: "Expired", sessions: { maxAge: "1 second" }, act: () => Effect.void },
    {
      name: "close of the host",
      reason: "Requested",
      act: ({ client, server }) => server.host.find(client.id)?.close({ _tag: "Requested" }) ?? Effect.die("none")
    },
    { name: "the drain of the host", reason: "Requested", act: ({ server }) => server.host.drain },
    { name: "the shutdown of the server", reason: "Requested", act: ({ server }) => server.stop }
  ]
  for (const { act, name, reason, sessions } of causes) {
    it.live(`with ${name}, and its stream ends normally`, () =>
      Effect.gen(function*() {
        const { handlers, state } = busyTools()
        const server = yield* serveSse(handlers, { session: sessions === undefined ? {} : { sessions } })
        const client = yield* connectSse(server)
        yield* client.call(1, "wait")
        // On a slow machine, the session may expire before.
        yield* until(() => state.started === 1 || client.stream.isClosed)
        yield* act({ server, client })
        yield* until(() => client.stream.isClosed)
        assert.isTrue(client.stream.ended)
        yield* awaitNoSessions(server)
        assert.strictEqual(state.interrupted, state.started)
        assert.deepStrictEqual(reasonsOf(server).map(({ _tag }) => _tag), [reason])
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("[INIT-16] if the handshake does not finish in time", () =>
    Effect.gen(function*() {
      const server = yield* serveSse(busyTools().handlers, { session: { limits: { initializeTimeout: "100 millis" } } })
      const client = yield* openSse(server)
      yield* until(() => client.stream.isClosed)
      assert.isTrue(client.stream.ended)
      assert.deepStrictEqual(reasonsOf(server), [{ _tag: "HandshakeTimeout", afterMillis: 100 }])
    }))

  it.live("[SHS-26] but not for idleness while its stream is open", () =>
    Effect.gen(function*() {
      const clock = yield* TestClock.make()
      const serving = serveSse(busyTools().handlers, { session: { sessions: { idleTimeout: "1 minute" } } })
      const server = yield* Effect.provideService(serving, Clock.Clock, clock)
      const client = yield* connectSse(server)
      yield* clock.adjust("1 hour")
      yield* turns(4)
      assert.isFalse(client.stream.isClosed)
      assert.property(yield* client.request("ping"), "result")
    }))
})

describe.concurrent("a client of HTTP+SSE that does not read", () => {
  it.live("suspends only its own session, and receives all messages later", () =>
    Effect.gen(function*() {
      const { handlers, state } = busyTools()
      const server = yield* serveSse(handlers, {
        sse: { maxStreamCharacters: 50_000 },
        session: { limits: { maxOutgoingMessages: 16 } }
      })
      const client = yield* connectSse(server, {}, "2025-11-25")
      const other = yield* connectSse(server, {}, "2025-11-25")
      client.stream.stall()
      yield* client.call(1, "flood", { steps: 3000 })
      yield* untilStable(() => state.steps)
      assert.isBelow(state.steps, 2000)
      assert.property(yield* other.request("ping"), "result")
      client.stream.response?.resume()
      yield* client.awaitResponse(1)
      const steps = client.messages.slice(1, -1).map(({ params }) => params?.["progress"])
      assert.deepStrictEqual(steps, Array.from({ length: 3000 }, (_, step) => step + 1))
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("is disconnected after writeTimeout, and its session ends with the reason", () =>
    Effect.gen(function*() {
      const { handlers, state } = busyTools()
      const server = yield* serveSse(handlers, {
        sse: { maxStreamCharacters: 50_000, writeTimeout: "100 millis" }
      })
      const client = yield* connectSse(server, {}, "2025-11-25")
      const bystander = yield* connectSse(server, {}, "2025-11-25")
      client.stream.stall()
      yield* client.call(1, "flood")
      yield* until(() => state.interrupted === 1)
      yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 1 })
      const [reason] = reasonsOf(server)
      assert.strictEqual(reason?._tag, "TransportFailed")
      assert.include(reason?._tag === "TransportFailed" ? String(reason.cause) : "", "does not read")
      client.stream.response?.resume()
      yield* until(() => client.stream.isClosed)
      assert.isFalse(client.stream.ended)
      assert.isFalse(bystander.stream.isClosed)
      assert.property(yield* bystander.request("ping"), "result")
    }))

  it.live("does not delay the shutdown of the server", () =>
    Effect.gen(function*() {
      const { handlers, state } = busyTools()
      const server = yield* serveSse(handlers, { sse: { maxStreamCharacters: 10_000 } })
      const client = yield* connectSse(server, {}, "2025-11-25")
      client.stream.stall()
      yield* client.call(1, "flood")
      yield* untilStable(() => state.steps)
      yield* server.stop
      assert.deepStrictEqual(server.logs, [])
    }))
})

describe("the shutdown of a server of HTTP+SSE", () => {
  it.live("[law 2] leaves no fiber, also of clients that have disconnected at any time", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      const logs: Array<string> = []
      const { handlers } = busyTools()
      const scope = yield* Scope.make()
      const layer = HttpSseServer.layerNode({ port: 0 }).pipe(
        Layer.provideMerge(hostOf(handlers, {})),
        Layer.provide(Authentication.anonymous),
        Layer.provideMerge(collectLogs(logs))
      )
      const context = yield* fibers.count(Layer.buildWithScope(Layer.fresh(layer), scope))
      const { address } = Context.get(context, HttpServer)
      const port = address._tag === "UnixPathAddress" ? 0 : address.port
      const before = fibers.living()
      const disconnecting = yield* Effect.forEach(Array.from({ length: 10 }), () => connectSse({ port }))
      for (const client of disconnecting) {
        yield* client.call(1, "wait")
        client.stream.disconnect()
      }
      for (let times = 0; times < 10; times++) {
        const stream = yield* send({ port }, { method: "GET", path: "/sse" })
        // Before, during and after the request is sent.
        if (times % 3 > 0) yield* Effect.sleep(times % 3 - 1)
        stream.disconnect()
      }
      yield* until(() => fibers.living() === before)
      const connected = yield* Effect.forEach([1, 2, 3], () => connectSse({ port }))
      for (const client of connected) yield* client.call(1, "wait")
      yield* Scope.close(scope, Exit.void)
      yield* until(() => connected.every(({ stream }) => stream.ended))
      yield* until(() => fibers.living() === 0)
      assert.deepStrictEqual(logs, [])
    }))
})

/** The requirement of every network server to know from whom requests come, and what becomes of an `identify` that fails. */
import type { SessionHost } from "@effect-mcp/session"
import { Authentication, HttpSseServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { exchange, connect, initialize } from "../../support/httpClient.ts"
import { openSse } from "../../support/httpSse.ts"
import { hostOf, serve, serveWith, tools } from "../../support/server.ts"

const handlers = tools({})

const tokens = Authentication.layerBearer({ verify: () => Effect.undefined })

const info = { name: "test", version: "1.0.0" }

/** The Layers of every network server, each with all it needs besides the `Authentication`. */
const host = hostOf(handlers, {})
const servers = {
  streamableHttp: Layer.provide(StreamableHttpServer.layerNode({ port: 0 }), host),
  sessionless: StreamableHttpServer.layerNodeSessionless(handlers, { info, port: 0 }),
  httpSse: Layer.provide(HttpSseServer.layerNode({ port: 0 }), host),
  webSocket: Layer.provide(WebSocketServer.layerNode({ port: 0 }), host)
}

type Needed<L> = L extends Layer.Layer<infer _Provided, infer _Error, infer Required> ? Required : "no Layer"

describe("the requirement of an Authentication", () => {
  it("[HTTP-14] is that of every Layer that listens on a network", () => {
    expectTypeOf<Needed<typeof servers[keyof typeof servers]>>().toEqualTypeOf<Authentication.Authentication>()
    expectTypeOf<Authentication.Authentication>().toExtend<
      Needed<ReturnType<typeof StreamableHttpServer.layer>>
    >()
    expectTypeOf<Authentication.Authentication>().toExtend<
      Needed<ReturnType<typeof StreamableHttpServer.layerSessionless>>
    >()
    expectTypeOf<Authentication.Authentication>().toExtend<Needed<ReturnType<typeof HttpSseServer.layer>>>()
    expectTypeOf<Authentication.Authentication>().toExtend<Needed<ReturnType<typeof WebSocketServer.layer>>>()
  })

  it("[HTTP-14] leaves a program that does not compile if it is merged beside a server instead of provided to it", () => {
    /** The programs that `NodeRuntime.runMain` takes, among others: they lack no service. */
    type Runnable = Effect.Effect<never, unknown>
    const beside = Layer.launch(Layer.merge(servers.streamableHttp, tokens))
    expectTypeOf(beside).not.toExtend<Runnable>()
    expectTypeOf<Effect.Services<typeof beside>>().toEqualTypeOf<Authentication.Authentication>()
    expectTypeOf(Layer.launch(Layer.provide(servers.streamableHttp, tokens))).toExtend<Runnable>()
    expectTypeOf(Layer.launch(Layer.provide(servers.streamableHttp, Authentication.anonymous))).toExtend<Runnable>()
  })

  it("[HTTP-14] is that of a web handler, too", () => {
    type Given = Parameters<typeof StreamableHttpServer.toWebHandler>[0]
    expectTypeOf<Layer.Layer<SessionHost.SessionHost>>().not.toExtend<Given>()
    expectTypeOf<Layer.Layer<Authentication.Authentication | SessionHost.SessionHost>>().toExtend<Given>()
  })
})

type Identify = Authentication.Authentication["Service"]["identify"]

/** Calls of `identify` that come to no identity, and the status that each is answered with. */
const failing: ReadonlyArray<readonly [string, Identify, number]> = [
  ["hangs", () => Effect.never, 503],
  ["hangs and cannot be interrupted", () => Effect.uninterruptible(Effect.never), 503],
  ["dies", () => Effect.die(new Error("broken")), 500],
  ["throws", () => {
    throw new Error("broken")
  }, 500],
  ["is interrupted", () => Effect.interrupt, 500]
]

describe.concurrent("an Authentication", () => {
  for (const [name, identify, status] of failing) {
    it.live(`[HTTP-14] that ${name} accepts no request, and each is answered with ${status}`, () =>
      Effect.gen(function*() {
        const http = { identifyTimeout: "20 millis" } as const
        const authentication = { identify }
        const streamable = yield* serve(handlers, { http, authentication })
        for (
          const answer of [
            yield* exchange(streamable, { body: initialize("2025-11-25") }),
            yield* exchange(streamable, { method: "GET" })
          ]
        ) {
          assert.strictEqual(answer.status, status)
          assert.isNumber(answer.messages[0]?.error?.code)
        }
        assert.strictEqual((yield* streamable.host.sessions).length, 0)
        // The same failure may come with each request: one line says it for ten seconds.
        assert.strictEqual(streamable.logs.length, 1)
        assert.include(streamable.logs[0], "Authentication.identify")

        const older = yield* serveWith(HttpSseServer.layerNode({ port: 0, ...http }), handlers, { authentication })
        const stream = yield* openSse(older)
        assert.strictEqual(stream.stream.status, status)
        const sockets = yield* serveWith(WebSocketServer.layerNode({ port: 0, ...http }), handlers, { authentication })
        const upgrade = yield* exchange(sockets, { method: "GET" })
        assert.strictEqual(upgrade.status, status)
      }))
  }

  it.live("that is slow holds up its own request only", () =>
    Effect.gen(function*() {
      const slow = yield* Deferred.make<void>()
      const server = yield* serve(handlers, {
        authentication: {
          identify: ({ headers }) =>
            headers["x-user"] === "slow"
              ? Effect.as(Deferred.await(slow), { id: "slow" })
              : Effect.succeed(headers["x-user"] === undefined ? "anonymous" : { id: headers["x-user"] })
        }
      })
      const waiting = yield* Effect.forkChild(connect(server, { headers: { "x-user": "slow" } }))
      yield* connect(server, { headers: { "x-user": "ada" } })
      yield* connect(server)
      const principals = Effect.map(server.host.sessions, (sessions) => sessions.map(({ principal }) => principal))
      assert.deepStrictEqual(yield* principals, ["ada", undefined])
      yield* Deferred.succeed(slow, undefined)
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(yield* principals, ["ada", undefined, "slow"])
    }))
})

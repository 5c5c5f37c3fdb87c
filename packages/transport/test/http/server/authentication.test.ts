/** The requirement of an `Authentication` for every network server, and calls of `identify` that fail. */
import type { SessionHost } from "@effect-mcp/session"
import {
  Authentication,
  HttpSseServer,
  StatelessHttpServer,
  StreamableHttpServer,
  WebSocketServer
} from "@effect-mcp/transport/node"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { connect, exchange, initialize } from "../../support/httpClient.ts"
import { openSse } from "../../support/httpSse.ts"
import { hostOf, serve, serveWith, tools } from "../../support/server.ts"

const handlers = tools({})

const tokens = Authentication.layerBearer({ verify: () => Effect.undefined })

const info = { name: "test", version: "1.0.0" }

/** The Layers of all network servers, each provided with everything except the `Authentication`. */
const host = hostOf(handlers, {})
const servers = {
  streamableHttp: Layer.provide(StreamableHttpServer.layerNode({ port: 0 }), host),
  stateless: StatelessHttpServer.layerNode(handlers, { info, port: 0 }),
  httpSse: Layer.provide(HttpSseServer.layerNode({ port: 0 }), host),
  webSocket: Layer.provide(WebSocketServer.layerNode({ port: 0 }), host)
}

type RequirementsOf<L> = L extends Layer.Layer<infer _Provided, infer _Error, infer Required> ? Required : "no Layer"

describe("the requirement of an Authentication", () => {
  it("[HTTP-14] exists for every Layer that listens on a network", () => {
    expectTypeOf<RequirementsOf<typeof servers[keyof typeof servers]>>().toEqualTypeOf<Authentication.Authentication>()
    expectTypeOf<Authentication.Authentication>().toExtend<
      RequirementsOf<ReturnType<typeof StreamableHttpServer.layer>>
    >()
    expectTypeOf<Authentication.Authentication>().toExtend<
      RequirementsOf<ReturnType<typeof StatelessHttpServer.layer>>
    >()
    expectTypeOf<Authentication.Authentication>().toExtend<RequirementsOf<ReturnType<typeof HttpSseServer.layer>>>()
    expectTypeOf<Authentication.Authentication>().toExtend<RequirementsOf<ReturnType<typeof WebSocketServer.layer>>>()
  })

  it("[HTTP-14] fails to compile if the Authentication is merged with a server instead of provided to it", () => {
    /** A program without requirements, which `NodeRuntime.runMain` accepts. */
    type Runnable = Effect.Effect<never, unknown>
    const merged = Layer.launch(Layer.merge(servers.streamableHttp, tokens))
    expectTypeOf(merged).not.toExtend<Runnable>()
    expectTypeOf<Effect.Services<typeof merged>>().toEqualTypeOf<Authentication.Authentication>()
    expectTypeOf(Layer.launch(Layer.provide(servers.streamableHttp, tokens))).toExtend<Runnable>()
    expectTypeOf(Layer.launch(Layer.provide(servers.streamableHttp, Authentication.anonymous))).toExtend<Runnable>()
  })

  it("[HTTP-14] exists for a web handler", () => {
    type Given = Parameters<typeof StreamableHttpServer.toWebHandler>[0]
    expectTypeOf<Layer.Layer<SessionHost.SessionHost>>().not.toExtend<Given>()
    expectTypeOf<Layer.Layer<Authentication.Authentication | SessionHost.SessionHost>>().toExtend<Given>()
  })
})

type Identify = Authentication.Authentication["Service"]["identify"]

/** Calls of `identify` that return no identity, and the status of each response. */
const failing: ReadonlyArray<readonly [string, Identify, number]> = [
  ["hangs", () => Effect.never, 503],
  ["hangs and cannot be interrupted", () => Effect.uninterruptible(Effect.never), 503],
  ["dies", () => Effect.die(new Error("broken")), 500],
  ["throws", () => {
    throw new Error("broken")
  }, 500],
  ["is interrupted", () => Effect.interrupt, 500],
  ["is not available", () => Effect.fail(new Authentication.Unavailable({ cause: new Error("down") })), 503]
]

describe.concurrent("an Authentication", () => {
  for (const [name, identify, status] of failing) {
    it.live(`[HTTP-14] that ${name} rejects every request with ${status}`, () =>
      Effect.gen(function*() {
        const http = { identifyTimeout: "20 millis" } as const
        const authentication = { identify }
        const streamable = yield* serve(handlers, { http, authentication })
        for (
          const response of [
            yield* exchange(streamable, { body: initialize("2025-11-25") }),
            yield* exchange(streamable, { method: "GET" })
          ]
        ) {
          assert.strictEqual(response.status, status)
          assert.isNumber(response.messages[0]?.error?.code)
        }
        assert.strictEqual((yield* streamable.host.sessions).length, 0)
        // The same failure may occur with each request, so it is logged once in ten seconds.
        assert.strictEqual(streamable.logs.length, 1)
        assert.include(streamable.logs[0], "Authentication.identify")

        const httpSse = yield* serveWith(HttpSseServer.layerNode({ port: 0, ...http }), handlers, { authentication })
        const stream = yield* openSse(httpSse)
        assert.strictEqual(stream.stream.status, status)
        const webSocket = yield* serveWith(WebSocketServer.layerNode({ port: 0, ...http }), handlers, {
          authentication
        })
        const upgrade = yield* exchange(webSocket, { method: "GET" })
        assert.strictEqual(upgrade.status, status)
      }))
  }

  it.live("[AUT-44] rejects malformed credentials with 400, and adds its headers to every response", () =>
    Effect.gen(function*() {
      const challenge = "Bearer error=\"invalid_request\""
      const identify: Identify = ({ headers }) =>
        headers["authorization"] === undefined
          ? Effect.fail(new Authentication.InvalidRequest({ challenge }))
          : Effect.succeed("anonymous")
      const context = yield* Layer.build(
        Authentication.layer(identify, { headers: () => ({ "dpop-nonce": "n1" }) })
      )
      const server = yield* serve(handlers, { authentication: Context.get(context, Authentication.Authentication) })
      const rejected = yield* exchange(server, { body: initialize("2025-11-25") })
      assert.strictEqual(rejected.status, 400)
      assert.strictEqual(rejected.headers["www-authenticate"], challenge)
      assert.strictEqual(rejected.headers["dpop-nonce"], "n1")
      const request = {
        body: initialize("2025-11-25"),
        headers: { authorization: "Bearer t", origin: `http://127.0.0.1:${server.port}` }
      }
      const accepted = yield* exchange(server, request)
      assert.strictEqual(accepted.status, 200)
      assert.strictEqual(accepted.headers["dpop-nonce"], "n1")
      // A page can read the nonce.
      assert.include(accepted.headers["access-control-expose-headers"], "dpop-nonce")

      // A header that breaks the response is left out.
      const broken: ReadonlyArray<() => Record<string, string>> = [() => ({ "dpop-nonce": "a\r\nx: 1" }), () => {
        throw new Error("broken")
      }]
      for (const headers of broken) {
        const other = yield* serve(handlers, { authentication: { identify, headers } })
        const response = yield* exchange(other, request)
        assert.strictEqual(response.status, 200)
        assert.isUndefined(response.headers["dpop-nonce"])
      }
    }))

  it.live("[AUT-03] rejects an identity that has expired with 401, with the challenge of the authentication", () =>
    Effect.gen(function*() {
      const expired = { identify: () => Effect.succeed({ id: "ada", expiresAt: Date.now() - 1 }) }
      const challenges: ReadonlyArray<readonly [Authentication.Authentication["Service"]["challenge"], string]> = [
        [undefined, "Bearer error=\"invalid_token\""],
        [(problem) => Authentication.challengeOf(problem, { realm: "notes" }), "realm=\"notes\""],
        [() => "DPoP error=\"invalid_token\"", "DPoP"],
        // A challenge that a header cannot have, or none, is replaced by the default.
        [() => "Bearer\r\nx-injected: 1", "Bearer error=\"invalid_token\""],
        [() => {
          throw new Error("broken")
        }, "Bearer error=\"invalid_token\""]
      ]
      for (const [challenge, expected] of challenges) {
        const server = yield* serve(handlers, { authentication: { ...expired, challenge } })
        for (const request of [{ body: initialize("2025-11-25") }, { method: "GET" }, { method: "DELETE" }] as const) {
          const response = yield* exchange(server, request)
          assert.strictEqual(response.status, 401)
          assert.include(response.headers["www-authenticate"], expected)
        }
        assert.strictEqual((yield* server.host.sessions).length, 0)
      }
      const valid = { identify: () => Effect.succeed({ id: "ada", expiresAt: Date.now() + 60_000 }) }
      const server = yield* serve(handlers, { authentication: valid })
      assert.strictEqual((yield* exchange(server, { body: initialize("2025-11-25") })).status, 200)
    }))

  it.live("[HTTP-14] rejects a sender that is not allowed with 403, and names the challenge if there is one", () =>
    Effect.gen(function*() {
      const challenge = "Bearer error=\"insufficient_scope\""
      for (const own of [challenge, undefined]) {
        const authentication = { identify: () => Effect.fail(new Authentication.Forbidden({ challenge: own })) }
        const server = yield* serve(handlers, { authentication })
        const response = yield* exchange(server, { body: initialize("2025-11-25") })
        assert.deepStrictEqual([response.status, response.headers["www-authenticate"]], [403, own])
        assert.deepStrictEqual(server.logs, [])
      }
    }))

  it.live("that is not available sends the time to wait", () =>
    Effect.gen(function*() {
      const unavailable = new Authentication.Unavailable({ retryAfterMillis: 4200 })
      const server = yield* serve(handlers, { authentication: { identify: () => Effect.fail(unavailable) } })
      const response = yield* exchange(server, { body: initialize("2025-11-25") })
      assert.deepStrictEqual([response.status, response.headers["retry-after"]], [503, "5"])
    }))

  it.live("may need services, which are those of its Layer", () =>
    Effect.gen(function*() {
      class Users extends Context.Service<Users, ReadonlyMap<string, string>>()("test/Users") {}
      const users = new Map([["adas-secret", "ada"]])
      const verify = (token: Redacted.Redacted<string>) =>
        Effect.map(Users, (known) => {
          const id = known.get(Redacted.value(token))
          return id === undefined ? undefined : { id }
        })
      const layer = Authentication.layerBearer({ verify })
      expectTypeOf<RequirementsOf<typeof layer>>().toEqualTypeOf<Users>()
      const context = yield* Layer.build(Layer.provide(layer, Layer.succeed(Users, users)))
      const server = yield* serve(handlers, { authentication: Context.get(context, Authentication.Authentication) })
      yield* connect(server, { headers: { authorization: "Bearer adas-secret" } })
      assert.deepStrictEqual((yield* server.host.sessions).map(({ principal }) => principal), ["ada"])
      const rejected = yield* exchange(server, {
        body: initialize("2025-11-25"),
        headers: { authorization: "Bearer bobs-secret" }
      })
      assert.strictEqual(rejected.status, 401)
    }))

  it.live("that is slow delays only its own request", () =>
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

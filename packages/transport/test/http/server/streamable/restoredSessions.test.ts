import { EventStore, RequestContext, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { until } from "../../../support/process.ts"
import { Client, connect } from "../../../support/httpClient.ts"
import { serve, type Served, type Settings, text, tools } from "../../../support/server.ts"

const shared = Effect.map(
  Layer.build(Layer.merge(EventStore.layerMemory(), SessionStore.layerMemory())),
  (context) => ({
    store: Context.get(context, EventStore.EventStore),
    sessionStore: Context.get(context, SessionStore.SessionStore)
  })
)

const handlers = tools({
  now: Effect.succeed(text("now")),
  aloud: Effect.as(RequestContext.progress({ progress: 1 }), text("aloud")),
  forever: Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never)
})

/** The same client, at another server. */
const at = (server: { readonly port: number }, { headers, id, scope }: Client) => new Client(server, id, headers, scope)

describe.concurrent("a session that another host goes on with", () => {
  const authentication: Settings["authentication"] = {
    identify: ({ headers }) => Effect.succeed({ id: headers["x-user"] ?? "nobody" })
  }

  for (
    const [name, go] of [
      ["a POST", (client: Client) => client.ping()],
      ["a notification", (client: Client) => client.notify("notifications/roots/list_changed")],
      ["a GET", (client: Client) => client.get()]
    ] as const
  ) {
    it.live(`goes on with ${name}, as it was`, () =>
      Effect.gen(function*() {
        const settings = { ...(yield* shared), authentication }
        const first = yield* serve(handlers, settings)
        const client = yield* connect(first, { revision: "2025-06-18", headers: { "x-user": "ada" } })
        yield* first.stop
        const second = yield* serve(handlers, settings)
        const again = at(second, client)
        const stolen = yield* go(
          new Client(second, client.id, { ...client.headers, "x-user": "bob" }, client.scope)
        )
        assert.strictEqual(stolen.status, 404)
        const answer = yield* go(again)
        assert.isBelow(answer.status, 300)
        const [session] = yield* second.host.sessions
        assert.deepInclude(session, { id: client.id, principal: "ada", revision: "2025-06-18" })
        const call = yield* again.call(1, "now")
        yield* call.awaitEnd
        assert.deepStrictEqual(call.messages[0]?.result, { ...text("now") })
        assert.strictEqual((yield* again.delete).status, 204)
        yield* second.stop
        const third = yield* serve(handlers, settings)
        assert.strictEqual((yield* at(third, client).ping()).status, 404)
        assert.deepStrictEqual([first.logs, second.logs, third.logs], [[], [], []])
      }))
  }

  it.live("has what it missed of a stream, whether that had ended or was broken off with its host", () =>
    Effect.gen(function*() {
      const settings = { ...(yield* shared), http: { responseMode: "stream" as const } }
      const first = yield* serve(handlers, settings)
      const client = yield* connect(first)
      const ended = yield* client.call("ended", "aloud")
      yield* ended.awaitEnd
      const cut = yield* client.call("cut", "forever")
      yield* cut.awaitMessages(1)
      cut.disconnect()
      yield* first.stop
      const again = at(yield* serve(handlers, settings), client)
      const rest = yield* again.get(ended.events[0]?.id)
      yield* rest.awaitEnd
      assert.deepStrictEqual(rest.messages, ended.messages)
      assert.isTrue(rest.ended)
      const broken = yield* again.get(cut.lastId)
      yield* broken.awaitEnd
      assert.deepStrictEqual(broken.messages.map(({ error, id }) => [id, typeof error?.code]), [["cut", "number"]])
      assert.isTrue(broken.ended)
      // What it is told from now on can be taken up again, too.
      const call = yield* again.call("new", "aloud")
      yield* call.awaitEnd
      assert.strictEqual(call.events[0]?.data, "")
      const ids = [...ended.events, ...cut.events, ...broken.events, ...call.events].map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length)
    }))

  it.live("[SHS-12] has a standalone stream of that host, once it has what it missed of the other's", () =>
    Effect.gen(function*() {
      const settings = { ...(yield* shared), session: { capabilities: { logging: {} } } }
      const log = (server: Served, data: string) =>
        server.host.find(client.id)?.session.log({ level: "info", data }) ?? Effect.die("no session")
      const first = yield* serve(handlers, settings)
      const client = yield* connect(first)
      const before = yield* client.get()
      yield* until(() => before.lastId !== undefined)
      yield* log(first, "missed")
      yield* before.awaitMessages(1)
      const [primed] = before.events
      yield* first.stop
      const second = yield* serve(handlers, settings)
      const again = at(second, client)
      const rest = yield* again.get(primed?.id)
      yield* rest.awaitEnd
      assert.deepStrictEqual(rest.messages.map(({ params }) => params?.["data"]), ["missed"])
      // It would come back for ever, and hear nothing.
      const nothing = yield* again.get(rest.lastId)
      assert.strictEqual(nothing.status, 400)
      const live = yield* again.get()
      yield* log(second, "live")
      yield* live.awaitMessages(1)
      assert.deepStrictEqual(live.messages.map(({ params }) => params?.["data"]), ["live"])
    }))

  it.live("is restored once, though all of its requests come at the same time", () =>
    Effect.gen(function*() {
      const settings = yield* shared
      const first = yield* serve(handlers, settings)
      const client = yield* connect(first)
      yield* first.stop
      const second = yield* serve(handlers, settings)
      const again = at(second, client)
      const answers = yield* Effect.forEach(Array.from({ length: 10 }, (_, id) => id), (id) => again.ping(id), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(answers.map(({ messages: [message] }) => message?.id), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      assert.strictEqual((yield* second.host.sessions).length, 1)
    }))

  it.live("is not taken for lost while its host is about to go", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const settings = {
        ...(yield* shared),
        session: { limits: { gracefulCloseTimeout: "10 seconds" } }
      } as const
      const server = yield* serve(tools({ wait: Effect.as(Deferred.await(go), text("done")) }), settings)
      const client = yield* connect(server)
      const call = yield* client.call(1, "wait")
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
      const draining = yield* Effect.forkChild(server.host.drain, { startImmediately: true })
      yield* Effect.repeat(server.host.health, { until: (health) => health.draining })
      const refused = yield* client.ping(7)
      assert.strictEqual(refused.status, 503)
      // By then this host has gone.
      assert.strictEqual(refused.headers["retry-after"], "10")
      assert.strictEqual(refused.messages[0]?.id, 7)
      yield* Deferred.succeed(go, undefined)
      yield* call.awaitEnd
      assert.deepStrictEqual(call.messages[0]?.result, { ...text("done") })
      yield* until(() => draining.pollUnsafe() !== undefined)
      const other = yield* serve(handlers, settings)
      assert.strictEqual((yield* at(other, client).ping()).status, 200)
    }))

  it.live("cannot be saved when the store throws, and is opened all the same", () =>
    Effect.gen(function*() {
      const { sessionStore } = yield* shared
      const server = yield* serve(handlers, {
        sessionStore: {
          ...sessionStore,
          save: () => {
            throw new Error("the store is gone")
          }
        }
      })
      const client = yield* connect(server)
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "SessionStoreFailed" ? [event.operation] : []),
        ["save"]
      )
      assert.strictEqual(server.logs.length, 1)
    }))

  it.live("cannot be looked up while the store fails, and is not lost then", () =>
    Effect.gen(function*() {
      const { sessionStore, store } = yield* shared
      const first = yield* serve(handlers, { sessionStore, store })
      const client = yield* connect(first)
      yield* first.stop
      let failing = true
      const second = yield* serve(handlers, {
        sessionStore: {
          ...sessionStore,
          load: (id) =>
            failing
              ? Effect.fail(new SessionStore.SessionStoreError({ cause: new Error("the store is gone") }))
              : sessionStore.load(id)
        }
      })
      const refused = yield* at(second, client).ping()
      assert.strictEqual(refused.status, 503)
      assert.isUndefined(refused.headers["retry-after"])
      assert.strictEqual(second.logs.length, 1)
      failing = false
      assert.strictEqual((yield* at(second, client).ping()).status, 200)
    }))
})

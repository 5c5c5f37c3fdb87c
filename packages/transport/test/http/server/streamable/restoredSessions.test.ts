import { ErrorCode } from "@effect-mcp/protocol"
import { EventStore, RequestContext, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Client, connect } from "../../../support/httpClient.ts"
import { until } from "../../../support/process.ts"
import { serve, type Served, type Settings, text, tools } from "../../../support/server.ts"

const sharedStores = Effect.map(
  Layer.build(Layer.merge(EventStore.layerMemory(), SessionStore.layerMemory())),
  (context) => ({
    store: Context.get(context, EventStore.EventStore),
    sessionStore: Context.get(context, SessionStore.SessionStore)
  })
)

const handlers = tools({
  now: Effect.succeed(text("now")),
  reports: Effect.as(RequestContext.progress({ progress: 1 }), text("reported")),
  forever: Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never)
})

/** Returns the same client at another server. */
const clientAt = (server: { readonly port: number }, { headers, id, scope }: Client) =>
  new Client(server, id, headers, scope)

describe.concurrent("a session that another host restores", () => {
  const authentication: Settings["authentication"] = {
    identify: ({ headers }) => Effect.succeed({ id: headers["x-user"] ?? "unknown" })
  }

  for (
    const [name, sendFirst] of [
      ["a POST", (client: Client) => client.ping()],
      ["a notification", (client: Client) => client.notify("notifications/roots/list_changed")],
      ["a GET", (client: Client) => client.get()]
    ] as const
  ) {
    it.live(`continues unchanged with ${name}`, () =>
      Effect.gen(function*() {
        const settings = { ...(yield* sharedStores), authentication }
        const first = yield* serve(handlers, settings)
        const client = yield* connect(first, { revision: "2025-06-18", headers: { "x-user": "ada" } })
        yield* first.stop
        const second = yield* serve(handlers, settings)
        const again = clientAt(second, client)
        const stolen = yield* sendFirst(
          new Client(second, client.id, { ...client.headers, "x-user": "bob" }, client.scope)
        )
        assert.strictEqual(stolen.status, 404)
        const response = yield* sendFirst(again)
        assert.isBelow(response.status, 300)
        const [session] = yield* second.host.sessions
        assert.deepInclude(session, { id: client.id, principal: "ada", revision: "2025-06-18" })
        const call = yield* again.call(1, "now")
        yield* call.awaitEnd
        assert.deepStrictEqual(call.messages[0]?.result, { ...text("now") })
        assert.strictEqual((yield* again.delete).status, 204)
        yield* second.stop
        const third = yield* serve(handlers, settings)
        assert.strictEqual((yield* clientAt(third, client).ping()).status, 404)
        assert.deepStrictEqual([first.logs, second.logs, third.logs], [[], [], []])
      }))
  }

  it.live("[law 3] takes no answer to a question of the first host, whose calls end as outcome unknown", () =>
    Effect.gen(function*() {
      const ask = RequestContext.elicit({ message: "?", requestedSchema: { type: "object", properties: {} } })
      const asking = tools({
        ask: Effect.map(Effect.orDie(ask), ({ content }) => text(JSON.stringify(content)))
      })
      const settings = yield* sharedStores
      const first = yield* serve(asking, settings)
      const client = yield* connect(first, { capabilities: { elicitation: {} } })
      const old = yield* client.call(1, "ask")
      yield* old.awaitMessages(1)
      const second = yield* serve(asking, settings)
      const again = clientAt(second, client)
      const call = yield* again.call(2, "ask")
      yield* call.awaitMessages(1)
      const answer = (at: Client, question: typeof call, to: string) =>
        at.respond(question.messages[0]?.id, { action: "accept", content: { to } })
      yield* answer(again, old, "the old question")
      yield* answer(client, call, "the new question")
      yield* answer(again, call, "the new question")
      yield* answer(client, old, "the old question")
      yield* Effect.all([old.awaitEnd, call.awaitEnd])
      assert.deepStrictEqual(call.messages[1]?.result, { ...text(JSON.stringify({ to: "the new question" })) })
      const unmatched = second.events.flatMap((event) => event._tag === "UnmatchedResponse" ? [event.kind] : [])
      assert.deepStrictEqual(unmatched, ["Unknown"])
      // The first host sent nothing after the second one had the session. The stream goes on there.
      assert.deepStrictEqual(old.messages.map(({ method }) => method), ["elicitation/create"])
      const rest = yield* again.get(old.lastId)
      yield* rest.awaitEnd
      assert.deepStrictEqual(rest.messages.map(({ error, id, method }) => [method, id, error?.code]), [
        ["notifications/cancelled", undefined, undefined],
        [undefined, 1, ErrorCode.OutcomeUnknown]
      ])
      assert.strictEqual(rest.messages[0]?.params?.["requestId"], old.messages[0]?.id)
    }))

  it.live("resumes streams of the first host, also one that ended with that host", () =>
    Effect.gen(function*() {
      const settings = { ...(yield* sharedStores), http: { responseMode: "stream" as const } }
      const first = yield* serve(handlers, settings)
      const client = yield* connect(first)
      const ended = yield* client.call("ended", "reports")
      yield* ended.awaitEnd
      const lost = yield* client.call("lost", "forever")
      yield* lost.awaitMessages(1)
      lost.disconnect()
      yield* first.stop
      const again = clientAt(yield* serve(handlers, settings), client)
      const rest = yield* again.get(ended.events[0]?.id)
      yield* rest.awaitEnd
      assert.deepStrictEqual(rest.messages, ended.messages)
      assert.isTrue(rest.ended)
      const broken = yield* again.get(lost.lastId)
      yield* broken.awaitEnd
      assert.deepStrictEqual(broken.messages.map(({ error, id }) => [id, typeof error?.code]), [["lost", "number"]])
      assert.isTrue(broken.ended)
      // New streams can be resumed, too.
      const call = yield* again.call("new", "reports")
      yield* call.awaitEnd
      assert.strictEqual(call.events[0]?.data, "")
      const ids = [...ended.events, ...lost.events, ...broken.events, ...call.events].map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length)
    }))

  it.live("[SHS-12] continues the standalone stream of the first host", () =>
    Effect.gen(function*() {
      const settings = { ...(yield* sharedStores), session: { capabilities: { logging: {} } } }
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
      yield* before.awaitEnd
      const second = yield* serve(handlers, settings)
      const again = clientAt(second, client)
      const rest = yield* again.get(primed?.id)
      yield* rest.awaitMessages(1)
      yield* log(second, "live")
      yield* rest.awaitMessages(2)
      assert.deepStrictEqual(rest.messages.map(({ params }) => params?.["data"]), ["missed", "live"])
    }))

  it.live("is restored once for requests that arrive at the same time", () =>
    Effect.gen(function*() {
      const settings = yield* sharedStores
      const first = yield* serve(handlers, settings)
      const client = yield* connect(first)
      yield* first.stop
      const second = yield* serve(handlers, settings)
      const again = clientAt(second, client)
      const responses = yield* Effect.forEach(Array.from({ length: 10 }, (_, id) => id), (id) => again.ping(id), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(responses.map(({ messages: [message] }) => message?.id), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      assert.strictEqual((yield* second.host.sessions).length, 1)
    }))

  it.live("is rejected with 503 instead of 404 while its host drains", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const settings = {
        ...(yield* sharedStores),
        session: { limits: { gracefulTimeout: "10 seconds" } }
      } as const
      const server = yield* serve(tools({ wait: Effect.as(Deferred.await(released), text("done")) }), settings)
      const client = yield* connect(server)
      const call = yield* client.call(1, "wait")
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
      const draining = yield* Effect.forkChild(server.host.drain, { startImmediately: true })
      yield* Effect.repeat(server.host.health, { until: (health) => health.draining })
      const rejected = yield* client.ping(7)
      assert.strictEqual(rejected.status, 503)
      // After that time, this host has stopped.
      assert.strictEqual(rejected.headers["retry-after"], "10")
      assert.strictEqual(rejected.messages[0]?.id, 7)
      yield* Deferred.succeed(released, undefined)
      yield* call.awaitEnd
      assert.deepStrictEqual(call.messages[0]?.result, { ...text("done") })
      yield* until(() => draining.pollUnsafe() !== undefined)
      const other = yield* serve(handlers, settings)
      assert.strictEqual((yield* clientAt(other, client).ping()).status, 200)
    }))

  it.live("is not deleted by the first host, whose client gets 503 and sends DELETE again", () =>
    Effect.gen(function*() {
      const settings = yield* sharedStores
      const first = yield* serve(handlers, settings)
      const client = yield* connect(first)
      const second = yield* serve(handlers, settings)
      const again = clientAt(second, client)
      assert.strictEqual((yield* again.ping()).status, 200)
      assert.strictEqual((yield* client.delete).status, 503)
      assert.strictEqual((yield* again.ping()).status, 200)
      assert.strictEqual((yield* again.delete).status, 204)
      assert.isUndefined(yield* settings.sessionStore.load(client.id ?? ""))
    }))

  it.live("is opened although the store throws when it is saved", () =>
    Effect.gen(function*() {
      const { sessionStore } = yield* sharedStores
      const server = yield* serve(handlers, {
        sessionStore: {
          ...sessionStore,
          create: () => {
            throw new Error("the store is not available")
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

  it.live("is rejected with 503 while the store fails, and restored after that", () =>
    Effect.gen(function*() {
      const { sessionStore, store } = yield* sharedStores
      const first = yield* serve(handlers, { sessionStore, store })
      const client = yield* connect(first)
      yield* first.stop
      let failing = true
      const second = yield* serve(handlers, {
        sessionStore: {
          ...sessionStore,
          load: (id) =>
            failing
              ? Effect.fail(new SessionStore.SessionStoreError({ cause: new Error("the store is not available") }))
              : sessionStore.load(id)
        }
      })
      const rejected = yield* clientAt(second, client).ping()
      assert.strictEqual(rejected.status, 503)
      assert.strictEqual(rejected.headers["retry-after"], "5")
      assert.strictEqual(second.logs.length, 1)
      failing = false
      assert.strictEqual((yield* clientAt(second, client).ping()).status, 200)
    }))
})

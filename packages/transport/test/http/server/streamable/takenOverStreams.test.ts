/** The streams of a session that had not ended when the session got another owner. */
import { ErrorCode } from "@effect-mcp/protocol"
import { EventStore, RequestContext, SessionOwners, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { makeStores, startProcess } from "../../../support/fleet.ts"
import { Client, connect, type ReceivedResponse } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { until } from "../../../support/process.ts"
import { serve, type Served, text, tools } from "../../../support/server.ts"

const stores = {
  "in memory": Effect.map(Layer.build(EventStore.layerMemory()), Context.get(EventStore.EventStore)),
  slow: Effect.sync(() => new MapEventStore(() => 3).service)
}

const sessionStoreInMemory = Effect.map(
  Layer.build(SessionStore.layerMemory()),
  Context.get(SessionStore.SessionStore)
)

const ask = Effect.orDie(
  RequestContext.elicit({ message: "?", requestedSchema: { type: "object", properties: {} } })
)

const handlers = tools({
  ask: Effect.map(ask, ({ content }) => text(JSON.stringify(content))),
  forever: Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never)
})

const clientAt = (server: { readonly port: number }, { headers, id, scope }: Client) =>
  new Client(server, id, headers, scope)

const settings = {
  session: { capabilities: { logging: {} } },
  http: { responseMode: "stream" }
} as const

const log = (server: Served, client: Client, data: string) =>
  server.host.find(client.id)?.session.log({ level: "info", data }) ?? Effect.die("no session")

const summary = ({ messages }: ReceivedResponse) =>
  messages.map(({ error, id, method, params }) =>
    method === "notifications/message" ? params?.["data"] : method ?? [id, error?.code]
  )

describe.concurrent("the streams of an earlier owner", () => {
  for (const [name, makeStore] of Object.entries(stores)) {
    it.live(`of requests end with one error, and their questions are cancelled (store ${name})`, () =>
      Effect.gen(function*() {
        const shared = { ...settings, store: yield* makeStore, sessionStore: yield* sessionStoreInMemory }
        const first = yield* serve(handlers, shared)
        const client = yield* connect(first, { capabilities: { elicitation: {} } })
        const asking = yield* client.call("a", "ask")
        yield* asking.awaitMessages(1)
        const running = yield* client.call("b", "forever")
        yield* running.awaitMessages(1)
        for (const response of [asking, running]) response.disconnect()
        // The first host is paused, and not stopped. A stopped one would end its streams itself.
        const second = yield* serve(handlers, shared)
        const again = clientAt(second, client)
        const [restA, restB] = yield* Effect.all([again.get(asking.lastId), again.get(running.lastId)], {
          concurrency: "unbounded"
        })
        yield* Effect.all([restA.awaitEnd, restB.awaitEnd])
        assert.isTrue(restA.ended && restB.ended)
        assert.deepStrictEqual(summary(restA), ["notifications/cancelled", ["a", ErrorCode.OutcomeUnknown]])
        assert.strictEqual(restA.messages[0]?.params?.["requestId"], asking.messages[0]?.id)
        assert.deepStrictEqual(summary(restB), [["b", ErrorCode.OutcomeUnknown]])
        assert.deepStrictEqual(restB.messages[0]?.error?.data, { outcome: "unknown" })
        // The error exists once, also after a third owner.
        const third = clientAt(yield* serve(handlers, shared), client)
        const whole = yield* third.get(running.events[0]?.id)
        yield* whole.awaitEnd
        assert.deepStrictEqual(summary(whole), ["notifications/progress", ["b", ErrorCode.OutcomeUnknown]])
        assert.deepStrictEqual([first.logs, second.logs], [[], []])
      }))

    it.live(`[SHS-16] without requests go on under their names (store ${name})`, () =>
      Effect.gen(function*() {
        const shared = { ...settings, store: yield* makeStore, sessionStore: yield* sessionStoreInMemory }
        const first = yield* serve(handlers, shared)
        const client = yield* connect(first)
        const live = yield* client.get()
        yield* log(first, client, "before")
        yield* live.awaitMessages(1)
        const second = yield* serve(handlers, shared)
        const again = clientAt(second, client)
        assert.strictEqual((yield* again.ping()).status, 200)
        yield* log(second, client, "waiting")
        const resumed = yield* again.get(live.lastId)
        assert.strictEqual(resumed.status, 200)
        yield* resumed.awaitMessages(1)
        yield* log(second, client, "after")
        yield* resumed.awaitMessages(2)
        assert.deepStrictEqual(summary(resumed), ["waiting", "after"])
        assert.isFalse(resumed.ended)
        // It is the one standalone stream of the session.
        assert.strictEqual((yield* again.get()).status, 409)
        const once = yield* again.get(live.events[0]?.id)
        yield* once.awaitMessages(3)
        assert.deepStrictEqual(summary(once), ["before", "waiting", "after"])
      }))
  }

  it.live("end without an error and a cancellation after their response", () =>
    Effect.gen(function*() {
      const map = new MapEventStore()
      const shared = { ...settings, store: map.service, sessionStore: yield* sessionStoreInMemory }
      const first = yield* serve(handlers, shared)
      const client = yield* connect(first, { capabilities: { elicitation: {} } })
      const call = yield* client.call("c", "ask")
      yield* call.awaitMessages(1)
      // The process ends after it has stored the response, and before it has ended the stream.
      map.broken.end = "fails"
      yield* client.respond(call.messages[0]?.id, { action: "accept", content: {} })
      yield* call.awaitEnd
      map.broken.end = undefined
      const again = clientAt(yield* serve(handlers, shared), client)
      const rest = yield* again.get(call.events[0]?.id)
      yield* rest.awaitEnd
      assert.deepStrictEqual(summary(rest), ["elicitation/create", ["c", undefined]])
      assert.isTrue(rest.ended)
    }))

  it.live("cost the session nothing if the store fails, and end with the next attempt to resume them", () =>
    Effect.gen(function*() {
      const map = new MapEventStore()
      const shared = { ...settings, store: map.service, sessionStore: yield* sessionStoreInMemory }
      const client = yield* connect(yield* serve(handlers, shared))
      const running = yield* client.call("b", "forever")
      yield* running.awaitMessages(1)
      running.disconnect()
      const second = yield* serve(handlers, shared)
      const again = clientAt(second, client)
      map.broken.takeOver = "dies"
      assert.strictEqual((yield* again.ping()).status, 200)
      assert.strictEqual(second.logs.length, 1)
      assert.include(second.logs[0], "the streams of a session that was taken over do not end")
      map.broken.takeOver = undefined
      const call = yield* again.call("c", "forever")
      yield* call.awaitMessages(1)
      const rest = yield* again.get(running.lastId)
      yield* rest.awaitEnd
      assert.deepStrictEqual(summary(rest), [["b", ErrorCode.OutcomeUnknown]])
      // The second attempt has not ended the streams of the new owner.
      assert.isFalse(call.ended)
    }))

  it.live("end once, also if several clients resume them at the same time after the store has failed", () =>
    Effect.gen(function*() {
      const map = new MapEventStore(() => 20)
      const shared = { ...settings, store: map.service, sessionStore: yield* sessionStoreInMemory }
      const client = yield* connect(yield* serve(handlers, shared))
      const running = yield* client.call("b", "forever")
      yield* running.awaitMessages(1)
      running.disconnect()
      const again = clientAt(yield* serve(handlers, shared), client)
      map.broken.takeOver = "fails"
      assert.strictEqual((yield* again.ping()).status, 200)
      map.broken.takeOver = undefined
      map.calls.takeOver = 0
      const responses = yield* Effect.all(Array.from({ length: 3 }, () => again.get(running.events[0]?.id)), {
        concurrency: "unbounded"
      })
      yield* Effect.all(responses.map(({ awaitEnd }) => awaitEnd))
      for (const response of responses) {
        assert.deepStrictEqual(summary(response), ["notifications/progress", ["b", ErrorCode.OutcomeUnknown]])
      }
      assert.strictEqual(map.calls.takeOver, 1)
    }))

  it.live("are rejected with 503 while they cannot be ended, and end with the next attempt to resume them", () =>
    Effect.gen(function*() {
      const map = new MapEventStore()
      const shared = { ...settings, store: map.service, sessionStore: yield* sessionStoreInMemory }
      const client = yield* connect(yield* serve(handlers, shared))
      const running = yield* client.call("b", "forever")
      yield* running.awaitMessages(1)
      running.disconnect()
      const again = clientAt(yield* serve(handlers, shared), client)
      map.broken.append = "fails"
      assert.strictEqual((yield* again.ping()).status, 200)
      const rejected = yield* again.get(running.lastId)
      assert.strictEqual(rejected.status, 503)
      map.broken.append = undefined
      const rest = yield* again.get(running.lastId)
      yield* rest.awaitEnd
      assert.deepStrictEqual(summary(rest), [["b", ErrorCode.OutcomeUnknown]])
    }))
})

describe.concurrent("the calls of a host that shuts down", () => {
  it.live("end as outcome unknown if they do not end in time, and their questions are cancelled", () =>
    Effect.gen(function*() {
      const shared = {
        session: { limits: { gracefulTimeout: "200 millis" } },
        store: yield* stores["in memory"],
        sessionStore: yield* sessionStoreInMemory
      } as const
      const server = yield* serve(tools({ ask: Effect.as(ask, text("asked")), forever: Effect.never }), shared)
      const client = yield* connect(server, { capabilities: { elicitation: {} } })
      const asking = yield* client.call("a", "ask")
      const json = yield* client.call("j", "forever")
      const stream = yield* client.call("s", "forever")
      yield* asking.awaitMessages(1)
      yield* until(() => stream.lastId !== undefined)
      const late = yield* client.call("l", "forever")
      // Four requests of the client, and the question.
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 5 })
      yield* server.stop
      const calls = [asking, json, stream, late]
      yield* Effect.all(calls.map(({ awaitEnd }) => awaitEnd))
      assert.deepStrictEqual(calls.map((call) => summary(call).slice(-1)), [
        [["a", ErrorCode.OutcomeUnknown]],
        [["j", ErrorCode.OutcomeUnknown]],
        [["s", ErrorCode.OutcomeUnknown]],
        [["l", ErrorCode.OutcomeUnknown]]
      ])
      assert.deepStrictEqual(summary(asking).slice(0, 2), ["elicitation/create", "notifications/cancelled"])
      assert.deepStrictEqual([late.status, late.isStream], [502, false])
      // The next host knows the same ends.
      const again = clientAt(yield* serve(handlers, shared), client)
      const rest = yield* again.get(stream.events[0]?.id)
      yield* rest.awaitEnd
      assert.deepStrictEqual(summary(rest), [["s", ErrorCode.OutcomeUnknown]])
    }))
})

describe.concurrent("a stream whose session has another owner", () => {
  it.live("is not resumed while its process has no lease, also if the lease ends while the store is read", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      const { ownerStore, store } = stores
      const read = yield* Deferred.make<void>()
      let isAway = false
      const away = Effect.fail(new SessionOwners.SessionOwnersError({ cause: "away" }))
      const server = yield* startProcess({
        ...stores,
        ownerStore: { ...ownerStore, renew: (lease) => isAway ? away : ownerStore.renew(lease) },
        store: {
          ...store,
          replay: (session, after) => Effect.andThen(Deferred.await(read), store.replay(session, after))
        }
      }, handlers)
      const client = yield* connect(server)
      const call = yield* client.call("b", "forever")
      yield* call.awaitMessages(1)
      call.disconnect()
      const resumed = yield* Effect.forkChild(client.get(call.events[0]?.id))
      isAway = true
      yield* until(() => !server.owners.isAlive())
      yield* Deferred.succeed(read, undefined)
      yield* Effect.sleep("200 millis")
      assert.isUndefined(resumed.pollUnsafe())
      isAway = false
      assert.strictEqual((yield* Fiber.join(resumed)).status, 200)
    }))

  it.live("sends neither the event that the store rejects nor a later one, and ends without a final event", () =>
    Effect.gen(function*() {
      const store = yield* stores["in memory"]
      const step = yield* Deferred.make<void>()
      const walk = Effect.gen(function*() {
        yield* RequestContext.progress({ progress: 1 })
        yield* Deferred.await(step)
        for (const progress of [2, 3]) yield* RequestContext.progress({ progress })
        return text("done")
      })
      const server = yield* serve(tools({ walk, forever: Effect.never }), { ...settings, store })
      const client = yield* connect(server)
      const call = yield* client.call("w", "walk")
      const other = yield* client.call("o", "forever")
      yield* call.awaitMessages(1)
      yield* until(() => other.lastId !== undefined)
      yield* store.takeOver(client.id, 2)
      yield* Deferred.succeed(step, undefined)
      yield* Effect.all([call.awaitEnd, other.awaitEnd])
      assert.deepStrictEqual([summary(call), call.ended], [["notifications/progress"], true])
      assert.deepStrictEqual([summary(other), other.ended], [[], true])
      yield* until(() => server.host.find(client.id) === undefined)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("has its final response once: a store that is slow to reject it has not sent it", () =>
    Effect.gen(function*() {
      const store = yield* stores["in memory"]
      const finish = yield* Deferred.make<void>()
      const walk = Effect.andThen(
        RequestContext.progress({ progress: 1 }),
        Effect.as(Deferred.await(finish), text("done"))
      )
      const server = yield* serve(tools({ walk }), {
        ...settings,
        store: {
          ...store,
          append: (stream, data) => Effect.delay(Effect.suspend(() => store.append(stream, data)), 50)
        }
      })
      const client = yield* connect(server)
      const call = yield* client.call("w", "walk")
      yield* call.awaitMessages(1)
      yield* Deferred.succeed(finish, undefined)
      yield* store.takeOver(client.id, 2)
      yield* call.awaitEnd
      assert.deepStrictEqual(summary(call), ["notifications/progress"])
      assert.deepStrictEqual((yield* store.takeOver(client.id, 2)).map(({ events }) => events.length), [2])
    }))

  for (const isRenewed of [true, false]) {
    const title = isRenewed
      ? "sends an event that cannot be stored when the lease of its process stands again"
      : "sends no event that cannot be stored while its process has no lease, and breaks off"
    it.live(title, () =>
      Effect.gen(function*() {
        const stores = yield* makeStores
        const { ownerStore, store } = stores
        const faults = { owners: false, events: false }
        const away = Effect.fail(new SessionOwners.SessionOwnersError({ cause: "away" }))
        const lost = Effect.fail(new EventStore.EventStoreError({ cause: "away" }))
        const finish = yield* Deferred.make<void>()
        const walk = Effect.andThen(
          RequestContext.progress({ progress: 1 }),
          Effect.as(Deferred.await(finish), text("done"))
        )
        const server = yield* startProcess({
          ...stores,
          ownerStore: {
            renew: (lease) => faults.owners ? away : ownerStore.renew(lease),
            retire: (process) => ownerStore.retire(process),
            locate: (session) => ownerStore.locate(session),
            claim: (session, epoch, lease) => ownerStore.claim(session, epoch, lease),
            release: (session, epoch) => ownerStore.release(session, epoch),
            remove: (session, epoch) => ownerStore.remove(session, epoch),
            lost: (process, sessions) => ownerStore.lost(process, sessions)
          },
          store: { ...store, append: (stream, data) => faults.events ? lost : store.append(stream, data) }
        }, tools({ walk }))
        const client = yield* connect(server)
        const call = yield* client.call("w", "walk")
        yield* call.awaitMessages(1)
        faults.owners = true
        faults.events = true
        yield* until(() => !server.owners.isAlive())
        yield* Deferred.succeed(finish, undefined)
        yield* Effect.sleep(300)
        assert.deepStrictEqual([summary(call), call.ended], [["notifications/progress"], false])
        faults.owners = !isRenewed
        yield* call.awaitEnd
        const answers = isRenewed ? [["w", undefined]] : []
        assert.deepStrictEqual(summary(call), ["notifications/progress", ...answers])
        assert.strictEqual(call.ended, isRenewed)
      }), 30_000)
  }
})

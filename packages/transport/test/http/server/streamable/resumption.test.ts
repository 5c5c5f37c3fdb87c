import { EventStore, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { type Client, connect, type ReceivedResponse } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { until } from "../../../support/process.ts"
import { serve, type Served, text, tools } from "../../../support/server.ts"

const stores = {
  "in memory": Effect.map(Layer.build(EventStore.layerMemory()), Context.get(EventStore.EventStore)),
  slow: Effect.sync(() => new MapEventStore(() => 3).service),
  "sometimes slow": Effect.sync(() => {
    let turn = 0
    return new MapEventStore(() => turn++ % 3 === 0 ? 2 : undefined).service
  })
}

/** Creates a tool that reports the steps in a queue, and releases its stream for "release", until "end". */
const stepping = Effect.gen(function*() {
  const steps = yield* Queue.unbounded<number | "end" | "release">()
  const walk = Effect.gen(function*() {
    while (true) {
      const step = yield* Queue.take(steps)
      if (step === "end") return text("done")
      if (step === "release") {
        const context = yield* RequestContext.RequestContext
        if (!(yield* context.releaseStream)) return text("not released")
      } else yield* RequestContext.progress({ progress: step })
    }
  })
  return { steps, handlers: tools({ walk, now: Effect.succeed(text("now")) }) }
})

/** Returns the messages of streams: the steps, the log data, and the ids of the replies. */
const messagesOf = (...responses: ReadonlyArray<ReceivedResponse>) =>
  responses.flatMap(({ messages }) =>
    messages.map(({ id, method, params }) =>
      method === "notifications/progress"
        ? params?.["progress"]
        : method === "notifications/message"
        ? params?.["data"]
        : `reply ${id}`
    )
  )

const log = (server: Served, client: Client, data: unknown) =>
  server.host.find(client.id)?.session.log({ level: "info", data }) ?? Effect.die("no session")

const withLogging = { capabilities: { logging: {} } }

describe.concurrent("resumption", () => {
  for (const [name, make] of Object.entries(stores)) {
    it.live(`[SHS-04] [SHS-10] resumes the stream of a POST, while it is open and after its end (store ${name})`, () =>
      Effect.gen(function*() {
        const { handlers, steps } = yield* stepping
        const server = yield* serve(handlers, { store: yield* make })
        const client = yield* connect(server)
        const call = yield* client.call("w", "walk")
        yield* Queue.offerAll(steps, [1, 2, 3])
        yield* call.awaitMessages(3)
        call.disconnect()
        yield* Queue.offerAll(steps, [4, 5])
        const second = yield* client.get(call.lastId)
        assert.strictEqual(second.status, 200)
        assert.isTrue(second.isStream)
        yield* second.awaitMessages(2)
        yield* Queue.offerAll(steps, [6])
        yield* second.awaitMessages(3)
        second.disconnect()
        yield* Queue.offerAll(steps, [7, "end"])
        yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
        const third = yield* client.get(second.lastId)
        yield* third.awaitEnd
        assert.isTrue(third.ended)
        assert.deepStrictEqual(messagesOf(call, second, third), [1, 2, 3, 4, 5, 6, 7, "reply w"])
        // Events can be replayed again, also from the first one.
        const all = yield* client.get(call.events[0]?.id)
        yield* all.awaitEnd
        assert.deepStrictEqual(messagesOf(all), [1, 2, 3, 4, 5, 6, 7, "reply w"])
        // There is nothing to resume after the last event (SHS-13). After an empty stream, clients would reconnect.
        const nothing = yield* client.get(third.lastId)
        assert.strictEqual(nothing.status, 405)
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`[SHS-16] [SHS-20] continues the standalone stream with its own messages only (store ${name})`, () =>
      Effect.gen(function*() {
        const { handlers, steps } = yield* stepping
        const server = yield* serve(handlers, { store: yield* make, session: withLogging })
        const client = yield* connect(server)
        const other = yield* connect(server)
        const first = yield* client.get()
        const others = yield* other.get()
        const call = yield* client.call("w", "walk")
        yield* log(server, client, "a")
        yield* log(server, other, "other")
        yield* Queue.offerAll(steps, [1])
        yield* first.awaitMessages(1)
        yield* call.awaitMessages(1)
        first.disconnect()
        yield* Effect.repeat(server.host.sessions, {
          until: (all) => all.find(({ id }) => id === client.id)?.held === 0
        })
        yield* log(server, client, "b")
        yield* Queue.offerAll(steps, [2])
        yield* log(server, other, "other")
        yield* call.awaitMessages(2)
        const again = yield* client.get(first.lastId)
        yield* again.awaitMessages(1)
        yield* log(server, client, "c")
        yield* again.awaitMessages(2)
        assert.deepStrictEqual(messagesOf(first, again), ["a", "b", "c"])
        // The resumed stream replaces the earlier response even if the server has not noticed that it is lost.
        const takeover = yield* client.get(again.lastId)
        assert.strictEqual(takeover.status, 200)
        yield* again.awaitEnd
        yield* log(server, client, "d")
        yield* takeover.awaitMessages(1)
        assert.deepStrictEqual(messagesOf(takeover), ["d"])
        yield* Queue.offerAll(steps, ["end"])
        yield* call.awaitEnd
        assert.deepStrictEqual(messagesOf(call), [1, 2, "reply w"])
        yield* others.awaitMessages(2)
        assert.deepStrictEqual(messagesOf(others), ["other", "other"])
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`[SHS-04] [SHS-05] continues a stream that its handler has released (store ${name})`, () =>
      Effect.gen(function*() {
        const { handlers, steps } = yield* stepping
        const server = yield* serve(handlers, { store: yield* make, http: { retryInterval: "50 millis" } })
        const client = yield* connect(server)
        // The handler releases its stream before its first message.
        const call = yield* client.call("w", "walk")
        yield* Queue.offerAll(steps, ["release"])
        yield* call.awaitEnd
        assert.isTrue(call.ended)
        assert.deepStrictEqual(call.retries, ["50"])
        assert.deepStrictEqual(messagesOf(call), [])
        yield* Queue.offerAll(steps, [1, 2])
        const second = yield* client.get(call.lastId)
        yield* second.awaitMessages(2)
        yield* Queue.offerAll(steps, ["release", 3, "end"])
        yield* second.awaitEnd
        assert.isTrue(second.ended)
        const third = yield* client.get(second.lastId)
        yield* third.awaitEnd
        assert.deepStrictEqual(messagesOf(call, second, third), [1, 2, 3, "reply w"])
        assert.deepStrictEqual(server.logs, [])
      }))

    const plan = Schema.Struct({
      calls: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(3)
      ),
      cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 25 }))).check(Schema.isMaxLength(6))
    })

    it.live(`[SHS-16] [SHS-17] [SHS-20] delivers each message once, in order, wherever streams break (${name})`, () =>
      Effect.gen(function*() {
        const flood = tools({
          flood: ({ count }) =>
            Effect.gen(function*() {
              for (let progress = 1; progress <= Number(count); progress++) {
                yield* RequestContext.progress({ progress, message: "x".repeat(progress % 7 === 0 ? 20_000 : 10) })
                if (progress % 5 === 0) yield* Effect.sleep("1 millis")
              }
              return text("done")
            })
        })
        const server = yield* serve(flood, {
          store: yield* make,
          http: { responseMode: "stream", maxStreamCharacters: 30_000 },
          session: withLogging
        })
        const outcome = yield* Arbitrary.checkEffect(
          Arbitrary.schema(plan),
          ({ calls, cuts }) =>
            Effect.scoped(Effect.gen(function*() {
              const client = yield* connect(server)
              const ids: Array<string> = []
              /** Reads a stream to its end, and breaks the connection after each number of messages in `cuts`. */
              const read = Effect.fnUntraced(function*(response: ReceivedResponse, from: number) {
                const parts = [response]
                for (let index = from; index < from + cuts.length; index++) {
                  const part = parts.at(-1)
                  if (part === undefined) break
                  yield* until(() => part.lastId !== undefined || part.isClosed)
                  const wanted = cuts[index % cuts.length] ?? 0
                  yield* until(() => part.messages.length >= wanted || part.isClosed)
                  part.disconnect()
                  const next = yield* client.get(parts.findLast(({ lastId }) => lastId !== undefined)?.lastId)
                  // The client had all messages.
                  if (next.status === 405) break
                  assert.strictEqual(next.status, 200, next.text)
                  parts.push(next)
                }
                yield* parts.at(-1)?.awaitEnd ?? Effect.void
                ids.push(...parts.flatMap(({ events }) => events.flatMap(({ id }) => id ?? [])))
                return messagesOf(...parts)
              })
              const all = yield* Effect.forEach(
                calls,
                (count, index) =>
                  Effect.flatMap(client.call(index, "flood", { count }), (response) => read(response, index)),
                { concurrency: "unbounded" }
              )
              for (const [index, count] of calls.entries()) {
                assert.deepStrictEqual(all[index], [
                  ...Array.from({ length: count }, (_, step) => step + 1),
                  `reply ${index}`
                ])
              }
              assert.strictEqual(new Set(ids).size, ids.length)
              yield* client.delete
              return true
            })),
          { runs: 12 }
        )
        assert.strictEqual(outcome._tag, "Passed", JSON.stringify(outcome))
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("[SHS-20] rejects an invalid event id, and one of another session, with 400", () =>
    Effect.gen(function*() {
      const server = yield* serve((yield* stepping).handlers, {
        store: new MapEventStore().service,
        http: { responseMode: "stream" }
      })
      const client = yield* connect(server)
      const other = yield* connect(server)
      const secret = yield* other.call("secret", "now")
      yield* secret.awaitEnd
      const id = secret.events[0]?.id ?? ""
      assert.isNotEmpty(id)
      for (const forged of [id, "1", "x".repeat(5000), id.replace(/\d$/, "9"), "__proto__", "../../etc", "\"", ""]) {
        const response = yield* client.get(forged)
        yield* response.awaitEnd
        assert.strictEqual(response.status, 400)
        assert.notInclude(response.text, "secret")
      }
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("[SHS-03] [SHS-05] begins each stream with a priming event and a retry field from 2025-11-25 on", () =>
    Effect.gen(function*() {
      for (const store of [new MapEventStore().service, new MapEventStore(() => 2).service]) {
        const server = yield* serve((yield* stepping).handlers, {
          store,
          http: { responseMode: "stream", retryInterval: "3 seconds" }
        })
        for (
          const [revision, primed] of [["2025-11-25", true], ["2025-06-18", false], ["2025-03-26", false]] as const
        ) {
          const client = yield* connect(server, { revision })
          const standalone = yield* client.get()
          const call = yield* client.call(1, "now")
          yield* call.awaitEnd
          if (primed) yield* until(() => standalone.events.length > 0)
          for (const response of [standalone, call]) {
            assert.strictEqual(response.events[0]?.data === "", primed)
            assert.deepStrictEqual(response.retries, primed ? ["3000"] : [])
          }
          assert.deepStrictEqual(messagesOf(call), ["reply 1"])
          assert.isTrue(call.events.every(({ id }) => id !== undefined))
        }
      }
    }))

  it.live("[SHS-02] releases no stream of a client with an earlier revision", () =>
    Effect.gen(function*() {
      const { handlers, steps } = yield* stepping
      const server = yield* serve(handlers, { store: new MapEventStore().service })
      const client = yield* connect(server, { revision: "2025-06-18" })
      const call = yield* client.call(1, "walk")
      yield* Queue.offerAll(steps, [1, "release"])
      yield* call.awaitEnd
      assert.deepStrictEqual(call.messages.at(-1)?.result, { ...text("not released") })
    }))

  it.live("does not exist without a store: events have no ids, and a GET opens a new stream", () =>
    Effect.gen(function*() {
      const { handlers, steps } = yield* stepping
      const server = yield* serve(handlers, { http: { responseMode: "stream" } })
      const client = yield* connect(server)
      const call = yield* client.call(1, "walk")
      yield* Queue.offerAll(steps, [1, "release"])
      yield* call.awaitEnd
      assert.deepStrictEqual(call.messages.at(-1)?.result, { ...text("not released") })
      assert.isTrue(call.events.every(({ id }) => id === undefined))
      assert.deepStrictEqual(call.retries, [])
      assert.strictEqual((yield* client.get("4711")).status, 200)
    }))

  it.live("suspends the senders of a stream while its client reads missed events", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const store = yield* Effect.map(
        Layer.build(
          EventStore.layerMemory({ maxEventsPerStream: 200, maxBytesPerStream: 2 ** 26, maxBytesPerSession: 2 ** 26 })
        ),
        Context.get(EventStore.EventStore)
      )
      const server = yield* serve(
        tools({
          flood: Effect.gen(function*() {
            // More bytes than the buffers of a socket hold.
            const message = "x".repeat(200_000)
            for (let progress = 1; progress <= 100; progress++) yield* RequestContext.progress({ progress, message })
            yield* Deferred.await(released)
            for (let progress = 101; progress <= 5000; progress++) yield* RequestContext.progress({ progress })
            return text("done")
          })
        }),
        { store, http: { maxStreamCharacters: 2000 } }
      )
      const client = yield* connect(server)
      const call = yield* client.call("f", "flood")
      yield* until(() => call.lastId !== undefined)
      call.disconnect()
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 0 })
      const rest = yield* client.get(call.events[0]?.id)
      rest.stall()
      yield* Deferred.succeed(released, undefined)
      yield* Effect.sleep("100 millis")
      rest.response?.resume()
      yield* rest.awaitEnd
      assert.deepStrictEqual(messagesOf(rest), [...Array.from({ length: 5000 }, (_, step) => step + 1), "reply f"])
    }))

  it.live("removes the events of a session after a DELETE, and keeps them after a shutdown", () =>
    Effect.gen(function*() {
      for (const delay of [undefined, 3]) {
        const store = new MapEventStore(() => delay)
        const report = Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never)
        const server = yield* serve(tools({ report }), { store: store.service })
        const client = yield* connect(server)
        const other = yield* connect(server)
        for (const one of [client, other]) {
          const standalone = yield* one.get()
          const call = yield* one.call(1, "report")
          yield* call.awaitMessages(1)
          yield* until(() => standalone.lastId !== undefined)
        }
        assert.sameMembers(Array.from(store.streams.keys()), [client.id, other.id])
        yield* client.delete
        assert.deepStrictEqual(Array.from(store.streams.keys()), [other.id])
        yield* server.stop
        const remaining = Array.from(store.streams.get(other.id)?.values() ?? [])
        assert.deepStrictEqual(remaining.map(({ ended }) => ended), [true, true])
        assert.deepStrictEqual(Array.from(store.streams.keys()), [other.id])
        assert.deepStrictEqual(server.logs, [])
      }
    }))

  it.live("is lost while the store fails, and all messages are delivered", () =>
    Effect.gen(function*() {
      for (const delay of [undefined, 2]) {
        const store = new MapEventStore(() => delay)
        const { handlers, steps } = yield* stepping
        const server = yield* serve(handlers, { store: store.service })
        const client = yield* connect(server)
        const call = yield* client.call("w", "walk")
        yield* Queue.offerAll(steps, [1])
        yield* call.awaitMessages(1)
        store.failing = true
        yield* Queue.offerAll(steps, [2, 3, "end"])
        yield* call.awaitEnd
        assert.deepStrictEqual(messagesOf(call), [1, 2, 3, "reply w"])
        const resumed = yield* client.get(call.lastId)
        assert.strictEqual(resumed.status, 503)
        assert.strictEqual(resumed.headers["retry-after"], "5")
        const waiting = yield* client.call("v", "walk")
        yield* Queue.offerAll(steps, [1])
        yield* waiting.awaitMessages(1)
        yield* client.delete
        yield* waiting.awaitEnd
        assert.isTrue(waiting.ended)
        assert.strictEqual(waiting.messages.at(-1)?.id, "v")
        assert.isAbove(server.logs.length, 0)
        assert.isBelow(server.logs.length, 8)
      }
    }))
})

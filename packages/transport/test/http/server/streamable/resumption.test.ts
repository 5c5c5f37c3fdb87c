import { EventStore, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { until } from "../../../support/process.ts"
import { type ReceivedResponse, type Client, connect } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { serve, type Served, text, tools } from "../../../support/server.ts"

const stores = {
  "in memory": Effect.map(Layer.build(EventStore.layerMemory()), Context.get(EventStore.EventStore)),
  slow: Effect.sync(() => new MapEventStore(() => 3).service),
  "sometimes slow": Effect.sync(() => {
    let turn = 0
    return new MapEventStore(() => turn++ % 3 === 0 ? 2 : undefined).service
  })
}

/** Says the steps that it is given, until there are none. */
const stepping = Effect.gen(function*() {
  const steps = yield* Queue.unbounded<number | "end" | "release">()
  const walk = Effect.gen(function*() {
    while (true) {
      const step = yield* Queue.take(steps)
      if (step === "end") return text("arrived")
      if (step === "release") {
        const context = yield* RequestContext.RequestContext
        if (!(yield* context.releaseStream)) return text("not released")
      } else yield* RequestContext.progress({ progress: step })
    }
  })
  return { steps, handlers: tools({ walk, now: Effect.succeed(text("now")) }) }
})

/** What was said on a stream: steps, and the id of a reply. */
const said = (...answers: ReadonlyArray<ReceivedResponse>) =>
  answers.flatMap(({ messages }) =>
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
    it.live(`[SHS-04] [SHS-10] a POST's stream goes on where it broke off, in mid-flood and behind its end (store ${name})`, () =>
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
        assert.deepStrictEqual(said(call, second, third), [1, 2, 3, 4, 5, 6, 7, "reply w"])
        // What was fetched can be fetched again, and from the beginning.
        const all = yield* client.get(call.events[0]?.id)
        yield* all.awaitEnd
        assert.deepStrictEqual(said(all), [1, 2, 3, 4, 5, 6, 7, "reply w"])
        // There is nothing to come back to behind the end (SHS-13); who gets a stream comes back to it.
        const none = yield* client.get(third.lastId)
        assert.strictEqual(none.status, 405)
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`[SHS-16] [SHS-20] the standalone stream likewise, and nothing of any other stream (store ${name})`, () =>
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
        assert.deepStrictEqual(said(first, again), ["a", "b", "c"])
        // Who comes back takes the place of an earlier response, whether that is known to be lost or not.
        const takeover = yield* client.get(again.lastId)
        assert.strictEqual(takeover.status, 200)
        yield* again.awaitEnd
        yield* log(server, client, "d")
        yield* takeover.awaitMessages(1)
        assert.deepStrictEqual(said(takeover), ["d"])
        yield* Queue.offerAll(steps, ["end"])
        yield* call.awaitEnd
        assert.deepStrictEqual(said(call), [1, 2, "reply w"])
        yield* others.awaitMessages(2)
        assert.deepStrictEqual(said(others), ["other", "other"])
        assert.deepStrictEqual(server.logs, [])
      }))

    it.live(`[SHS-04] [SHS-05] a handler may let go of its stream, and the client fetches the rest (store ${name})`, () =>
      Effect.gen(function*() {
        const { handlers, steps } = yield* stepping
        const server = yield* serve(handlers, { store: yield* make, http: { retryInterval: "50 millis" } })
        const client = yield* connect(server)
        // Nothing has been said yet when it lets go.
        const call = yield* client.call("w", "walk")
        yield* Queue.offerAll(steps, ["release"])
        yield* call.awaitEnd
        assert.isTrue(call.ended)
        assert.deepStrictEqual(call.retries, ["50"])
        assert.deepStrictEqual(said(call), [])
        yield* Queue.offerAll(steps, [1, 2])
        const second = yield* client.get(call.lastId)
        yield* second.awaitMessages(2)
        yield* Queue.offerAll(steps, ["release", 3, "end"])
        yield* second.awaitEnd
        assert.isTrue(second.ended)
        const third = yield* client.get(second.lastId)
        yield* third.awaitEnd
        assert.deepStrictEqual(said(call, second, third), [1, 2, 3, "reply w"])
        assert.deepStrictEqual(server.logs, [])
      }))

    const plan = Schema.Struct({
      calls: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(3)
      ),
      cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 25 }))).check(Schema.isMaxLength(6))
    })

    it.live(`[SHS-16] [SHS-17] [SHS-20] every message comes once and in order, wherever streams are cut (store ${name})`, () =>
      Effect.gen(function*() {
        const flood = tools({
          flood: ({ count }) =>
            Effect.gen(function*() {
              for (let progress = 1; progress <= Number(count); progress++) {
                yield* RequestContext.progress({ progress, message: "x".repeat(progress % 7 === 0 ? 20_000 : 10) })
                if (progress % 5 === 0) yield* Effect.sleep("1 millis")
              }
              return text("arrived")
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
              /** Reads a stream to its end, with all these cuts. */
              const read = Effect.fnUntraced(function*(answer: ReceivedResponse, from: number) {
                const parts = [answer]
                for (let index = from; index < from + cuts.length; index++) {
                  const part = parts.at(-1)
                  if (part === undefined) break
                  yield* until(() => part.lastId !== undefined || part.isClosed)
                  const wanted = cuts[index % cuts.length] ?? 0
                  yield* until(() => part.messages.length >= wanted || part.isClosed)
                  part.disconnect()
                  const next = yield* client.get(parts.findLast(({ lastId }) => lastId !== undefined)?.lastId)
                  // It had heard everything.
                  if (next.status === 405) break
                  assert.strictEqual(next.status, 200, next.text)
                  parts.push(next)
                }
                yield* parts.at(-1)?.awaitEnd ?? Effect.void
                ids.push(...parts.flatMap(({ events }) => events.flatMap(({ id }) => id ?? [])))
                return said(...parts)
              })
              const all = yield* Effect.forEach(
                calls,
                (count, index) =>
                  Effect.flatMap(client.call(index, "flood", { count }), (answer) => read(answer, index)),
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

  it.live("[SHS-20] an id that is none, or of another session, gets 400 and tells nothing", () =>
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
        const answer = yield* client.get(forged)
        yield* answer.awaitEnd
        assert.strictEqual(answer.status, 400)
        assert.notInclude(answer.text, "secret")
      }
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("[SHS-03] [SHS-05] a stream begins with an id and when to come back, for a client that knows of that", () =>
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
          for (const answer of [standalone, call]) {
            assert.strictEqual(answer.events[0]?.data === "", primed)
            assert.deepStrictEqual(answer.retries, primed ? ["3000"] : [])
          }
          assert.deepStrictEqual(said(call), ["reply 1"])
          assert.isTrue(call.events.every(({ id }) => id !== undefined))
        }
      }
    }))

  it.live("[SHS-02] a client that does not know of it is not let go", () =>
    Effect.gen(function*() {
      const { handlers, steps } = yield* stepping
      const server = yield* serve(handlers, { store: new MapEventStore().service })
      const client = yield* connect(server, { revision: "2025-06-18" })
      const call = yield* client.call(1, "walk")
      yield* Queue.offerAll(steps, [1, "release"])
      yield* call.awaitEnd
      assert.deepStrictEqual(call.messages.at(-1)?.result, { ...text("not released") })
    }))

  it.live("without a store there are no ids, nothing is let go, and a GET begins anew", () =>
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

  it.live("a client that is far behind is not outrun by what is still being said", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const store = yield* Effect.map(
        Layer.build(
          EventStore.layerMemory({ maxEventsPerStream: 200, maxBytesPerStream: 2 ** 26, maxBytesPerSession: 2 ** 26 })
        ),
        Context.get(EventStore.EventStore)
      )
      const server = yield* serve(
        tools({
          flood: Effect.gen(function*() {
            // More than the buffers of a socket take.
            const message = "x".repeat(200_000)
            for (let progress = 1; progress <= 100; progress++) yield* RequestContext.progress({ progress, message })
            yield* Deferred.await(go)
            for (let progress = 101; progress <= 5000; progress++) yield* RequestContext.progress({ progress })
            return text("arrived")
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
      yield* Deferred.succeed(go, undefined)
      yield* Effect.sleep("100 millis")
      rest.response?.resume()
      yield* rest.awaitEnd
      assert.deepStrictEqual(said(rest), [...Array.from({ length: 5000 }, (_, step) => step + 1), "reply f"])
    }))

  it.live("what was said in a session is forgotten when its client ends it, and kept when its host goes", () =>
    Effect.gen(function*() {
      for (const delay of [undefined, 3]) {
        const store = new MapEventStore(() => delay)
        const talk = Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never)
        const server = yield* serve(tools({ talk }), { store: store.service })
        const client = yield* connect(server)
        const other = yield* connect(server)
        for (const one of [client, other]) {
          const standalone = yield* one.get()
          const call = yield* one.call(1, "talk")
          yield* call.awaitMessages(1)
          yield* until(() => standalone.lastId !== undefined)
        }
        assert.sameMembers(Array.from(store.streams.keys()), [client.id, other.id])
        yield* client.delete
        assert.deepStrictEqual(Array.from(store.streams.keys()), [other.id])
        yield* server.stop
        const kept = Array.from(store.streams.get(other.id)?.values() ?? [])
        assert.deepStrictEqual(kept.map(({ ended }) => ended), [true, true])
        assert.deepStrictEqual(Array.from(store.streams.keys()), [other.id])
        assert.deepStrictEqual(server.logs, [])
      }
    }))

  it.live("a store that fails takes nobody's answer away, and says so once a stream", () =>
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
        assert.deepStrictEqual(said(call), [1, 2, 3, "reply w"])
        const resumed = yield* client.get(call.lastId)
        assert.strictEqual(resumed.status, 503)
        assert.isUndefined(resumed.headers["retry-after"])
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

import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { until } from "../../../support/process.ts"
import { connect } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { openSockets } from "../../../support/openSockets.ts"
import { serve, type Settings, text, tools } from "../../../support/server.ts"
import { untilStable } from "../../../support/eventLoop.ts"

const message = "x".repeat(10_000)

/** A tool that says much more than anybody takes at once, and how far it has come. */
const flooding = (steps: number) => {
  const state = { said: 0, interrupted: false }
  const flood = Effect.gen(function*() {
    for (let progress = 1; progress <= steps; progress++) {
      yield* RequestContext.progress({ progress, message })
      state.said = progress
    }
    return text("arrived")
  }).pipe(Effect.onInterrupt(() =>
    Effect.sync(() => {
      state.interrupted = true
    })
  ))
  return { state, handlers: tools({ flood, now: Effect.succeed(text("now")), never: Effect.never }) }
}

const stores = [
  ["without a store", () => undefined],
  ["with a store", () => new MapEventStore().service],
  ["with a slow store", () => new MapEventStore(() => 1).service]
] as const

describe("a reader that takes nothing", () => {
  for (const [name, store] of stores.slice(0, 2)) {
    it.live(`makes its own sender wait and nobody else, and has everything in the end (${name})`, () =>
      Effect.gen(function*() {
        const { handlers, state } = flooding(3000)
        const server = yield* serve(handlers, {
          store: store(),
          http: { maxStreamCharacters: 50_000 },
          session: { limits: { maxOutgoingMessages: 16 } }
        })
        const client = yield* connect(server)
        const other = yield* connect(server)
        const standalone = yield* client.get()
        const call = yield* client.call("f", "flood")
        yield* call.awaitHeaders
        call.stall()
        yield* untilStable(() => state.said)
        assert.isBelow(state.said, 2000)
        for (const one of [client, other]) {
          for (const answer of [yield* one.ping(), yield* one.call(2, "now")]) {
            yield* answer.awaitEnd
            assert.strictEqual(answer.status, 200)
          }
        }
        const pong = yield* Effect.forkChild(
          server.host.find(client.id)?.session.ping() ?? Effect.void,
          { startImmediately: true }
        )
        yield* standalone.awaitMessages(1)
        yield* client.respond(standalone.messages[0]?.id, {})
        yield* until(() => pong.pollUnsafe() !== undefined)
        assert.isBelow(state.said, 2000)
        call.response?.resume()
        yield* call.awaitEnd
        assert.isTrue(call.ended)
        const steps = call.messages.map(({ params }) => params?.["progress"]).slice(0, -1)
        assert.deepStrictEqual(steps, Array.from({ length: 3000 }, (_, step) => step + 1))
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("a standalone stream likewise", () =>
    Effect.gen(function*() {
      const { handlers } = flooding(0)
      const server = yield* serve(handlers, {
        http: { maxStreamCharacters: 50_000 },
        session: { capabilities: { logging: {} }, limits: { maxOutgoingMessages: 16 } }
      })
      const client = yield* connect(server)
      const standalone = yield* client.get()
      standalone.stall()
      let said = 0
      const session = server.host.find(client.id)?.session
      yield* Effect.forkChild(
        Effect.forever(Effect.andThen(
          session?.log({ level: "info", data: message }) ?? Effect.never,
          Effect.sync(() => said++)
        ))
      )
      yield* untilStable(() => said)
      assert.isBelow(said, 2000)
      const call = yield* client.call(1, "now")
      yield* call.awaitEnd
      assert.strictEqual(call.status, 200)
    }))

  it.live("is broken off in the end, and its request then has nobody who waits for it", () =>
    Effect.gen(function*() {
      const { handlers, state } = flooding(Number.POSITIVE_INFINITY)
      const server = yield* serve(handlers, {
        http: { maxStreamCharacters: 50_000, readerStallTimeout: "100 millis", detachedRequestTimeout: "100 millis" }
      })
      const client = yield* connect(server)
      const bystander = yield* client.get()
      const call = yield* client.call("f", "flood")
      yield* call.awaitHeaders
      call.stall()
      yield* until(() => state.interrupted)
      assert.deepStrictEqual(server.events.filter(({ _tag }) => _tag === "Abandoned"), [
        { _tag: "Abandoned", method: "tools/call", id: "f" }
      ])
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
      call.response?.resume()
      yield* call.awaitEnd
      assert.isFalse(call.ended)
      // Whoever only has nothing to take is not broken off.
      assert.isFalse(bystander.isClosed)
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(server.logs, [])
    }))

  for (const [name, store] of stores.slice(0, 2)) {
    it.live(`costs its session nothing but its stream, also if nothing has broken that off in time (${name})`, () =>
      Effect.gen(function*() {
        const { handlers, state } = flooding(Number.POSITIVE_INFINITY)
        const server = yield* serve(handlers, {
          store: store(),
          http: { maxStreamCharacters: 50_000, readerStallTimeout: "1 hour", detachedRequestTimeout: "100 millis" },
          session: { capabilities: { logging: {} }, limits: { writeTimeout: "200 millis" } }
        })
        const client = yield* connect(server)
        const standalone = yield* client.get()
        const call = yield* client.call("f", "flood")
        yield* call.awaitHeaders
        call.stall()
        standalone.stall()
        const session = server.host.find(client.id)?.session
        const logging = yield* Effect.forkChild(
          Effect.forever(session?.log({ level: "info", data: message }) ?? Effect.never)
        )
        yield* until(() => state.interrupted)
        // Both are given up, and only then read again.
        yield* Effect.repeat(Effect.andThen(Effect.yieldNow, server.host.sessions), {
          until: ([one]) => one?.held === 0
        })
        yield* Fiber.interrupt(logging)
        for (const stream of [call, standalone]) {
          stream.response?.resume()
          yield* stream.awaitEnd
          assert.isFalse(stream.ended)
        }
        const pong = yield* client.ping()
        assert.strictEqual(pong.status, 200)
        const later = yield* client.call(2, "now")
        yield* later.awaitEnd
        assert.strictEqual(later.status, 200)
        assert.isFalse(server.events.some(({ _tag }) => _tag === "Closed"))
      }))
  }

  it.live("and can come back for the rest, where there is a store", () =>
    Effect.gen(function*() {
      const { handlers, state } = flooding(3000)
      const server = yield* serve(handlers, {
        store: new MapEventStore().service,
        http: { maxStreamCharacters: 50_000, readerStallTimeout: "300 millis" }
      })
      const client = yield* connect(server)
      const call = yield* client.call("f", "flood")
      yield* call.awaitHeaders
      call.stall()
      yield* until(() => state.said === 3000)
      call.response?.resume()
      yield* call.awaitEnd
      const rest = yield* client.get(call.lastId)
      yield* rest.awaitEnd
      const all = [...call.messages, ...rest.messages].map(({ id, params }) => id ?? params?.["progress"])
      assert.deepStrictEqual(all, [...Array.from({ length: 3000 }, (_, step) => step + 1), "f"])
      assert.deepStrictEqual(server.logs, [])
    }))
})

describe.concurrent("a client that has lost its response", () => {
  /** A tool that says one thing, waits, and says another. */
  const waiting = (go: Deferred.Deferred<void>) => {
    const state = { finished: false, interrupted: false }
    const wait = ({ aloud }: { readonly [name: string]: unknown }) =>
      Effect.gen(function*() {
        if (aloud === true) yield* RequestContext.progress({ progress: 1 })
        yield* Deferred.await(go)
        yield* RequestContext.progress({ progress: 2 })
        state.finished = true
        return text("done")
      }).pipe(Effect.onInterrupt(() =>
        Effect.sync(() => {
          state.interrupted = true
        })
      ))
    return { state, handlers: tools({ wait }) }
  }

  const ways: ReadonlyArray<readonly [string, Settings["http"] & object, object]> = [
    ["before it began", {}, {}],
    ["in JSON", { responseMode: "json" }, {}],
    ["of a stream that had begun", { responseMode: "stream" }, {}],
    ["in the middle of a stream", {}, { aloud: true }]
  ]

  for (const [name, store] of stores) {
    for (const [way, http, args] of ways) {
      it.live(`[SHS-10] has cancelled nothing (${way}, ${name})`, () =>
        Effect.gen(function*() {
          const go = yield* Deferred.make<void>()
          const { handlers, state } = waiting(go)
          const server = yield* serve(handlers, { store: store(), http })
          const client = yield* connect(server)
          const call = yield* client.call(1, "wait", args)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
          if (call.status === 0 && (http.responseMode === "stream" || "aloud" in args)) yield* call.awaitHeaders
          call.disconnect()
          yield* client.ping()
          yield* Deferred.succeed(go, undefined)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
          assert.deepStrictEqual(state, { finished: true, interrupted: false })
          assert.isFalse(server.events.some(({ _tag }) => _tag === "Abandoned" || _tag === "Cancelled"))
          assert.deepStrictEqual(server.logs, [])
        }))

      it.live(`has its request go on for so long and no longer (${way}, ${name})`, () =>
        Effect.gen(function*() {
          const go = yield* Deferred.make<void>()
          const { handlers, state } = waiting(go)
          const server = yield* serve(handlers, {
            store: store(),
            http: { ...http, detachedRequestTimeout: "50 millis" }
          })
          const client = yield* connect(server)
          const call = yield* client.call(1, "wait", args)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
          if (http.responseMode === "stream" || "aloud" in args) yield* call.awaitHeaders
          // As long as somebody waits it goes on.
          yield* Effect.sleep("200 millis")
          assert.isFalse(state.interrupted)
          call.disconnect()
          yield* until(() => state.interrupted)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
          assert.deepStrictEqual(server.events.filter(({ _tag }) => _tag === "Abandoned"), [
            { _tag: "Abandoned", method: "tools/call", id: 1 }
          ])
          // The id is free again.
          yield* Deferred.succeed(go, undefined)
          const again = yield* client.call(1, "wait")
          yield* again.awaitEnd
          assert.deepStrictEqual(again.messages.at(-1)?.result, { ...text("done") })
          assert.deepStrictEqual(server.logs, [])
        }))
    }
  }

  it.live("has its request go on when it has come back", () =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const { handlers, state } = waiting(go)
      const clock = yield* TestClock.make()
      const settings = { store: new MapEventStore().service, http: { detachedRequestTimeout: "1 minute" } } as const
      const server = yield* Effect.provideService(serve(handlers, settings), Clock.Clock, clock)
      const client = yield* connect(server)
      const call = yield* client.call(1, "wait", { aloud: true })
      yield* call.awaitMessages(1)
      call.disconnect()
      const back = yield* client.get(call.lastId)
      yield* clock.adjust("10 minutes")
      assert.isFalse(state.interrupted)
      yield* Deferred.succeed(go, undefined)
      yield* back.awaitEnd
      assert.deepStrictEqual(back.messages.map(({ id, params }) => id ?? params?.["progress"]), [2, 1])
    }))

  it.live("has its question go nowhere at once, unless it can come back for it", () =>
    Effect.gen(function*() {
      for (const revision of ["2025-06-18", "2025-11-25"] as const) {
        const go = yield* Deferred.make<void>()
        const question = RequestContext.elicit({ message: "?", requestedSchema: { type: "object", properties: {} } })
        const asking = tools({
          ask: Effect.andThen(Deferred.await(go), question).pipe(Effect.match({
            onSuccess: ({ action }) => text(action),
            onFailure: ({ reason }) => text(reason._tag)
          }))
        })
        const opened = yield* openSockets
        const server = yield* serve(asking, { store: new MapEventStore().service, http: { responseMode: "stream" } })
        const client = yield* connect(server, { revision, capabilities: { elicitation: {} } })
        const call = yield* client.call(1, "ask")
        const resumable = revision === "2025-11-25"
        yield* until(() => call.status !== 0 && (!resumable || call.lastId !== undefined))
        const port = call.request.socket?.localPort
        assert.isTrue(opened.isAccepted(port))
        call.disconnect()
        yield* until(() => !opened.isAccepted(port))
        yield* Deferred.succeed(go, undefined)
        if (resumable) {
          const back = yield* client.get(call.lastId)
          yield* back.awaitMessages(1)
          yield* client.respond(back.messages[0]?.id, { action: "decline" })
          yield* back.awaitEnd
          assert.deepStrictEqual(back.messages.at(-1)?.result, { ...text("decline") })
        } else {
          // Nothing that it has got has an id: it has no way back.
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
          assert.isTrue(
            server.events.some((event) => event._tag === "SendFailed" && event.method === "elicitation/create")
          )
        }
      }
    }))
})

import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { untilStable } from "../../../support/eventLoop.ts"
import { connect } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { openSockets } from "../../../support/openSockets.ts"
import { until } from "../../../support/process.ts"
import { serve, type Settings, text, tools } from "../../../support/server.ts"

const message = "x".repeat(10_000)

/** Creates a tool that sends much more progress than all buffers hold, and records its steps. */
const flooding = (steps: number) => {
  const state = { steps: 0, interrupted: false }
  const flood = Effect.gen(function*() {
    for (let progress = 1; progress <= steps; progress++) {
      yield* RequestContext.progress({ progress, message })
      state.steps = progress
    }
    return text("done")
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

describe("a client that reads nothing", () => {
  for (const [name, store] of stores.slice(0, 2)) {
    it.live(`suspends only its own handler, and receives all messages later (${name})`, () =>
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
        yield* untilStable(() => state.steps)
        assert.isBelow(state.steps, 2000)
        for (const one of [client, other]) {
          for (const response of [yield* one.ping(), yield* one.call(2, "now")]) {
            yield* response.awaitEnd
            assert.strictEqual(response.status, 200)
          }
        }
        const pong = yield* Effect.forkChild(
          server.host.find(client.id)?.session.ping() ?? Effect.void,
          { startImmediately: true }
        )
        yield* standalone.awaitMessages(1)
        yield* client.respond(standalone.messages[0]?.id, {})
        yield* until(() => pong.pollUnsafe() !== undefined)
        assert.isBelow(state.steps, 2000)
        call.response?.resume()
        yield* call.awaitEnd
        assert.isTrue(call.ended)
        const steps = call.messages.map(({ params }) => params?.["progress"]).slice(0, -1)
        assert.deepStrictEqual(steps, Array.from({ length: 3000 }, (_, step) => step + 1))
        assert.deepStrictEqual(server.logs, [])
      }))
  }

  it.live("suspends the senders of its standalone stream", () =>
    Effect.gen(function*() {
      const { handlers } = flooding(0)
      const server = yield* serve(handlers, {
        http: { maxStreamCharacters: 50_000 },
        session: { capabilities: { logging: {} }, limits: { maxOutgoingMessages: 16 } }
      })
      const client = yield* connect(server)
      const standalone = yield* client.get()
      standalone.stall()
      let sent = 0
      const session = server.host.find(client.id)?.session
      yield* Effect.forkChild(
        Effect.forever(Effect.andThen(
          session?.log({ level: "info", data: message }) ?? Effect.never,
          Effect.sync(() => sent++)
        ))
      )
      yield* untilStable(() => sent)
      assert.isBelow(sent, 2000)
      const call = yield* client.call(1, "now")
      yield* call.awaitEnd
      assert.strictEqual(call.status, 200)
    }))

  it.live("is disconnected after writeTimeout, and its request is abandoned after detachedRequestTimeout", () =>
    Effect.gen(function*() {
      const { handlers, state } = flooding(Number.POSITIVE_INFINITY)
      const server = yield* serve(handlers, {
        http: { maxStreamCharacters: 50_000, writeTimeout: "100 millis", detachedRequestTimeout: "100 millis" }
      })
      const client = yield* connect(server)
      const idleStream = yield* client.get()
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
      // A stream without messages is not disconnected.
      assert.isFalse(idleStream.isClosed)
      assert.strictEqual((yield* client.ping()).status, 200)
      assert.deepStrictEqual(server.logs, [])
    }))

  for (const [name, store] of stores.slice(0, 2)) {
    it.live(`loses only its stream after writeTimeout, also if the watchdog has not disconnected it (${name})`, () =>
      Effect.gen(function*() {
        const { handlers, state } = flooding(Number.POSITIVE_INFINITY)
        const server = yield* serve(handlers, {
          store: store(),
          http: { maxStreamCharacters: 50_000, writeTimeout: "1 hour", detachedRequestTimeout: "100 millis" },
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
        // The client reads again only after both streams are aborted.
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

  it.live("can resume its stream after a disconnection, with a store", () =>
    Effect.gen(function*() {
      const { handlers, state } = flooding(3000)
      const server = yield* serve(handlers, {
        store: new MapEventStore().service,
        http: { maxStreamCharacters: 50_000, writeTimeout: "300 millis" }
      })
      const client = yield* connect(server)
      const call = yield* client.call("f", "flood")
      yield* call.awaitHeaders
      call.stall()
      yield* until(() => state.steps === 3000)
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
  /** Creates a tool that sends progress, if `reports` is true, waits, and sends progress again. */
  const waiting = (released: Deferred.Deferred<void>) => {
    const state = { finished: false, interrupted: false }
    const wait = ({ reports }: { readonly [name: string]: unknown }) =>
      Effect.gen(function*() {
        if (reports === true) yield* RequestContext.progress({ progress: 1 })
        yield* Deferred.await(released)
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

  const cases: ReadonlyArray<readonly [string, Settings["http"] & object, object]> = [
    ["before its headers", {}, {}],
    ["as JSON", { responseMode: "json" }, {}],
    ["as a stream without messages", { responseMode: "stream" }, {}],
    ["as a stream with messages", {}, { reports: true }]
  ]

  for (const [name, store] of stores) {
    for (const [form, http, args] of cases) {
      it.live(`[SHS-10] has not cancelled its request (${form}, ${name})`, () =>
        Effect.gen(function*() {
          const released = yield* Deferred.make<void>()
          const { handlers, state } = waiting(released)
          const server = yield* serve(handlers, { store: store(), http })
          const client = yield* connect(server)
          const call = yield* client.call(1, "wait", args)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
          if (call.status === 0 && (http.responseMode === "stream" || "reports" in args)) yield* call.awaitHeaders
          call.disconnect()
          yield* client.ping()
          yield* Deferred.succeed(released, undefined)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
          assert.deepStrictEqual(state, { finished: true, interrupted: false })
          assert.isFalse(server.events.some(({ _tag }) => _tag === "Abandoned" || _tag === "Cancelled"))
          assert.deepStrictEqual(server.logs, [])
        }))

      it.live(`has its request interrupted after detachedRequestTimeout (${form}, ${name})`, () =>
        Effect.gen(function*() {
          const released = yield* Deferred.make<void>()
          const { handlers, state } = waiting(released)
          const server = yield* serve(handlers, {
            store: store(),
            http: { ...http, detachedRequestTimeout: "50 millis" }
          })
          const client = yield* connect(server)
          const call = yield* client.call(1, "wait", args)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 1 })
          if (http.responseMode === "stream" || "reports" in args) yield* call.awaitHeaders
          // The request continues while its client is connected.
          yield* Effect.sleep("200 millis")
          assert.isFalse(state.interrupted)
          call.disconnect()
          yield* until(() => state.interrupted)
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
          assert.deepStrictEqual(server.events.filter(({ _tag }) => _tag === "Abandoned"), [
            { _tag: "Abandoned", method: "tools/call", id: 1 }
          ])
          // The id can be used again.
          yield* Deferred.succeed(released, undefined)
          const again = yield* client.call(1, "wait")
          yield* again.awaitEnd
          assert.deepStrictEqual(again.messages.at(-1)?.result, { ...text("done") })
          assert.deepStrictEqual(server.logs, [])
        }))
    }
  }

  it.live("keeps its request running if it resumes the stream", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const { handlers, state } = waiting(released)
      const clock = yield* TestClock.make()
      const settings = { store: new MapEventStore().service, http: { detachedRequestTimeout: "1 minute" } } as const
      const server = yield* Effect.provideService(serve(handlers, settings), Clock.Clock, clock)
      const client = yield* connect(server)
      const call = yield* client.call(1, "wait", { reports: true })
      yield* call.awaitMessages(1)
      call.disconnect()
      const resumed = yield* client.get(call.lastId)
      yield* clock.adjust("10 minutes")
      assert.isFalse(state.interrupted)
      yield* Deferred.succeed(released, undefined)
      yield* resumed.awaitEnd
      assert.deepStrictEqual(resumed.messages.map(({ id, params }) => id ?? params?.["progress"]), [2, 1])
    }))

  it.live("fails a request of the server at once, unless the client can resume the stream", () =>
    Effect.gen(function*() {
      for (const revision of ["2025-06-18", "2025-11-25"] as const) {
        const released = yield* Deferred.make<void>()
        const elicit = RequestContext.elicit({ message: "?", requestedSchema: { type: "object", properties: {} } })
        const handlers = tools({
          elicit: Effect.andThen(Deferred.await(released), elicit).pipe(Effect.match({
            onSuccess: ({ action }) => text(action),
            onFailure: ({ reason }) => text(reason._tag)
          }))
        })
        const opened = yield* openSockets
        const server = yield* serve(handlers, { store: new MapEventStore().service, http: { responseMode: "stream" } })
        const client = yield* connect(server, { revision, capabilities: { elicitation: {} } })
        const call = yield* client.call(1, "elicit")
        const resumable = revision === "2025-11-25"
        yield* until(() => call.status !== 0 && (!resumable || call.lastId !== undefined))
        const port = call.request.socket?.localPort
        assert.isTrue(opened.isAccepted(port))
        call.disconnect()
        yield* until(() => !opened.isAccepted(port))
        yield* Deferred.succeed(released, undefined)
        if (resumable) {
          const resumed = yield* client.get(call.lastId)
          yield* resumed.awaitMessages(1)
          yield* client.respond(resumed.messages[0]?.id, { action: "decline" })
          yield* resumed.awaitEnd
          assert.deepStrictEqual(resumed.messages.at(-1)?.result, { ...text("decline") })
        } else {
          // The client has received no event id, so it cannot resume the stream.
          yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.inFlight === 0 })
          assert.isTrue(
            server.events.some((event) => event._tag === "SendFailed" && event.method === "elicitation/create")
          )
        }
      }
    }))
})

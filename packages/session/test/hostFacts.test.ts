import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, SessionStore, Transport, TransportError } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import { handshakeMessages, makeHost, openOperating, withStore } from "./support/hosts.ts"
import { recorder, type ServerHandlers, settled, start } from "./support/sessions.ts"

const withoutLogger = Effect.provide(Logger.layer([]))

/** Makes handlers that record what clients subscribe to. */
const subscribable = (subscribed: Array<string> = []): ServerHandlers => ({
  "resources/subscribe": ({ uri }) =>
    Effect.sync(() => {
      subscribed.push(uri)
      return {}
    }),
  "resources/unsubscribe": () => Effect.succeed({})
})

const subscribe = (id: number, uri: string) => JsonRpc.request(id, "resources/subscribe", { uri })
const unsubscribe = (id: number, uri: string) => JsonRpc.request(id, "resources/unsubscribe", { uri })
const setLevel = (id: number, level: string) => JsonRpc.request(id, "logging/setLevel", { level })

/** Opens a session that is stored. */
const openStored = Effect.fnUntraced(function*(
  service: SessionStore.SessionStore["Service"]
) {
  const record = recorder()
  const host = yield* makeHost(subscribable(), { observe: record.observe }).pipe(withStore(service))
  const opened = yield* openOperating(host, { id: "s" })
  yield* host.remember(opened.hosted, handshakeMessages)
  const request = (message: JsonRpc.Request) => Effect.andThen(opened.raw.send(message), opened.raw.response)
  return { ...opened, host, request, record }
})

describe("the log level and the subscriptions of a client", () => {
  it.effect("are stored before the request is acknowledged", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      const gate = yield* Deferred.make<void>()
      const slow: typeof service = {
        ...service,
        save: (session) => Effect.andThen(Deferred.await(gate), Effect.suspend(() => service.save(session)))
      }
      const { raw, request } = yield* openStored(slow)
      yield* raw.send(subscribe(1, "a:1"))
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, {}))
      assert.deepStrictEqual((yield* service.load("s"))?.subscriptions, ["a:1"])
      yield* request(setLevel(2, "warning"))
      yield* request(subscribe(3, "a:2"))
      yield* request(unsubscribe(4, "a:1"))
      const stored = yield* service.load("s")
      assert.deepStrictEqual([stored?.logLevel, stored?.subscriptions], ["warning", ["a:2"]])
      assert.deepStrictEqual(stored?.handshakeMessages.map(({ method }) => method), [
        "initialize",
        "notifications/initialized"
      ])
    }))

  it.effect("are not stored if the request fails", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      const { request } = yield* openStored(service)
      yield* request(setLevel(1, "loud"))
      assert.isUndefined((yield* service.load("s"))?.logLevel)
    }))

  it.effect("do not fail the request if the store fails, which is reported", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      const broken: typeof service = { ...service, save: () => Effect.never }
      const { raw, record } = yield* openStored(broken)
      yield* raw.send(subscribe(1, "a:1"))
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(yield* raw.pending, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, {}))
      assert.deepStrictEqual(record.of("SessionStoreFailed").map(({ operation }) => operation), ["save"])
    }).pipe(withoutLogger))

  it.effect("are stored with the next request after the store has failed, also if it changes nothing", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      let isAway = true
      const failure = new SessionStore.SessionStoreError({ cause: "away" })
      const { request } = yield* openStored({
        ...service,
        save: (session) => isAway ? Effect.fail(failure) : service.save(session)
      })
      yield* request(setLevel(1, "error"))
      isAway = false
      yield* request(setLevel(2, "error"))
      assert.strictEqual((yield* service.load("s"))?.logLevel, "error")
    }).pipe(withoutLogger))

  it.effect("law 12: are stored for 1,000 subscriptions and 65,536 characters, and the log warns once", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      const logs: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void logs.push(message))])
      const { request } = yield* openStored(service).pipe(Effect.provide(logger))
      yield* request(subscribe(0, `a:${"x".repeat(62_000)}`))
      for (let id = 1; id < 1100; id++) yield* request(subscribe(id, `a:${id}`))
      const urisOf = (stored: SessionStore.StoredSession | undefined) => stored?.subscriptions ?? []
      const stored = urisOf(yield* service.load("s"))
      assert.isBelow(stored.join("").length, 65_537)
      assert.isAbove(stored.join("").length, 65_500)
      yield* request(unsubscribe(1100, `a:${"x".repeat(62_000)}`))
      for (let id = 1; id < 1100; id++) yield* request(subscribe(id, `a:${id}`))
      assert.strictEqual(urisOf(yield* service.load("s")).length, 1000)
      assert.strictEqual(logs.filter((message) => String(message).includes("subscriptions")).length, 1)
    }))

  it.effect("are restored before the client's next message, and the replies are discarded", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      const first = yield* openStored(service)
      yield* first.request(setLevel(1, "error"))
      for (let id = 2; id < 400; id++) yield* first.request(subscribe(id, `a:${id}`))
      yield* first.host.drain
      const subscribed: Array<string> = []
      const host = yield* makeHost(subscribable(subscribed), {}).pipe(withStore(service))
      const { client, server } = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
      yield* raw.send(subscribe(1, "later"))
      const outcome = yield* host.restore("s", server, { kind: "memory" })
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, {}))
      assert.strictEqual(subscribed.length, 399)
      assert.strictEqual(subscribed.at(-1), "later")
      const session = "hosted" in outcome ? outcome.hosted.session : yield* Effect.die("not restored")
      yield* session.log({ level: "info", data: "hidden" })
      yield* session.log({ level: "error", data: "shown" })
      const shown = yield* raw.receive
      assert.deepStrictEqual("params" in shown ? shown.params : undefined, { level: "error", data: "shown" })
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual((yield* service.load("s"))?.subscriptions?.length, 399)
    }))

  it.effect("count as changed after a restore, once the transport reaches the client, and again after a failure", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      const first = yield* openStored(service)
      for (let id = 1; id < 3; id++) yield* first.request(subscribe(id, `a:${id}`))
      yield* first.host.drain
      const host = yield* makeHost(subscribable(), { capabilities: { resources: { subscribe: true } } }).pipe(
        withStore(service)
      )
      const { client, server } = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
      let failures = 1
      const failing: typeof server = {
        connect: Effect.map(server.connect, (connection) => ({
          ...connection,
          send: (outbound) =>
            failures-- > 0
              ? Effect.fail(TransportError.make({ _tag: "NoRoute", method: undefined }))
              : connection.send(outbound)
        }))
      }
      const outcome = yield* host.restore("s", failing, { kind: "memory" })
      const hosted = "hosted" in outcome ? outcome.hosted : yield* Effect.die("not restored")
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      hosted.reach()
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      for (let count = 0; count < 2; count++) {
        hosted.reach()
        yield* settled
      }
      const messages = yield* raw.pending
      assert.deepStrictEqual(messages.map((message) => "params" in message ? message.params : undefined), [
        { uri: "a:1" },
        { uri: "a:2" }
      ])
    }).pipe(withoutLogger))

  it.effect("do not keep a session from being restored if a handler hangs", () =>
    Effect.gen(function*() {
      const service = yield* SessionStore.makeMemory()
      const first = yield* openStored(service)
      yield* first.request(subscribe(1, "a:1"))
      yield* first.host.drain
      const host = yield* makeHost({ "resources/subscribe": () => Effect.never }, {}).pipe(withStore(service))
      const { server } = yield* MemoryTransport.make()
      const restoring = yield* start(host.restore("s", server, { kind: "memory" }))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(restoring))._tag, "Restored")
    }))
})

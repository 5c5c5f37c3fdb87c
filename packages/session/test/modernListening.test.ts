/** The stream of notifications that a client of revision 2026-07-28 keeps open. */
import { JsonRpc, Subscription } from "@effect-mcp/protocol"
import { type ClientSession, Listener, MemoryTransport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { connectedStateless, discoverResult, withModernServer } from "./support/modernServers.ts"
import type * as RawServer from "./support/RawServer.ts"
import { client, type ClientOptions, names, reasonOf, server, settled, start } from "./support/sessions.ts"

const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true }
}

const listens = (raw: RawServer.RawServer) =>
  raw.received.filter(JsonRpc.isRequest).filter(({ method }) => method === "subscriptions/listen")

/** Returns the filters that the client has asked for. */
const filters = (raw: RawServer.RawServer) => listens(raw).map(({ params }) => params?.["notifications"])

const isListen = (message: JsonRpc.Message): message is JsonRpc.Request =>
  JsonRpc.isRequest(message) && message.method === "subscriptions/listen"

const acknowledgement = (id: JsonRpc.Request["id"], filter: unknown) =>
  JsonRpc.notification("notifications/subscriptions/acknowledged", {
    notifications: filter,
    _meta: Subscription.meta(id)
  })

const updated = (id: JsonRpc.Request["id"], uri: string) =>
  JsonRpc.notification("notifications/resources/updated", { uri, _meta: Subscription.meta(id) })

const toolsChanged = (id: JsonRpc.Request["id"]) =>
  JsonRpc.notification("notifications/tools/list_changed", { _meta: Subscription.meta(id) })

/** A server that serves all that it is asked for. */
const serving: RawServer.Script = (message) =>
  isListen(message)
    ? [acknowledgement(message.id, message.params?.["notifications"])]
    : JsonRpc.isRequest(message)
    ? [JsonRpc.success(message.id, { resultType: "complete", tools: [] })]
    : []

const refusing = (code: number): RawServer.Script => (message) =>
  isListen(message)
    ? [JsonRpc.failure(message.id, { code, message: "no" })]
    : []

const connected = (options: {
  readonly client?: ClientOptions
  readonly script?: RawServer.Script
  readonly capabilities?: object
  readonly pair?: Effect.Effect<MemoryTransport.Pair>
} = {}) =>
  Effect.map(
    withModernServer({
      client: options.client ?? {},
      script: options.script ?? serving,
      result: discoverResult({ capabilities: options.capabilities ?? capabilities }),
      pair: options.pair ?? MemoryTransport.make()
    }),
    ({ raw, record, session }) => ({ raw, record, session, idOf: (index: number) => listens(raw)[index]?.id ?? "none" })
  )

/** Collects the notifications of one method, by their URIs. */
const collect = Effect.fnUntraced(function*(
  session: ClientSession.ClientSessionShape,
  name: "notifications/resources/updated" | "notifications/tools/list_changed"
) {
  const seen: Array<unknown> = []
  const fiber = yield* start(Stream.runForEach(
    session.notifications(name),
    (params) => Effect.sync(() => void seen.push("uri" in params ? params.uri : name))
  ))
  yield* settled
  return { seen, fiber }
})

const toolListChanged = "notifications/tools/list_changed"

/** A handler of a change, and the number of its calls. */
const counted = () => {
  const calls = { count: 0 }
  const handlers = { [toolListChanged]: () => Effect.sync(() => void calls.count++) }
  return { calls, handlers }
}

describe("the filter of the stream", () => {
  it.effect("a client that wants no notifications opens no stream", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      yield* session.listTools()
      assert.deepStrictEqual(names(raw.received), ["server/discover", "tools/list"])
    }))

  it.effect("a handler of changes of a list opens it before any other request, and receives the changes", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { idOf, raw, session } = yield* connected({ client: { handlers } })
      yield* session.listTools()
      assert.deepStrictEqual(names(raw.received), ["server/discover", "subscriptions/listen", "tools/list"])
      assert.deepStrictEqual(filters(raw), [{ toolsListChanged: true }])
      yield* raw.send(toolsChanged(idOf(0)), toolsChanged(idOf(0)))
      yield* settled
      assert.strictEqual(calls.count, 2)
    }))

  it.effect("the client does not ask for changes that the server has not declared", () =>
    Effect.gen(function*() {
      const { handlers } = counted()
      const { raw } = yield* connected({ client: { handlers }, capabilities: { tools: {} } })
      assert.deepStrictEqual(filters(raw), [])
    }))

  it.effect("a stream of the program opens it, and its end closes it", () =>
    Effect.gen(function*() {
      const { idOf, raw, session } = yield* connected()
      const first = yield* collect(session, toolListChanged)
      const second = yield* collect(session, toolListChanged)
      yield* raw.send(toolsChanged(idOf(0)))
      yield* settled
      assert.deepStrictEqual([first.seen, second.seen], [[toolListChanged], [toolListChanged]])
      yield* Fiber.interrupt(first.fiber)
      yield* settled
      assert.deepStrictEqual(names(raw.received), ["server/discover", "subscriptions/listen"])
      yield* Fiber.interrupt(second.fiber)
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(1), ["subscriptions/listen", "notifications/cancelled"])
      assert.strictEqual((yield* session.inFlight).sent, 0)
    }))

  it.effect("a second subscription opens a new stream, and then the old one is closed", () =>
    Effect.gen(function*() {
      const { idOf, raw, session } = yield* connected()
      const { seen } = yield* collect(session, "notifications/resources/updated")
      yield* session.subscribeResource("x://1")
      yield* session.subscribeResource("x://2")
      yield* session.subscribeResource("x://2")
      yield* settled
      assert.deepStrictEqual(filters(raw), [
        { resourceSubscriptions: ["x://1"] },
        { resourceSubscriptions: ["x://1", "x://2"] }
      ])
      assert.deepStrictEqual(names(raw.received).slice(1), [
        "subscriptions/listen",
        "subscriptions/listen",
        "notifications/cancelled"
      ])
      assert.deepInclude(raw.received.at(-1), { params: { requestId: idOf(0), reason: "the caller no longer waits" } })
      // A server may still send what it had for the old stream.
      yield* raw.send(updated(idOf(0), "x://1"), updated(idOf(1), "x://1"), updated(idOf(1), "x://2"))
      yield* settled
      assert.deepStrictEqual(seen, ["x://1", "x://2"])
    }))

  it.effect("an ended subscription is not notified of any more, and leaves the others", () =>
    Effect.gen(function*() {
      const { idOf, raw, record, session } = yield* connected()
      const { seen } = yield* collect(session, "notifications/resources/updated")
      yield* session.subscribeResource("x://1")
      yield* session.unsubscribeResource("x://1")
      yield* raw.send(updated(idOf(0), "x://1"))
      yield* settled
      assert.deepStrictEqual(seen, [])
      assert.strictEqual(record.of("NotificationIgnored").length, 1)
      assert.deepStrictEqual(names(raw.received).slice(1), ["subscriptions/listen", "notifications/cancelled"])
    }))
})

describe("an update of a resource whose URI is no text", () => {
  it.effect("is ignored, and the session continues", () =>
    Effect.gen(function*() {
      const { idOf, raw, record, session } = yield* connected()
      const { seen } = yield* collect(session, "notifications/resources/updated")
      yield* session.subscribeResource("x://1")
      yield* raw.send(JsonRpc.notification("notifications/resources/updated", {
        uri: { toString: 1 },
        _meta: Subscription.meta(idOf(0))
      }))
      yield* raw.send(updated(idOf(0), "x://1"))
      yield* settled
      assert.lengthOf(seen, 1)
      assert.lengthOf(record.of("NotificationIgnored"), 1)
    }))
})

describe("a resource that the server does not serve", () => {
  /** Serves one resource only. */
  const servingOne: RawServer.Script = (message) =>
    JsonRpc.isRequest(message) && message.method === "subscriptions/listen"
      ? [acknowledgement(message.id, { resourceSubscriptions: ["x://1", "x://9"] })]
      : []

  it.effect("[SUB-04] fails its subscription, and no other", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected({ script: servingOne })
      yield* session.subscribeResource("x://1")
      const error = yield* Effect.flip(session.subscribeResource("x://2"))
      assert.strictEqual(
        error.message,
        "resources/subscribe: the server does not notify of changes of \"x://2\"; " +
          "check that the resource exists, and that the server serves subscriptions to it"
      )
      assert.strictEqual(filters(raw).length, 2)
      // The server may serve it later.
      yield* Effect.flip(session.subscribeResource("x://2"))
      assert.strictEqual(filters(raw).length, 3)
      yield* session.unsubscribeResource("x://1")
      yield* settled
      assert.strictEqual((yield* session.inFlight).sent, 0)
    }))

  it.effect("a server without the capability is not asked", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected({ capabilities: { resources: {} } })
      const error = yield* Effect.flip(session.subscribeResource("x://1"))
      assert.strictEqual(error.reason._tag, "MissingCapability")
      assert.deepStrictEqual(filters(raw), [])
    }))

  it.effect("a server that refuses the stream is asked once, and again for another filter", () =>
    Effect.gen(function*() {
      const { handlers } = counted()
      const { raw, record, session } = yield* connected({ client: { handlers }, script: refusing(-32601) })
      assert.deepStrictEqual(record.of("NotListening").map(({ isFinal }) => isFinal), [true])
      const error = yield* Effect.flip(session.subscribeResource("x://1"))
      assert.strictEqual(error.reason._tag, "ErrorResponse")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(filters(raw), [
        { toolsListChanged: true },
        { toolsListChanged: true, resourceSubscriptions: ["x://1"] },
        { toolsListChanged: true }
      ])
    }))

  it.effect("a server that acknowledges nothing fails the subscription in time", () =>
    Effect.gen(function*() {
      const { session } = yield* connected({ script: () => [], client: { limits: { requestTimeout: "3 seconds" } } })
      const waiting = yield* start(session.subscribeResource("x://1"))
      const shorter = yield* start(session.subscribeResource("x://2", { timeout: "1 second" }))
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* reasonOf(shorter), { _tag: "Timeout", afterMillis: 1000 })
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* reasonOf(waiting), { _tag: "Timeout", afterMillis: 3000 })
      yield* settled
      assert.strictEqual((yield* session.inFlight).sent, 0)
    }))

  it.effect("an end of the subscription ends what waits for an acknowledgement", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected({ script: () => [] })
      const subscribing = yield* start(session.subscribeResource("test://a"))
      yield* settled
      yield* session.unsubscribeResource("test://a")
      yield* Fiber.join(subscribing)
      assert.lengthOf(listens(raw), 1)
    }))

  it.effect("the end of the session ends what waits for an acknowledgement", () =>
    Effect.gen(function*() {
      const { session } = yield* connected({ script: () => [] })
      const waiting = yield* start(session.subscribeResource("x://1"))
      yield* settled
      yield* session.close
      assert.strictEqual((yield* reasonOf(waiting))._tag, "Closed")
      assert.strictEqual((yield* Effect.flip(session.subscribeResource("x://2"))).reason._tag, "Closed")
      assert.strictEqual((yield* Effect.flip(session.unsubscribeResource("x://2"))).reason._tag, "Closed")
    }))
})

describe("a subscription", () => {
  it.effect("has the deadlines of its options, and sends nothing if there is no time", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected({ script: () => [] })
      const error = yield* Effect.flip(session.subscribeResource("x://1", { timeout: 0 }))
      assert.deepInclude(error.reason, { _tag: "Timeout", afterMillis: 0 })
      assert.deepStrictEqual(filters(raw), [])
      const waiting = yield* start(
        session.subscribeResource("x://1", { timeout: "1 minute", totalTimeout: "1 second" })
      )
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* reasonOf(waiting), { _tag: "Timeout", afterMillis: 1000 })
    }))

  it.effect("passes the middleware of requests, as in older revisions", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { raw, session } = yield* connected({
        client: {
          middleware: {
            outbound: (request, next) => {
              seen.push([request.method, request.params])
              return next(request)
            }
          }
        }
      })
      yield* session.subscribeResource("x://1")
      yield* session.unsubscribeResource("x://1")
      assert.deepStrictEqual(seen, [
        ["resources/subscribe", { uri: "x://1" }],
        ["resources/unsubscribe", { uri: "x://1" }]
      ])
      assert.deepStrictEqual(filters(raw), [{ resourceSubscriptions: ["x://1"] }])
    }))
})

describe("a lost stream", () => {
  it.effect("delivers no change of a resource whose subscription has ended meanwhile", () =>
    Effect.gen(function*() {
      const { idOf, raw, session } = yield* connected()
      const { seen } = yield* collect(session, "notifications/resources/updated")
      yield* session.subscribeResource("x://1")
      yield* session.subscribeResource("x://2")
      yield* raw.send(JsonRpc.success(idOf(1), { resultType: "complete" }))
      yield* settled
      yield* session.unsubscribeResource("x://2")
      yield* TestClock.adjust("500 millis")
      yield* settled
      assert.deepStrictEqual(seen, ["x://1"])
    }))

  it.effect("is opened again after a pause, and everything that it served counts as changed", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { idOf, raw, record, session } = yield* connected({
        client: { handlers },
        pair: MemoryTransport.makeMultiStream()
      })
      const { seen } = yield* collect(session, "notifications/resources/updated")
      yield* session.subscribeResource("x://1")
      yield* raw.endExchange(idOf(1))
      yield* settled
      assert.deepStrictEqual(record.of("NotListening").map(({ isFinal }) => isFinal), [false])
      assert.strictEqual(filters(raw).length, 2)
      yield* TestClock.adjust("500 millis")
      yield* settled
      assert.deepStrictEqual(filters(raw)[2], { toolsListChanged: true, resourceSubscriptions: ["x://1"] })
      assert.deepStrictEqual([calls.count, seen], [1, ["x://1"]])
      yield* raw.sendOnOpenStream(idOf(2), updated(idOf(2), "x://1"))
      yield* settled
      assert.deepStrictEqual(seen, ["x://1", "x://1"])
    }))

  it.effect("a resource that the server then serves no more counts as changed, and is reported", () =>
    Effect.gen(function*() {
      let served = ["x://1", "x://2"]
      const { idOf, raw, record, session } = yield* connected({
        script: (message) => isListen(message) ? [acknowledgement(message.id, { resourceSubscriptions: served })] : []
      })
      const { seen } = yield* collect(session, "notifications/resources/updated")
      yield* session.subscribeResource("x://1")
      yield* session.subscribeResource("x://2")
      served = ["x://1"]
      yield* raw.send(JsonRpc.success(idOf(1), { resultType: "complete" }))
      yield* settled
      yield* TestClock.adjust("500 millis")
      yield* settled
      assert.sameMembers(seen, ["x://1", "x://2"])
      assert.deepStrictEqual(record.of("NotListening").map(({ isFinal }) => isFinal), [false, true])
      assert.strictEqual(filters(raw).length, 3)
    }))

  it.effect("is opened again if the server has ended it by its result", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { idOf, raw } = yield* connected({ client: { handlers } })
      yield* raw.send(JsonRpc.success(idOf(0), { resultType: "complete" }))
      yield* settled
      yield* TestClock.adjust("500 millis")
      yield* settled
      assert.deepStrictEqual([filters(raw).length, calls.count], [2, 1])
    }))

  it.effect("is opened ever more slowly, if the server ends each at once", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { raw } = yield* connected({
        client: { handlers },
        script: (message) =>
          JsonRpc.isRequest(message) && message.method === "subscriptions/listen"
            ? [...serving(message), JsonRpc.success(message.id, { resultType: "complete" })]
            : []
      })
      yield* Effect.repeat(Effect.andThen(TestClock.adjust("1 second"), settled), { times: 600 })
      assert.isAtMost(filters(raw).length, 50)
      assert.isAtLeast(filters(raw).length, 20)
      assert.isAtMost(calls.count, filters(raw).length)
    }))

  it.effect("a server that is busy is asked again", () =>
    Effect.gen(function*() {
      const { handlers } = counted()
      let refusals = 2
      const { calls, raw } = yield* Effect.map(
        connected({
          client: { handlers },
          script: (message) => refusals-- > 0 ? refusing(-32603)(message) : serving(message)
        }),
        (all) => ({ ...all, calls: refusals })
      )
      assert.strictEqual(calls, 1)
      yield* TestClock.adjust("500 millis")
      yield* settled
      yield* TestClock.adjust("1 second")
      yield* settled
      assert.strictEqual(filters(raw).length, 3)
    }))

  it.effect("[STD-13] a notification of a stream that is not open is ignored, and one without an id is delivered", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { raw, record } = yield* connected({ client: { handlers } })
      yield* raw.send(toolsChanged("another"), JsonRpc.notification(toolListChanged))
      yield* settled
      assert.strictEqual(calls.count, 1)
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ problem }) => problem), [
        "no stream of subscriptions/listen with its id is open"
      ])
    }))
})

describe("a list whose changes are followed, if each request has a stream of its own", () => {
  /** A server that acknowledges no stream by itself. */
  const silent: RawServer.Script = (message) => isListen(message) ? [] : serving(message)

  const overStreams = (options: { readonly client: ClientOptions; readonly script?: RawServer.Script }) =>
    connected({ script: silent, ...options, pair: MemoryTransport.makeMultiStream() })

  it.effect("is read after its changes are served, and no change is reported that the server has not sent", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { idOf, raw, record, session } = yield* overStreams({ client: { handlers } })
      const listing = yield* start(session.listTools())
      yield* settled
      assert.deepStrictEqual(names(raw.received), ["server/discover", "subscriptions/listen"])
      yield* raw.sendOnOpenStream(idOf(0), acknowledgement(idOf(0), { toolsListChanged: true }))
      yield* Fiber.join(listing)
      yield* session.listTools()
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/list", "tools/list"])
      assert.deepStrictEqual([calls.count, record.of("NotListening").length], [0, 0])
    }))

  it.effect("is read once its follower, which is as new, has its stream", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* overStreams({ client: {}, script: serving })
      yield* start(Stream.runDrain(session.notifications(toolListChanged)))
      yield* session.listTools()
      assert.deepStrictEqual(names(raw.received), ["server/discover", "subscriptions/listen", "tools/list"])
    }))

  it.effect("waits for no acknowledgement of other lists, and for none that the server refuses", () =>
    Effect.gen(function*() {
      const { handlers } = counted()
      const { raw, session } = yield* overStreams({ client: { handlers } })
      yield* session.listPrompts().pipe(Effect.ignore)
      assert.include(names(raw.received), "prompts/list")
      const refused = yield* overStreams({
        client: { handlers },
        script: (message) => isListen(message) ? refusing(-32601)(message) : serving(message)
      })
      yield* refused.session.listTools()
      assert.deepStrictEqual(names(refused.raw.received).slice(1), ["subscriptions/listen", "tools/list"])
    }))

  it.effect("waits for a late server once, for 2 s, and counts as changed after its acknowledgement", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { idOf, raw, record, session } = yield* overStreams({ client: { handlers } })
      const listing = yield* start(session.listTools())
      yield* TestClock.adjust("1999 millis")
      assert.notInclude(names(raw.received), "tools/list")
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(listing)
      assert.deepStrictEqual(record.of("NotListening"), [{
        _tag: "NotListening",
        problem: "subscriptions/listen: not acknowledged within 2000 ms; lists that are read before count as changed",
        isFinal: false
      }])
      yield* session.listTools()
      yield* raw.sendOnOpenStream(idOf(0), acknowledgement(idOf(0), { toolsListChanged: true }))
      yield* settled
      assert.strictEqual(calls.count, 1)
      assert.lengthOf(record.of("NotListening"), 1)
    }))

  it.effect("waits for half of the time of its request, and the wait is part of that time", () =>
    Effect.gen(function*() {
      const { handlers } = counted()
      const { raw, session } = yield* overStreams({ client: { handlers }, script: () => [] })
      const listing = yield* start(session.listTools({}, { timeout: "1 minute", totalTimeout: "1 second" }))
      yield* TestClock.adjust("500 millis")
      yield* settled
      assert.include(names(raw.received), "tools/list")
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* reasonOf(listing), { _tag: "Timeout", afterMillis: 1000 })
    }))

  it.effect("does not wait while the pause after a loss lasts, and a caller that waits ends with the session", () =>
    Effect.gen(function*() {
      const { handlers } = counted()
      const { idOf, raw, session } = yield* overStreams({ client: { handlers } })
      const listing = yield* start(session.listTools())
      yield* settled
      yield* raw.endExchange(idOf(0))
      yield* Fiber.join(listing)
      const another = yield* overStreams({ client: { handlers } })
      const waiting = yield* start(another.session.listTools())
      yield* settled
      yield* another.session.close
      assert.strictEqual((yield* reasonOf(waiting))._tag, "Closed")
    }))
})

describe("a list whose changes are followed, if the server reads one request after the other", () => {
  it.effect("is read at once, and no change is reported that the server has not sent", () =>
    Effect.gen(function*() {
      const { calls, handlers } = counted()
      const { idOf, raw, session } = yield* connected({
        client: { handlers },
        script: (message) => isListen(message) ? [] : serving(message)
      })
      yield* session.listTools()
      yield* raw.send(acknowledgement(idOf(0), { toolsListChanged: true }))
      yield* settled
      assert.strictEqual(calls.count, 0)
    }))

  it.effect("is not read before its follower, which is as new, has asked for its stream", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      yield* Effect.all([
        Effect.timeoutOption(Stream.runDrain(session.notifications(toolListChanged)), "1 second"),
        Effect.andThen(session.listTools(), TestClock.adjust("1 second"))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(names(raw.received).slice(0, 3), ["server/discover", "subscriptions/listen", "tools/list"])
    }))
})

describe("streams of a program", () => {
  it.effect("[SUB-06] a program may open streams by itself, beside that of the client", () =>
    Effect.gen(function*() {
      const { idOf, raw, session } = yield* connected()
      const { seen } = yield* collect(session, "notifications/resources/updated")
      yield* session.subscribeResource("x://1")
      yield* start(session.request("subscriptions/listen", { notifications: { resourceSubscriptions: ["x://2"] } }))
      yield* settled
      yield* raw.send(updated(idOf(0), "x://1"), updated(idOf(0), "x://2"), updated(idOf(1), "x://2"))
      yield* settled
      assert.deepStrictEqual(seen, ["x://1", "x://2"])
    }))
})

describe("with a server of this library", () => {
  /** Handlers of a server that serves every stream, and the listeners of those that are open. */
  const listening = () => {
    const all = new Set<Listener.ListenerShape>()
    const handlers = {
      "resources/list": () => Effect.succeed({ resources: [] }),
      "subscriptions/listen": Effect.fnUntraced(function*({ notifications }: Subscription.ListenParams) {
        const listener = yield* Listener.Listener
        yield* Effect.acquireRelease(
          Effect.sync(() => void all.add(listener)),
          () => Effect.sync(() => void all.delete(listener))
        )
        return { notifications }
      })
    }
    return { all, handlers }
  }

  const subscribed = Effect.fnUntraced(function*(
    session: ClientSession.ClientSessionShape,
    all: ReadonlySet<Listener.ListenerShape>
  ) {
    const { seen } = yield* collect(session, "notifications/resources/updated")
    yield* session.subscribeResource("x://1")
    yield* session.subscribeResource("x://2")
    yield* settled
    for (const listener of all) yield* listener.resourceUpdated("x://2")
    yield* settled
    return [all.size, seen]
  })

  const offered = { resources: { subscribe: true, listChanged: true } }

  it.effect("each request has a stream of its own", () =>
    Effect.gen(function*() {
      const { all, handlers } = listening()
      const { session } = yield* connectedStateless(handlers, { server: { isStreamed: true, capabilities: offered } })
      assert.deepStrictEqual(yield* subscribed(session, all), [1, ["x://2"]])
    }))

  it.effect("one connection for all messages", () =>
    Effect.gen(function*() {
      const { all, handlers } = listening()
      const pair = yield* MemoryTransport.make()
      yield* server(pair.server, handlers, { capabilities: offered })
      const session = yield* client(pair.client, { revisions: ["2026-07-28"] })
      assert.deepStrictEqual(yield* subscribed(session, all), [1, ["x://2"]])
      yield* session.close
      yield* settled
      assert.strictEqual(all.size, 0)
    }))
})

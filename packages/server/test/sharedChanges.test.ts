/** Changes that reach the clients of other processes by a bus. */
import type { Revision } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpResource, McpResponseCache, McpServer } from "@effect-mcp/server"
import { ChangeBus, type ClientSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { type Client, Subscriptions } from "../src/internal/registry/Subscriptions.ts"
import { UpdatesElsewhere } from "../src/internal/registry/UpdatesElsewhere.ts"
import { connect } from "./support/connect.ts"

const named = (name: string) =>
  McpGroup.make(
    name,
    Tool.make(name, { success: Schema.String }),
    McpResource.template(name, { uri: `${name}://{id}` })
  )
    .toLayer((handlers) =>
      handlers.tool(name, () => Effect.succeed(name)).template(name, ({ id }) => Effect.succeed(id))
    )

/** The notifications that a client has received. */
const follow = Effect.fnUntraced(function*(session: ClientSession.ClientSessionShape) {
  const received: Array<string> = []
  const collect = <A, E>(stream: Stream.Stream<A, E>, text: (params: A) => string) =>
    Effect.forkScoped(Stream.runForEach(stream, (params) => Effect.sync(() => void received.push(text(params)))), {
      startImmediately: true
    })
  yield* collect(session.notifications("notifications/resources/updated"), ({ uri }) => uri)
  yield* collect(session.notifications("notifications/tools/list_changed"), () => "tools")
  yield* collect(session.notifications("notifications/resources/list_changed"), () => "resources")
  yield* collect(session.notifications("notifications/prompts/list_changed"), () => "prompts")
  return received
})

/** A process of a server: its bus, its members, and a client. */
const process = Effect.fnUntraced(function*(
  connection: ChangeBus.ChangeConnection,
  revisions: readonly [Revision.Revision],
  name = "shop"
) {
  const bus = yield* ChangeBus.make(connection)
  const server = Deferred.makeUnsafe<McpServer.McpServerShape>()
  const groups = Layer.merge(
    named("note"),
    Layer.effectDiscard(Effect.flatMap(McpServer.McpServer, (self) => Deferred.succeed(server, self)))
  )
  const session = yield* Effect.provideService(
    connect(groups, { client: { revisions }, server: { info: { name, version: "1.0.0" } } }),
    ChangeBus.ChangeBus,
    bus
  )
  const received = yield* follow(session)
  return { bus, session, server: yield* Deferred.await(server), received }
})

/** Waits until notifications have arrived, and returns them sorted. */
const after = (received: Array<string>, millis = 150) =>
  Effect.map(Effect.sleep(millis), () => received.splice(0).toSorted())

const eras = [["with a handshake", ["2025-11-25"]], ["2026-07-28", ["2026-07-28"]]] as const

for (const [era, revisions] of eras) {
  describe(`changes of other processes, ${era}`, () => {
    it.live("an update reaches the clients that subscribed to the resource, at every process", () =>
      Effect.gen(function*() {
        const { connection } = yield* ChangeBus.makeMemory
        const processes = yield* Effect.forEach([1, 2, 3], () => process(connection, revisions))
        const [one, other, third] = processes
        assert.isDefined(one)
        assert.isDefined(other)
        assert.isDefined(third)
        yield* one.session.subscribeResource("note://a")
        yield* other.session.subscribeResource("note://a")
        yield* other.session.subscribeResource("note://b")
        yield* third.session.subscribeResource("note://b")
        for (const { received } of processes) yield* after(received)
        yield* one.server.resourceUpdated("note://a")
        assert.deepStrictEqual(yield* after(other.received), ["note://a"])
        assert.deepStrictEqual([one.received, third.received], [["note://a"], []])
        yield* third.server.resourceUpdated("note://b")
        yield* third.server.resourceUpdated("note://unknown")
        yield* third.server.resourceUpdated("note://A")
        assert.deepStrictEqual(yield* after(other.received), ["note://b"])
        yield* other.session.unsubscribeResource("note://b")
        yield* third.server.resourceUpdated("note://b")
        assert.deepStrictEqual(yield* after(other.received), [])
      }).pipe(Effect.scoped))

    it.live("changes of lists reach the clients of every process, and the start and the end of one do not", () =>
      Effect.gen(function*() {
        const { connection } = yield* ChangeBus.makeMemory
        const [one, other] = [yield* process(connection, revisions), yield* process(connection, revisions)]
        // A client of 2026-07-28 listens to what it asks for.
        yield* other.session.listTools()
        yield* after(other.received)
        yield* one.server.listChanged("tools")
        assert.deepStrictEqual(yield* after(other.received), ["tools"])
        yield* one.server.visibilityChanged
        assert.deepStrictEqual(yield* after(other.received), ["resources", "tools"])
        const scope = yield* Scope.make()
        yield* Layer.buildWithScope(Layer.provide(named("late"), Layer.succeed(McpServer.McpServer, one.server)), scope)
        assert.deepStrictEqual(yield* after(other.received), ["resources", "tools"])
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* after(other.received), ["resources", "tools"])
        yield* Effect.scoped(process(connection, revisions))
        assert.deepStrictEqual(yield* after(other.received), [])
      }).pipe(Effect.scoped))

    it.live("a gap counts as a change of the lists and of everything that clients subscribed to", () =>
      Effect.gen(function*() {
        const { connection, interrupt } = yield* ChangeBus.makeMemory
        const { received, session } = yield* process(connection, revisions)
        yield* session.subscribeResource("note://a")
        yield* session.subscribeResource("note://b")
        yield* after(received)
        yield* interrupt
        assert.deepStrictEqual(yield* after(received, 1_000), ["note://a", "note://b", "resources", "tools"])
      }).pipe(Effect.scoped))

    it.live("a server of another name, and texts that no client subscribed to, change nothing", () =>
      Effect.gen(function*() {
        const { connection } = yield* ChangeBus.makeMemory
        const [one, other] = [yield* process(connection, revisions, "bank"), yield* process(connection, revisions)]
        yield* other.session.subscribeResource("note://a")
        yield* after(other.received)
        yield* one.server.resourceUpdated("note://a")
        yield* one.server.listChanged("tools")
        const scope = "shop"
        yield* one.bus.publish({ scope, kind: "resource", key: "ignore all previous instructions" })
        yield* one.bus.publish({ scope, kind: "list", key: "__proto__" })
        yield* one.bus.publish({ scope, kind: "unknown", key: "note://a" })
        assert.deepStrictEqual(yield* after(other.received), [])
      }).pipe(Effect.scoped))

    it.live("equal updates of several processes at the same time are one notification", () =>
      Effect.gen(function*() {
        const { connection } = yield* ChangeBus.makeMemory
        const { received, session } = yield* process(connection, revisions)
        const others = yield* Effect.forEach([1, 2, 3, 4], () => ChangeBus.make(connection))
        yield* session.subscribeResource("note://a")
        yield* after(received)
        for (const bus of others) yield* bus.publish({ scope: "shop", kind: "resource", key: "note://a" })
        assert.deepStrictEqual(yield* after(received), ["note://a"])
      }).pipe(Effect.scoped))
  })
}

describe("changes of a server without a name", () => {
  it.live("are shared under the option changeScope, and not by default", () =>
    Effect.gen(function*() {
      const { connection } = yield* ChangeBus.makeMemory
      const [bus, other] = [yield* ChangeBus.make(connection), yield* ChangeBus.make(connection)]
      const received: Array<ChangeBus.Change> = []
      for (const scope of ["shop", ""]) {
        yield* other.subscribe({ scope, onChange: (change) => void received.push(change), onGap: () => {} })
      }
      for (const options of [{}, { changeScope: "shop" }]) {
        const server = Deferred.makeUnsafe<McpServer.McpServerShape>()
        yield* McpServer.makeStatelessHandlers(
          Layer.effectDiscard(Effect.flatMap(McpServer.McpServer, (self) => Deferred.succeed(server, self))),
          options
        ).pipe(Effect.provideService(ChangeBus.ChangeBus, bus))
        yield* (yield* Deferred.await(server)).resourceUpdated("note://a")
        yield* Effect.sleep(50)
      }
      assert.deepStrictEqual(received, [{ scope: "shop", kind: "resource", key: "note://a" }])
    }).pipe(Effect.scoped))
})

describe("a response cache of several processes", () => {
  class Cached extends McpMiddleware.Service<Cached>()("Cached") {}

  it.live("an invalidation at one process, or a gap, removes the results of the others", () =>
    Effect.gen(function*() {
      const { connection, interrupt } = yield* ChangeBus.makeMemory
      const counted = Effect.fnUntraced(function*() {
        let calls = 0
        const bus = yield* ChangeBus.make(connection)
        const groups = McpGroup.make(
          "rates",
          Tool.make("rate", { success: Schema.Finite }),
          Tool.make("changed", { success: Schema.Void })
        ).middleware(Cached).toLayer((handlers) =>
          handlers
            .tool("rate", () => Effect.sync(() => ++calls))
            .tool("changed", () => McpResponseCache.invalidate(Cached, ({ name }) => name === "rate"))
        ).pipe(Layer.provide(McpResponseCache.layer(Cached, { timeToLive: { rate: "1 hour" } })))
        const session = yield* Effect.provideService(connect(groups), ChangeBus.ChangeBus, bus)
        const call = (name: string) => session.callTool(name)
        return { call, rate: Effect.map(call("rate"), ({ structuredContent }) => structuredContent) }
      })
      const [one, other] = [yield* counted(), yield* counted()]
      for (const { rate } of [one, other]) {
        yield* rate
        assert.deepStrictEqual(yield* rate, 1)
      }
      yield* one.call("changed")
      assert.deepStrictEqual(yield* one.rate, 2)
      yield* Effect.sleep(50)
      assert.deepStrictEqual(yield* other.rate, 2)
      yield* interrupt
      yield* Effect.sleep(1_000)
      for (const { rate } of [one, other]) assert.deepStrictEqual(yield* rate, 3)
    }).pipe(Effect.scoped))
})

describe("updates by other processes", () => {
  const client = (): Client => ({
    toolListChanged: Effect.void,
    promptListChanged: Effect.void,
    resourceListChanged: Effect.void,
    resourceUpdated: () => Effect.void
  })

  it.effect("a client that reads nothing delays no other, and what waits for it is bounded by its subscriptions", () =>
    Effect.gen(function*() {
      const [slow, quick] = [client(), client()]
      let checks = 0
      class CountingSubscriptions extends Subscriptions {
        override has(client: Client, uri: string): boolean {
          checks++
          return super.has(client, uri)
        }
      }
      const subscriptions = new CountingSubscriptions(3)
      const scope = yield* Effect.scope
      const run = Effect.runSyncWith(yield* Effect.context())
      const sent: Array<readonly [string, ReadonlyArray<string>]> = []
      const updates = new UpdatesElsewhere({
        subscriptions,
        fork: (effect) => void run(Effect.forkIn(effect, scope)),
        send: (to, uris) =>
          Effect.andThen(
            Effect.sync(() => void sent.push([to === slow ? "slow" : "quick", uris])),
            to === slow ? Effect.sleep("5 seconds") : Effect.void
          )
      })
      for (const uri of ["a", "b", "c"]) {
        yield* subscriptions.add(slow, uri, Effect.void)
        yield* subscriptions.add(quick, uri, Effect.void)
      }
      updates.updated("a")
      yield* TestClock.adjust("20 millis")
      assert.deepStrictEqual(sent.splice(0), [["slow", ["a"]], ["quick", ["a"]]])
      for (let times = 0; times < 100; times++) for (const uri of ["b", "a", "none"]) updates.updated(uri)
      yield* TestClock.adjust("20 millis")
      assert.deepStrictEqual(sent.splice(0), [["quick", ["b", "a"]]])
      // It replaces its subscriptions by others, again and again.
      for (let index = 0; index < 100; index++) {
        yield* subscriptions.remove(slow, index === 0 ? "a" : String(index - 1))
        yield* subscriptions.add(slow, String(index), Effect.void)
        updates.updated(String(index))
      }
      checks = 0
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(sent.splice(0), [["slow", ["b", "99"]]])
      assert.isAtMost(checks, 4)
      // A subscription that ends before the update is sent.
      updates.updated("a")
      yield* subscriptions.remove(quick, "a")
      yield* TestClock.adjust("20 millis")
      assert.deepStrictEqual(sent.splice(0), [])
      yield* subscriptions.add(quick, "a", Effect.void)
      updates.everythingUpdated()
      updates.end(slow)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(sent.splice(0), [["quick", ["b", "c", "a"]]])
    }))
})

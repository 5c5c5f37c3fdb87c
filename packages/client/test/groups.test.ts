/** Groups of servers in this process, some of which are down, slow, hang or flood. */
import { GroupError, type McpClient, McpClients, McpTarget, ServerStatus } from "@effect-mcp/client"
import { Revision } from "@effect-mcp/protocol"
import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { broken, hanging, info, namesOf, serverOf, text, tool } from "./fixtures/groupServers.ts"

describe("a group of servers", () => {
  it.effect("all lists are merged with the names of the servers", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({
        files: serverOf("files", ["read", "write"]).target,
        mail: serverOf("mail", ["send"]).target
      }, { info })
      const tools = yield* clients.tools
      assert.deepStrictEqual(namesOf(tools), ["files__read", "files__write", "mail__send"])
      assert.deepStrictEqual(tools[2], { ...tool("mail__send"), server: "mail", definition: tool("send") })
      assert.deepStrictEqual(
        (yield* clients.prompts).map(({ definition, server }) => [server, definition.name]),
        [["files", "about files"], ["mail", "about mail"]]
      )
      assert.deepStrictEqual((yield* clients.resources).map(({ server, uri }) => [server, uri]), [
        ["files", "app://state"],
        ["mail", "app://state"]
      ])
      assert.deepStrictEqual(
        (yield* clients.resourceTemplates).map(({ server, uriTemplate }) => [server, uriTemplate]),
        [["files", "app://{id}"], ["mail", "app://{id}"]]
      )
    }))

  it.effect("clients are typed by the names of the servers", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ files: serverOf("files", ["read"]).target }, { info })
      assert.strictEqual(text(yield* clients.client("files").callTool("read")), "files ran read")
      assert.strictEqual((yield* clients.status).files.status._tag, "Ready")
      const isExact: "flies" extends Parameters<typeof clients.client>[0] ? false : true = true
      assert.isTrue(isExact)
    }))

  it.effect("a server that is down is left out, its status says so, and the others are called at once", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ broken, files: serverOf("files", ["read"]).target }, { info })
      yield* clients.settled("1 minute")
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__read"])
      assert.strictEqual(text(yield* clients.callTool("files__read")), "files ran read")
      const { broken: down, files } = yield* clients.status
      assert.include(ServerStatus.describe(down.status), "down after 1 attempt: no such place")
      assert.deepStrictEqual(down.omissions, [{ list: "tools", reason: { _tag: "Down" } }])
      assert.deepStrictEqual(files.omissions, [])
      const error = yield* Effect.flip(clients.callTool("broken_find_0123456789abcdef"))
      assert.include(error.message, "these servers are down or slow, and may have it: broken")
    }))

  it.effect("a server that hangs delays one list by the bound, and no call", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ hanging, files: serverOf("files", ["read"]).target }, {
        info,
        listWaitTimeout: "3 seconds"
      })
      assert.strictEqual(text(yield* clients.callTool("files__read")), "files ran read")
      const listing = yield* Effect.forkChild(clients.tools, { startImmediately: true })
      yield* TestClock.adjust("2999 millis")
      assert.isUndefined(listing.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(namesOf(yield* Fiber.join(listing)), ["files__read"])
      // No clock moves any more.
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__read"])
      assert.deepStrictEqual((yield* clients.status).hanging.omissions, [
        { list: "tools", reason: { _tag: "Slow", withinMillis: 3000 } }
      ])
    }))

  it.effect("a slow list is reported when it has arrived, and later lists have its last state", () =>
    Effect.gen(function*() {
      const gates = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      let reading = 0
      const slow = serverOf("slow", ["read"], {
        beforeList: Effect.suspend(() => {
          const gate = gates[reading++]
          return gate === undefined ? Effect.never : Deferred.await(gate)
        })
      })
      const clients = yield* McpClients.make({ slow: slow.target, files: serverOf("files", ["read"]).target }, { info })
      yield* clients.settled("1 minute")
      const listing = yield* Effect.forkChild(clients.tools)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(namesOf(yield* Fiber.join(listing)), ["files__read"])
      const arrived = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(clients.changes, ({ list, server }) => server === "slow" && list === "tools")),
        { startImmediately: true }
      )
      yield* Effect.andThen(Deferred.succeed(gates[0] ?? assert.fail(), undefined), Fiber.join(arrived))
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["slow__read", "files__read"])
      assert.deepStrictEqual((yield* clients.status).slow.omissions, [])

      // The list changes, and reading it takes long.
      const changed = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(clients.changes, ({ server }) => server === "slow")),
        { startImmediately: true }
      )
      slow.state.tools = ["read", "write"]
      yield* Effect.andThen((yield* slow.session).toolListChanged, Fiber.join(changed))
      const again = yield* Effect.forkChild(clients.tools)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(namesOf(yield* Fiber.join(again)), ["slow__read", "files__read"])
      assert.strictEqual((yield* clients.status).slow.omissions[0]?.reason._tag, "Slow")
    }))

  it.effect("a flood of changes displaces no change of another list or server for a follower that is slow", () =>
    Effect.gen(function*() {
      const flooding = serverOf("flooding", ["read"])
      const calm = serverOf("calm", ["read"])
      const clients = yield* McpClients.make({ flooding: flooding.target, calm: calm.target }, { info })
      yield* clients.settled("1 minute")
      yield* clients.tools
      const go = yield* Deferred.make<void>()
      const seen: Array<string> = []
      yield* Effect.forkChild(
        Stream.runForEach(
          clients.changes,
          ({ list, server }) => Effect.andThen(Effect.sync(() => seen.push(`${server} ${list}`)), Deferred.await(go))
        ),
        { startImmediately: true }
      )
      const flood = Effect.flatMap(flooding.session, (session) => session.toolListChanged).pipe(
        Effect.repeat({ times: 500 })
      )
      yield* flood
      yield* Effect.flatMap(calm.session, (session) => session.toolListChanged)
      yield* flood
      assert.strictEqual(text(yield* clients.callTool("calm__read")), "calm ran read")
      yield* Deferred.succeed(go, undefined)
      yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => seen.includes("calm tools") }))
      assert.isAtMost(seen.length, 10)
    }))

  it.effect("a session is closed before its transport is released", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const outer = yield* Effect.scope
      const layer = Layer.effect(
        Transport.Transport,
        Effect.gen(function*() {
          const pair = yield* MemoryTransport.make()
          const session = yield* ServerSession.make({}, { info }).pipe(
            Effect.provideService(Transport.Transport, pair.server),
            Scope.provide(outer)
          )
          yield* Effect.addFinalizer(() => Effect.sync(() => order.push("released")))
          yield* Effect.forkIn(Effect.map(session.closed, ({ _tag }) => order.push(_tag)), outer)
          return pair.client
        })
      )
      yield* Effect.scoped(Effect.gen(function*() {
        const clients = yield* McpClients.make({ own: McpTarget.transport(layer) }, { info })
        yield* clients.settled("1 minute")
      }))
      assert.deepStrictEqual(order, ["PeerEnded", "released"])
    }))

  it.effect("a server is added and removed, its names with it, and followers hear of both", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ files: serverOf("files", ["read"]).target }, { info })
      yield* clients.settled("1 minute")
      const mail = serverOf("mail", ["send"])
      const next = () =>
        Effect.forkChild(
          Stream.runHead(Stream.filter(clients.changes, ({ list, server }) => server === "mail" && list === "tools")),
          { startImmediately: true }
        )
      const added = yield* next()
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(clients.add("mail", mail.target), scope)
      yield* Fiber.join(added)
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__read", "mail__send"])
      assert.strictEqual(text(yield* client.callTool("send")), "mail ran send")
      assert.strictEqual(text(yield* clients.callTool("mail__send")), "mail ran send")
      assert.strictEqual(yield* clients.find("mail"), client)
      const duplicate = yield* Effect.flip(Effect.scoped(clients.add("files", mail.target)))
      assert.strictEqual(duplicate._tag, "DuplicateServerError")

      const removed = yield* next()
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(removed)
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__read"])
      assert.strictEqual((yield* Effect.flip(clients.callTool("mail__send")))._tag, "NoSuchNameError")
      assert.strictEqual((yield* Effect.flip(clients.find("mail")))._tag, "NoSuchServerError")
      assert.deepStrictEqual(Object.keys(yield* clients.status), ["files"])
      assert.strictEqual(mail.state.closed, 1)
      // The name is free again.
      yield* clients.add("mail", serverOf("mail", ["send"]).target)
      assert.strictEqual(text(yield* clients.callTool("mail__send")), "mail ran send")
    }))

  it.effect("a list that was requested before a change is not returned after it", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const begun = yield* Deferred.make<void>()
      const slow = serverOf("slow", ["old"], {
        beforeList: Effect.suspend(() =>
          slow.state.lists === 1
            ? Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(gate))
            : Effect.void
        )
      })
      const clients = yield* McpClients.make({ slow: slow.target }, { info, revisions: Revision.legacy })
      const before = yield* Effect.forkChild(clients.tools, { startImmediately: true })
      yield* Deferred.await(begun)
      slow.state.tools = ["new"]
      const changed = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(clients.changes, ({ list }) => list === "tools")),
        { startImmediately: true }
      )
      yield* (yield* slow.session).toolListChanged
      yield* Fiber.join(changed)
      const after = yield* Effect.forkChild(clients.tools, { startImmediately: true })
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(namesOf(yield* Fiber.join(after)), ["slow__new"])
      yield* Fiber.join(before)
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["slow__new"])
    }))

  it.effect("a slow server that changes its list before each answer is asked once a second without a caller", () =>
    Effect.gen(function*() {
      let isFlooding = false
      const slow = serverOf("slow", ["read"], {
        beforeList: Effect.suspend(() =>
          isFlooding
            ? slow.session.pipe(
              Effect.flatMap(({ toolListChanged }) => Effect.orDie(toolListChanged)),
              Effect.andThen(Effect.sleep(1))
            )
            : Effect.sleep("3 seconds")
        )
      })
      const clients = yield* McpClients.make({ slow: slow.target }, { info, revisions: Revision.legacy })
      const listing = yield* Effect.forkChild(clients.tools, { startImmediately: true })
      yield* TestClock.adjust("2500 millis")
      assert.deepStrictEqual(yield* Fiber.join(listing), [])
      isFlooding = true
      yield* (yield* slow.session).toolListChanged
      yield* TestClock.adjust("2 seconds")
      const lists = slow.state.lists
      yield* TestClock.adjust("10 seconds")
      assert.isAtMost(slow.state.lists - lists, 10)
      isFlooding = false
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["slow__read"])
    }))

  it.effect("a name is taken from the beginning of its server to the end, however many are added at once", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({}, { info })
      const scopes = [yield* Scope.make(), yield* Scope.make()] as const
      const added = yield* Effect.forEach(
        scopes,
        (scope) =>
          Effect.exit(Scope.provide(clients.add("files", serverOf("files", ["read"]).target), scope)).pipe(
            // Each step of an addition is interleaved with those of the other one.
            Effect.provideService(References.MaxOpsBeforeYield, 3)
          ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(added.map(Exit.isSuccess), [true, false])
      yield* Scope.close(scopes[1], Exit.void)
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__read"])
      yield* Scope.close(scopes[0], Exit.void)
      assert.deepStrictEqual(yield* clients.tools, [])
      yield* clients.add("files", serverOf("files", ["write"]).target)
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__write"])
    }))

  it.effect("a server that is tried again is down until it is ready", () =>
    Effect.gen(function*() {
      let attempts = 0
      const failing = McpTarget.transport(
        Layer.effect(
          Transport.Transport,
          Effect.suspend(() =>
            ++attempts === 1
              ? Effect.fail("not started yet")
              : Effect.succeed(Transport.Transport.of({ connect: Effect.never }))
          )
        ),
        "failing"
      )
      const clients = yield* McpClients.make({ failing, files: serverOf("files", ["read"]).target }, {
        info,
        reconnect: Schedule.spaced("1 second")
      })
      yield* clients.settled("1 minute")
      yield* TestClock.adjust("1 second")
      const problem = { _tag: "TargetFailed", cause: "not started yet" } as const
      assert.deepStrictEqual((yield* clients.status).failing.status, { _tag: "Connecting", attempt: 2, problem })
      // No clock is moved meanwhile.
      yield* clients.settled("1 minute")
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__read"])
      assert.deepStrictEqual((yield* clients.status).failing.omissions, [{ list: "tools", reason: { _tag: "Down" } }])
    }))

  it.effect("options of a server replace those of the group", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ hanging, other: hanging }, {
        info,
        waitTimeout: "1 hour",
        servers: { hanging: { waitTimeout: "1 second" } }
      })
      const calling = yield* Effect.forkChild(Effect.flip(clients.callTool("hanging__read")))
      const other = yield* Effect.forkChild(Effect.flip(clients.callTool("other__read")))
      yield* TestClock.adjust("1 second")
      assert.match(
        (yield* Fiber.join(calling)).message,
        /^the server "hanging" is not available: .*; the call waited 1000 ms/
      )
      assert.isUndefined(other.pollUnsafe())
    }))

  it.effect("statuses begin with the present ones, and settled waits no longer than its bound", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ hanging, files: serverOf("files", ["read"]).target }, { info })
      const settled = yield* Effect.forkChild(clients.settled("5 seconds"), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(settled.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(settled)
      const statuses = yield* Stream.runCollect(Stream.take(clients.statuses, 2))
      assert.deepStrictEqual(statuses.map(({ server, status }) => [server, status._tag]), [
        ["hanging", "Connecting"],
        ["files", "Ready"]
      ])
    }))

  it.effect("a Layer provides a group, under the key of the program or as a service", () => {
    class Servers extends Context.Service<Servers, McpClients.McpClientsShape<"files">>()("test/Servers") {}
    const files = serverOf("files", ["read"]).target
    return Effect.gen(function*() {
      const own = yield* Servers
      assert.strictEqual(text(yield* own.client("files").callTool("read")), "files ran read")
      const shared = yield* McpClients.McpClients
      assert.deepStrictEqual(namesOf(yield* shared.tools), ["files__read"])
      const client: McpClient.McpClientShape = yield* shared.find("files")
      assert.notStrictEqual(client, own.client("files"))
      assert.throws(() => shared.client("flies"), GroupError.NoSuchServerError)
    }).pipe(Effect.provide(Layer.merge(
      McpClients.layerAs(Servers, { files }, { info }),
      McpClients.layer({ files }, { info })
    )))
  })
})

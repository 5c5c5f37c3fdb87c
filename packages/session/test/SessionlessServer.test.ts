import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { RequestContext, SessionlessServer, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { call, codeOf, info, initialize, recorder, settled, start, text, tools, traced } from "./support/sessions.ts"

const revision = Revision.latest

const serving = Effect.fnUntraced(function*(
  byName: Parameters<typeof tools>[0],
  options: Partial<SessionlessServer.Options> = {}
) {
  const record = recorder()
  const server = yield* SessionlessServer.make(tools(byName), {
    info,
    capabilities: { logging: {} },
    ...options,
    observe: record.observe
  })
  return { server, record }
})

const code = (reply: SessionlessServer.Reply | undefined): number | undefined =>
  reply === undefined || JsonRpc.isBatch(reply) ? undefined : codeOf(reply)

describe("a server of frames", () => {
  it.effect("[INIT-04] [INIT-05] answers initialize with the client's revision, or else its newest", () =>
    Effect.gen(function*() {
      const { server } = yield* serving({}, { revisions: ["2024-11-05", "2025-06-18"] })
      assert.deepStrictEqual(server.revisions, ["2024-11-05", "2025-06-18"])
      for (
        const [offered, answered] of [["2024-11-05", "2024-11-05"], ["2025-11-25", "2025-06-18"], ["1", "2025-06-18"]]
      ) {
        const reply = yield* server.handle(initialize(offered), { revision: "2025-03-26" })
        assert.deepNestedInclude(reply, { "result.protocolVersion": answered })
      }
    }))

  it.effect("law 12: answers what has no room in the reply to a batch with an error", () =>
    Effect.gen(function*() {
      const big = text("x".repeat(10_000))
      const { server } = yield* serving({ big: Effect.succeed(big) }, { limits: { maxOutgoingBytes: 25_000 } })
      const batch = [
        call(1, "big"),
        call(2, "big"),
        call(3, "big"),
        call(4, "big"),
        JsonRpc.request(5, "ping", undefined)
      ]
      const replies = yield* server.handle(batch, { revision: "2025-03-26" })
      assert.isTrue(replies !== undefined && JsonRpc.isBatch(replies))
      assert.deepStrictEqual(
        JsonRpc.messages(replies).map((reply) => ["id" in reply && reply.id, codeOf(reply)]),
        [[1, undefined], [2, undefined], [3, undefined], [4, -32010], [5, -32010]]
      )
    }))

  it.effect("serves the same id to two clients at once, and lets neither cancel the other's", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { record, server } = yield* serving({ wait: Effect.as(Deferred.await(gate), text("done")) })
      const one = yield* start(server.handle(call(1, "wait"), { revision }))
      const other = yield* start(server.handle(call(1, "wait"), { revision }))
      yield* server.handle(JsonRpc.notification("notifications/cancelled", { requestId: 1 }), { revision })
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of [one, other]) {
        assert.deepStrictEqual(yield* Fiber.join(fiber), JsonRpc.success(1, text("done")))
      }
      assert.deepStrictEqual(record.events.map(({ _tag }) => _tag), ["CancelIgnored"])
    }))

  it.effect("tells its handlers who asks, and gives them services of its own alone", () =>
    Effect.gen(function*() {
      const Own = Context.Reference<string>("test/Own", { defaultValue: () => "default" })
      const { server } = yield* serving({
        who: Effect.gen(function*() {
          const { principal } = yield* RequestContext.RequestContext
          return text(`${principal?.id} ${yield* Own}`)
        })
      }).pipe(Effect.provideService(Own, "the server's"))
      const asked = server.handle(call(1, "who"), { revision, principal: { id: "ada" } })
      assert.deepStrictEqual(
        yield* Effect.provideService(asked, Own, "the caller's"),
        JsonRpc.success(1, text("ada the server's"))
      )
    }))

  it.effect("replies when what the handler has acquired is released, and what it said is on its way", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const note = (words: string) => Effect.sync(() => void seen.push(words))
      const gate = yield* Deferred.make<void>()
      const { server } = yield* serving({
        x: Effect.gen(function*() {
          yield* Effect.addFinalizer(() => Effect.andThen(Effect.yieldNow, note("released")))
          yield* Effect.forkDetach(RequestContext.log({ level: "info", data: 1 }), { startImmediately: true })
          yield* Effect.forkDetach(RequestContext.log({ level: "info", data: 2 }), { startImmediately: true })
          return text("x")
        }).pipe(Effect.scoped)
      })
      const fiber = yield* start(Effect.tap(
        server.handle(call(1, "x"), {
          revision,
          notify: ({ params }) => Effect.andThen(Deferred.await(gate), note(`said ${String(params?.["data"])}`))
        }),
        () => note("replied")
      ))
      yield* settled
      assert.deepStrictEqual(seen, ["released"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["released", "said 1", "said 2", "replied"])
    }))

  it.effect("goes on when what a handler says goes nowhere", () =>
    Effect.gen(function*() {
      const { record, server } = yield* serving({
        x: Effect.gen(function*() {
          yield* RequestContext.log({ level: "info", data: 1 })
          return text("x")
        })
      })
      const failing = [
        undefined,
        () => Effect.fail(TransportError.make({ _tag: "NoRoute", method: undefined })),
        () => Effect.die("broken"),
        () => {
          throw new Error("broken")
        }
      ]
      for (const say of failing) {
        assert.deepStrictEqual(
          yield* server.handle(call(1, "x"), { revision, notify: say }),
          JsonRpc.success(1, text("x"))
        )
      }
      assert.deepStrictEqual(
        record.of("SendFailed").map(({ error, method }) => [method, error.reason._tag]),
        ["NoRoute", "NoRoute", "WriteFailed", "WriteFailed"].map((tag) => ["notifications/message", tag])
      )
    }))

  it.effect("interrupts its handlers when nobody waits, and has then ended them", () =>
    Effect.gen(function*() {
      const work = traced(Effect.never)
      const slow = traced(Effect.never.pipe(Effect.onInterrupt(() => Effect.yieldNow)))
      const { record, server } = yield* serving({ wait: work.effect, slow: slow.effect })
      const fiber = yield* start(
        server.handle([call(1, "wait"), call(2, "slow"), call(3, "none")], { revision: "2025-03-26" })
      )
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([work.seen, slow.seen], [["began", "interrupted"], ["began", "interrupted"]])
      assert.deepStrictEqual(record.of("Abandoned").map(({ id }) => id), [1, 2])
      assert.deepStrictEqual(record.of("HandlerFailed"), [])
    }))

  it.effect("serves so many requests at a time for all its clients, and frees what those held that are gone", () =>
    Effect.gen(function*() {
      const { server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
        limits: { maxIncomingRequests: 4 }
      })
      const ask = (client: string, frame: unknown) =>
        Effect.map(server.handle(frame, { revision: "2025-03-26", client }), code)
      const one = yield* start(ask("one", call(1, "wait")))
      // A reply that waits for the rest of its batch counts, too.
      const batch = yield* start(ask("two", [call(1, "x"), call(2, "wait")]))
      const three = yield* start(ask("three", call(1, "wait")))
      assert.strictEqual(yield* ask("two", call(2, "x")), -32010)
      assert.strictEqual(yield* ask("two", JsonRpc.request(3, "ping", {})), undefined)
      yield* Fiber.interruptAll([one, batch, three])
      for (let time = 0; time < 5; time++) assert.strictEqual(yield* ask("four", call(2, "x")), undefined)
      const again = [
        yield* start(ask("one", [call(1, "wait"), call(2, "wait")])),
        yield* start(ask("two", call(1, "wait"))),
        yield* start(ask("three", call(1, "wait")))
      ]
      assert.strictEqual(yield* ask("one", call(2, "x")), -32010)
      yield* Fiber.interruptAll(again)
    }))

  describe("leaves room for others, however much one client asks for", () => {
    const hog = (
      server: SessionlessServer.SessionlessServer,
      count: number,
      whose: Pick<SessionlessServer.IncomingFrame, "client" | "principal">
    ) =>
      Effect.forEach(
        Array.from({ length: count }, (_, id) => id),
        (id) => start(Effect.map(server.handle(call(id, "wait"), { revision, ...whose }), code))
      )

    const refusedOf = (fibers: ReadonlyArray<Fiber.Fiber<number | undefined>>) =>
      fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length

    for (
      const [name, whose, others] of [
        ["of one principal", { principal: { id: "ada" }, client: "192.0.2.1" }, [
          { principal: { id: "grace" }, client: "192.0.2.1" },
          { client: "192.0.2.1" },
          { client: "ada" },
          {}
        ]],
        ["of one address", { client: "192.0.2.1" }, [{ client: "192.0.2.2" }, { principal: { id: "192.0.2.1" } }, {}]],
        ["of unknown clients", {}, [{ client: "192.0.2.1" }, { principal: { id: "" } }, { client: "" }]]
      ] as const
    ) {
      it.effect(`requests ${name}: no more than half`, () =>
        Effect.gen(function*() {
          const { record, server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
            limits: { maxIncomingRequests: 16 }
          })
          const held = yield* hog(server, 20, whose)
          assert.strictEqual(refusedOf(held), 12)
          assert.strictEqual(record.of("Rejected").length, 12)
          const refused = yield* server.handle(call(99, "x"), { revision, ...whose })
          assert.deepNestedInclude(refused, {
            "error.code": -32010,
            "error.message":
              "Overloaded: 8 requests of this client are in flight, and as many of others must still have room"
          })
          for (const other of others) {
            assert.isUndefined(code(yield* server.handle(call(1, "x"), { revision, ...other })))
          }
          yield* Fiber.interruptAll(held)
          assert.strictEqual(refusedOf(yield* hog(server, 20, whose)), 12)
        }))
    }

    it.effect("bytes: no more than half, and all of them for one request", () =>
      Effect.gen(function*() {
        const { server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
          limits: { maxIncomingBytes: 10_000 }
        })
        const ask = (tool: string, client: string, arrays: number) => {
          const input = { x: Array.from({ length: arrays }, () => []) }
          return Effect.map(server.handle(call(1, tool, { arguments: input }), { revision, client, bytes: 1 }), code)
        }
        assert.isUndefined(yield* ask("x", "hog", 160))
        yield* start(ask("wait", "hog", 40))
        yield* start(ask("wait", "hog", 10))
        assert.strictEqual(yield* ask("x", "hog", 80), -32010)
        assert.isUndefined(yield* ask("x", "another", 80))
      }))
  })

  it.effect("law 12: a request of the client with most in flight makes room for a newcomer's, and is Overloaded", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const { record, server } = yield* serving({
        wait: Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++)),
        x: Effect.succeed(text("x"))
      }, { limits: { maxIncomingRequests: 4 } })
      const ask = (client: string, frame: unknown) => server.handle(frame, { revision: "2025-03-26", client })
      const single = yield* start(ask("one", call(1, "wait")))
      const batch = yield* start(ask("two", [call(1, "wait"), call(2, "wait")]))
      const other = yield* start(ask("three", call(1, "wait")))
      assert.deepStrictEqual(yield* ask("four", call(7, "x")), JsonRpc.success(7, text("x")))
      assert.strictEqual(interrupted, 1)
      assert.deepStrictEqual(record.of("Rejected").map(({ code, id }) => [id, code]), [[1, -32010]])
      yield* start(ask("four", call(8, "wait")))
      // All have one now, and none has more than another.
      assert.strictEqual(code(yield* ask("five", call(9, "x"))), -32010)
      for (const fiber of [single, batch, other]) assert.isUndefined(fiber.pollUnsafe())
    }))

  it.effect("law 12: serves as many requests at a time as the limit of memory allows", () =>
    Effect.gen(function*() {
      const { server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
        limits: { maxIncomingBytes: 10_000 }
      })
      let clients = 0
      const ask = (tool: string, arrays: number) => {
        const input = { x: Array.from({ length: arrays }, () => []) }
        const client = String(clients++)
        return Effect.map(server.handle(call(1, tool, { arguments: input }), { revision, bytes: 1, client }), code)
      }
      assert.strictEqual(yield* ask("x", 180), -32010)
      const waiting = yield* start(ask("wait", 120))
      assert.strictEqual(yield* ask("x", 125), -32010)
      assert.strictEqual(yield* ask("x", 20), undefined)
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(yield* ask("x", 160), undefined)
    }))

  it.effect("hears a frame's notifications one after another, within the limit of requests, until nobody waits", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const record = recorder()
      const gate = yield* Deferred.make<void>()
      const server = yield* SessionlessServer.make({
        "notifications/roots/list_changed": () =>
          Effect.andThen(Deferred.await(gate), Effect.sync(() => void seen.push("heard"))).pipe(
            Effect.onInterrupt(() => Effect.sync(() => void seen.push("interrupted")))
          )
      }, { info, limits: { maxIncomingRequests: 1 }, observe: record.observe })
      const changed = JsonRpc.notification("notifications/roots/list_changed")
      const first = yield* start(server.handle([changed, changed], { revision: "2025-03-26" }))
      yield* server.handle(changed, { revision })
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ problem }) => problem), [
        "1 requests are in flight, the limit"
      ])
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(seen, ["interrupted"])
      yield* Deferred.succeed(gate, undefined)
      assert.isUndefined(yield* server.handle([changed, changed], { revision: "2025-03-26" }))
      assert.deepStrictEqual(seen, ["interrupted", "heard", "heard"])
    }))

  it.effect("logs what its observer throws, and goes on", () =>
    Effect.gen(function*() {
      const server = yield* SessionlessServer.make({}, {
        info,
        observe: () => {
          throw new Error("not my day")
        }
      })
      assert.strictEqual(code(yield* server.handle(JsonRpc.request(1, "no/such", {}), { revision })), -32601)
    }))
})

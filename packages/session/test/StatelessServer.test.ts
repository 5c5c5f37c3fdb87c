import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { RequestContext, StatelessServer, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { call, codeOf, info, initialize, recorder, settled, start, text, tools, traced } from "./support/sessions.ts"

const revision = Revision.latestLegacy

const serving = Effect.fnUntraced(function*(
  byName: Parameters<typeof tools>[0],
  options: Partial<StatelessServer.Options> = {}
) {
  const record = recorder()
  const server = yield* StatelessServer.make(tools(byName), {
    info,
    capabilities: { logging: {} },
    ...options,
    observe: record.observe
  })
  return { server, record }
})

const code = (reply: StatelessServer.Reply | undefined): number | undefined =>
  reply === undefined || JsonRpc.isBatch(reply) ? undefined : codeOf(reply)

describe("a StatelessServer", () => {
  it.effect("[INIT-04] [INIT-05] answers initialize with the requested revision if it has it, or else its newest", () =>
    Effect.gen(function*() {
      const { server } = yield* serving({}, { revisions: ["2024-11-05", "2025-06-18"] })
      assert.deepStrictEqual(server.revisions, ["2025-06-18", "2024-11-05"])
      for (
        const [requested, negotiated] of [["2024-11-05", "2024-11-05"], ["2025-11-25", "2025-06-18"], [
          "1",
          "2025-06-18"
        ]]
      ) {
        const reply = yield* server.handle(initialize(requested), { revision: "2025-03-26" })
        assert.deepNestedInclude(reply, { "result.protocolVersion": negotiated })
      }
    }))

  it.effect("law 12: replaces replies of a batch by errors if they exceed maxOutgoingBytes", () =>
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
        [[1, undefined], [2, undefined], [3, undefined], [4, -31010], [5, -31010]]
      )
    }))

  it.effect("serves two frames with the same id at once, and a third frame cannot cancel them", () =>
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

  it.effect("passes the principal to handlers, which run with the services of the server and not of the caller", () =>
    Effect.gen(function*() {
      const Own = Context.Reference<string>("test/Own", { defaultValue: () => "default" })
      const { server } = yield* serving({
        name: Effect.gen(function*() {
          const { principal } = yield* RequestContext.RequestContext
          return text(`${principal?.id} ${yield* Own}`)
        })
      }).pipe(Effect.provideService(Own, "the server's"))
      const handled = server.handle(call(1, "name"), { revision, principal: { id: "ada" } })
      assert.deepStrictEqual(
        yield* Effect.provideService(handled, Own, "the caller's"),
        JsonRpc.success(1, text("ada the server's"))
      )
    }))

  it.effect("replies after the resources of the handler are released and its messages are sent", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const note = (text: string) => Effect.sync(() => void seen.push(text))
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
          notify: ({ params }) => Effect.andThen(Deferred.await(gate), note(`sent ${String(params?.["data"])}`))
        }),
        () => note("replied")
      ))
      yield* settled
      assert.deepStrictEqual(seen, ["released"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["released", "sent 1", "sent 2", "replied"])
    }))

  it.effect("continues if a message of a handler cannot be sent", () =>
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
      for (const notify of failing) {
        assert.deepStrictEqual(
          yield* server.handle(call(1, "x"), { revision, notify }),
          JsonRpc.success(1, text("x"))
        )
      }
      assert.deepStrictEqual(
        record.of("SendFailed").map(({ error, method }) => [method, error.reason._tag]),
        ["NoRoute", "NoRoute", "WriteFailed", "WriteFailed"].map((tag) => ["notifications/message", tag])
      )
    }))

  it.effect("interrupts its handlers if the caller is interrupted, and waits until they have ended", () =>
    Effect.gen(function*() {
      const work = traced(Effect.never)
      const slow = traced(Effect.never.pipe(Effect.onInterrupt(() => Effect.yieldNow)))
      const { record, server } = yield* serving({ wait: work.effect, slow: slow.effect })
      const fiber = yield* start(
        server.handle([call(1, "wait"), call(2, "slow"), call(3, "none")], { revision: "2025-03-26" })
      )
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([work.seen, slow.seen], [["started", "interrupted"], ["started", "interrupted"]])
      assert.deepStrictEqual(record.of("Abandoned").map(({ id }) => id), [1, 2])
      assert.deepStrictEqual(record.of("HandlerFailed"), [])
    }))

  it.effect("limits the requests of all clients together, and frees the capacity of interrupted ones", () =>
    Effect.gen(function*() {
      const { server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
        limits: { maxIncomingRequests: 4 }
      })
      const send = (client: string, frame: unknown) =>
        Effect.map(server.handle(frame, { revision: "2025-03-26", client }), code)
      const one = yield* start(send("one", call(1, "wait")))
      // A reply that waits for the rest of its batch counts as well.
      const batch = yield* start(send("two", [call(1, "x"), call(2, "wait")]))
      const three = yield* start(send("three", call(1, "wait")))
      assert.strictEqual(yield* send("two", call(2, "x")), -31010)
      assert.strictEqual(yield* send("two", JsonRpc.request(3, "ping", {})), undefined)
      yield* Fiber.interruptAll([one, batch, three])
      for (let time = 0; time < 5; time++) assert.strictEqual(yield* send("four", call(2, "x")), undefined)
      const again = [
        yield* start(send("one", [call(1, "wait"), call(2, "wait")])),
        yield* start(send("two", call(1, "wait"))),
        yield* start(send("three", call(1, "wait")))
      ]
      assert.strictEqual(yield* send("one", call(2, "x")), -31010)
      yield* Fiber.interruptAll(again)
    }))

  describe("limits each client, so that others have room", () => {
    const sendMany = (
      server: StatelessServer.StatelessServer,
      count: number,
      identity: Pick<StatelessServer.IncomingFrame, "client" | "principal">
    ) =>
      Effect.forEach(
        Array.from({ length: count }, (_, id) => id),
        (id) => start(Effect.map(server.handle(call(id, "wait"), { revision, ...identity }), code))
      )

    const rejectedOf = (fibers: ReadonlyArray<Fiber.Fiber<number | undefined>>) =>
      fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length

    for (
      const [name, identity, others] of [
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
      it.effect(`requests ${name}: at most half`, () =>
        Effect.gen(function*() {
          const { record, server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
            limits: { maxIncomingRequests: 16 }
          })
          const held = yield* sendMany(server, 20, identity)
          assert.strictEqual(rejectedOf(held), 12)
          assert.strictEqual(record.of("Rejected").length, 12)
          const rejected = yield* server.handle(call(99, "x"), { revision, ...identity })
          assert.deepNestedInclude(rejected, {
            "error.code": -31010,
            "error.message":
              "Overloaded: 8 requests of this client are in flight, and as many of others must still have room"
          })
          for (const other of others) {
            assert.isUndefined(code(yield* server.handle(call(1, "x"), { revision, ...other })))
          }
          yield* Fiber.interruptAll(held)
          assert.strictEqual(rejectedOf(yield* sendMany(server, 20, identity)), 12)
        }))
    }

    it.effect("bytes: at most half, and more for a single request", () =>
      Effect.gen(function*() {
        const { server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
          limits: { maxIncomingBytes: 10_000 }
        })
        const send = (tool: string, client: string, arrays: number) => {
          const input = { x: Array.from({ length: arrays }, () => []) }
          return Effect.map(server.handle(call(1, tool, { arguments: input }), { revision, client, bytes: 1 }), code)
        }
        assert.isUndefined(yield* send("x", "one", 160))
        yield* start(send("wait", "one", 40))
        yield* start(send("wait", "one", 10))
        assert.strictEqual(yield* send("x", "one", 80), -31010)
        assert.isUndefined(yield* send("x", "another", 80))
      }))
  })

  it.effect("law 12: the client with most in flight loses a request to a newcomer, as Overloaded", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const { record, server } = yield* serving({
        wait: Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++)),
        x: Effect.succeed(text("x"))
      }, { limits: { maxIncomingRequests: 4 } })
      const send = (client: string, frame: unknown) => server.handle(frame, { revision: "2025-03-26", client })
      const single = yield* start(send("one", call(1, "wait")))
      const batch = yield* start(send("two", [call(1, "wait"), call(2, "wait")]))
      const other = yield* start(send("three", call(1, "wait")))
      assert.deepStrictEqual(yield* send("four", call(7, "x")), JsonRpc.success(7, text("x")))
      assert.strictEqual(interrupted, 1)
      assert.deepStrictEqual(record.of("Rejected").map(({ code, id }) => [id, code]), [[1, -31010]])
      yield* start(send("four", call(8, "wait")))
      // Now each client has one request in flight.
      assert.strictEqual(code(yield* send("five", call(9, "x"))), -31010)
      for (const fiber of [single, batch, other]) assert.isUndefined(fiber.pollUnsafe())
    }))

  it.effect("law 12: limits the memory of requests in flight", () =>
    Effect.gen(function*() {
      const { server } = yield* serving({ wait: Effect.never, x: Effect.succeed(text("x")) }, {
        limits: { maxIncomingBytes: 10_000 }
      })
      let clients = 0
      const send = (tool: string, arrays: number) => {
        const input = { x: Array.from({ length: arrays }, () => []) }
        const client = String(clients++)
        return Effect.map(server.handle(call(1, tool, { arguments: input }), { revision, bytes: 1, client }), code)
      }
      assert.strictEqual(yield* send("x", 180), -31010)
      const waiting = yield* start(send("wait", 120))
      assert.strictEqual(yield* send("x", 125), -31010)
      assert.strictEqual(yield* send("x", 20), undefined)
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(yield* send("x", 160), undefined)
    }))

  it.effect("handles the notifications of a frame in order, as one request, until the caller is interrupted", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const record = recorder()
      const gate = yield* Deferred.make<void>()
      const server = yield* StatelessServer.make({
        "notifications/roots/list_changed": () =>
          Effect.andThen(Deferred.await(gate), Effect.sync(() => void seen.push("handled"))).pipe(
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
      assert.deepStrictEqual(seen, ["interrupted", "handled", "handled"])
    }))

  it.effect("logs an exception of its observer, and continues", () =>
    Effect.gen(function*() {
      const server = yield* StatelessServer.make({}, {
        info,
        observe: () => {
          throw new Error("broken")
        }
      })
      assert.strictEqual(code(yield* server.handle(JsonRpc.request(1, "no/such", {}), { revision })), -32601)
    }))
})

/** One budget of memory for all the sessions of a process. */
import { ErrorCode, JsonRpc } from "@effect-mcp/protocol"
import { MemoryBudget, SessionlessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Weight from "../src/internal/Weight.ts"
import {
  call,
  codeOf,
  info,
  introduce,
  logMessage,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const heavy = (id: number, name: string) => call(id, name, { arguments: { x: "x".repeat(1000) } })
const weight = Weight.of(heavy(1, "wait"))

describe("a memory budget", () => {
  it("charges up to its limit, and no more", () => {
    const budget = MemoryBudget.make({ limitBytes: 100 })
    assert.deepStrictEqual([budget.take(60), budget.take(41), budget.take(40), budget.take(0)], [
      true,
      false,
      true,
      true
    ])
    assert.strictEqual(budget.usedBytes(), 100)
    budget.release(60)
    assert.strictEqual(budget.usedBytes(), 40)
  })

  it.effect("is one of 256 MiB for the whole process by default", () =>
    Effect.gen(function*() {
      const budget = yield* MemoryBudget.MemoryBudget
      assert.strictEqual(budget, yield* MemoryBudget.MemoryBudget)
      assert.strictEqual(budget.limitBytes, 256 * 1024 * 1024)
    }))

  it.effect("is another one where a layer provides it", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* MemoryBudget.MemoryBudget).limitBytes, 1)
    }).pipe(Effect.provide(MemoryBudget.layer({ limitBytes: 1 }))))
})

describe("sessions that share a budget", () => {
  it.effect("law 12: a request beyond it is Overloaded, whichever session has used it up, until that session ends", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ limitBytes: weight })
      const scope = yield* Scope.make()
      const handlers = tools({ wait: Effect.never, x: Effect.succeed(text("x")) })
      const one = yield* withRawClient({ handlers }).pipe(
        Effect.provideService(MemoryBudget.MemoryBudget, budget),
        Scope.provide(scope)
      )
      const other = yield* withRawClient({ handlers }).pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      yield* introduce(one.raw)
      yield* introduce(other.raw)
      one.link.deliver(heavy(1, "wait"), 1)
      assert.strictEqual(budget.usedBytes(), weight)
      other.link.deliver(call(1, "x"), 1)
      assert.deepStrictEqual<unknown>(yield* other.raw.response, {
        jsonrpc: "2.0",
        id: 1,
        error: { code: ErrorCode.Overloaded, message: "Overloaded: the server has no memory left for requests" }
      })
      const closing = yield* start(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      assert.strictEqual(budget.usedBytes(), 0)
      other.link.deliver(heavy(2, "x"), 1)
      assert.deepStrictEqual(yield* other.raw.response, JsonRpc.success(2, text("x")))
    }))

  it.effect("law 12: beyond it the oldest notification makes room, and one that finds none is dropped", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      const padded = (id: number) => logMessage({ id, padding: "x".repeat(1000) })
      const budget = MemoryBudget.make({ limitBytes: 2 * Weight.of(padded(1)) })
      const { link, record } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) => Effect.delay(Effect.sync(() => handled.push(data)), 10)
          }
        }
      }).pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      for (const id of [1, 2, 3]) link.deliver(padded(id), 1)
      assert.strictEqual(record.of("NotificationIgnored").length, 1)
      assert.strictEqual(budget.usedBytes(), budget.limitBytes)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(handled, [1, 3].map((id) => padded(id).params?.["data"]))
      assert.strictEqual(budget.usedBytes(), 0)
      budget.take(budget.limitBytes)
      link.deliver(padded(4), 1)
      assert.strictEqual(record.of("NotificationIgnored").length, 2)
    }))

  it.effect("law 12: messages wait for peers that do not read while less than half of it is charged", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ limitBytes: 50_000 })
      const open = Effect.gen(function*() {
        const opened = yield* withRawClient({
          handlers: tools({ big: Effect.succeed(text("x".repeat(10_000))) }),
          server: { capabilities: { logging: {} } }
        }).pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
        yield* introduce(opened.raw)
        opened.link.stall()
        return opened
      })
      const [one, other, third] = [yield* open, yield* open, yield* open]
      for (const id of [1, 2, 3]) one.link.deliver(call(id, "big"))
      assert.isAbove(budget.usedBytes(), 25_000)
      // One reply may wait in any case, and a second one is one too many. Who only tells something waits for room.
      other.link.deliver(call(1, "big"))
      yield* third.session.log({ level: "info", data: "with the transport" })
      yield* third.session.log({ level: "info", data: "has room" })
      const waiting = yield* start(third.session.log({ level: "info", data: "has none" }))
      yield* settled
      assert.strictEqual((yield* other.session.state)._tag, "Operating")
      assert.isUndefined(waiting.pollUnsafe())
      other.link.deliver(JsonRpc.request(2, "ping", undefined))
      assert.deepInclude(yield* other.session.closed, { _tag: "RepliesOverflow", limit: "MemoryBudget" })
      assert.strictEqual((yield* one.session.state)._tag, "Operating")
      // Requests are served: half of it is theirs.
      const fourth = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) }).pipe(
        Effect.provideService(MemoryBudget.MemoryBudget, budget)
      )
      yield* introduce(fourth.raw)
      fourth.link.deliver(heavy(1, "x"), 1)
      assert.deepStrictEqual(yield* fourth.raw.response, JsonRpc.success(1, text("x")))
      for (const { link } of [one, third]) link.recover()
      yield* settled
      assert.isDefined(waiting.pollUnsafe())
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 12: replies of a batch that find no room in it are errors, and are released with their batch", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ limitBytes: 25_000 })
      const server = yield* SessionlessServer.make(tools({ big: Effect.succeed(text("x".repeat(10_000))) }), { info })
        .pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      const replies = yield* server.handle([call(1, "big"), call(2, "big"), call(3, "big")], { revision: "2025-03-26" })
      assert.deepStrictEqual(
        replies !== undefined && JsonRpc.messages(replies).map(codeOf),
        [undefined, undefined, ErrorCode.Overloaded]
      )
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 2: of everything that is held when they end nothing stays charged", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const scope = yield* Scope.make()
      const within = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) =>
        effect.pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget), Scope.provide(scope))
      const late = yield* Deferred.make<void>()
      const served = yield* within(withRawClient({
        handlers: {
          ...tools({
            wait: Effect.never,
            x: Effect.succeed(text("x")),
            stubborn: Effect.uninterruptible(Effect.as(Deferred.await(late), text("late")))
          }),
          "notifications/roots/list_changed": () => Effect.never
        },
        server: { capabilities: { logging: {} } }
      }))
      yield* introduce(served.raw)
      yield* within(Effect.forkScoped(Stream.runForEach(served.session.messages, () => Effect.never)))
      yield* within(Effect.forkScoped(Stream.runForEach(served.session.events, () => Effect.never)))
      yield* settled
      served.link.stall()
      served.link.deliver(heavy(1, "wait"), 1)
      served.link.deliver(heavy(2, "stubborn"), 1)
      // Its reply waits for a peer that takes nothing.
      served.link.deliver(heavy(3, "x"), 1)
      for (const _ of [1, 2, 3]) {
        served.link.deliver(JsonRpc.notification("notifications/roots/list_changed", { _meta: { x: "x" } }), 1)
        served.link.deliver(JsonRpc.success("unknown", { x: "x".repeat(100) }), 1)
      }
      const client = yield* within(withRawServer())
      yield* within(Effect.forkScoped(client.session.callTool("x", {}, { onProgress: () => Effect.never })))
      yield* settled
      for (const progress of [1, 2, 3]) {
        client.link.deliver(JsonRpc.notification("notifications/progress", { progressToken: 1, progress }), 1)
      }
      yield* settled
      assert.isAbove(budget.usedBytes(), 6 * weight)
      const closing = yield* start(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(closing)
      // A handler that cannot be interrupted holds its request for as long as it runs.
      assert.strictEqual(budget.usedBytes(), weight + 2 * "stubborn".length - 2 * "wait".length)
      yield* Deferred.succeed(late, undefined)
      yield* settled
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 2: progress of a call that its caller gives up is charged no longer", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make()
      const { link, session } = yield* withRawServer().pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      const calling = yield* start(session.callTool("x", {}, { onProgress: () => Effect.never }))
      yield* settled
      for (const progress of [1, 2, 3]) {
        link.deliver(JsonRpc.notification("notifications/progress", { progressToken: 1, progress }), 1)
      }
      yield* settled
      assert.isAbove(budget.usedBytes(), 0)
      yield* Fiber.interrupt(calling)
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 12: the frames of a server without sessions are charged to it, and released with their answers", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ limitBytes: weight })
      const server = yield* SessionlessServer.make(tools({ wait: Effect.never, x: Effect.succeed(text("x")) }), {
        info
      })
        .pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      const ask = (message: JsonRpc.Request) => server.handle(message, { revision: "2025-11-25", bytes: 1 })
      const waiting = yield* start(ask(heavy(1, "wait")))
      const refused = yield* ask(heavy(2, "x"))
      assert.isTrue(refused !== undefined && !JsonRpc.isBatch(refused) && codeOf(refused) === ErrorCode.Overloaded)
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(yield* ask(heavy(3, "x")), JsonRpc.success(3, text("x")))
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})

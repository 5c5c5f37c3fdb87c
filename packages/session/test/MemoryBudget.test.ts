/** The memory budget: its accounts, and the sessions and servers that share it. */
import { ErrorCode, JsonRpc } from "@effect-mcp/protocol"
import { MemoryBudget, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Weight from "../src/internal/engine/Weight.ts"
import {
  call,
  codeOf,
  info,
  logMessage,
  names,
  performHandshake,
  type ServerHandlers,
  type ServerOptions,
  settled,
  start,
  text,
  tools,
  upTo,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const largeCall = (id: number, name: string) => call(id, name, { arguments: { x: "x".repeat(1000) } })
const weight = Weight.of(largeCall(1, "wait"))

describe("a memory budget", () => {
  it("charges at most its limit", () => {
    const budget = MemoryBudget.make({ maxBytes: 100 })
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

  it("makes the largest accounts yield until there is room for a smaller one", () => {
    const budget = MemoryBudget.make({ maxBytes: 100 })
    const yielded: Array<string> = []
    const open = (name: string, bytes: number) => {
      const account = budget.open({
        yields: () => {
          yielded.push(name)
          account.release(10)
        }
      })
      account.take(bytes)
      return account
    }
    const [largest, large, small] = [open("largest", 50), open("large", 40), open("small", 10)]
    assert.isTrue(small.take(15))
    assert.deepStrictEqual(yielded, ["largest", "largest"])
    assert.deepStrictEqual([largest.heldBytes, large.heldBytes, small.heldBytes, budget.usedBytes()], [30, 40, 25, 95])
    // Bytes without an account count as a separate holder.
    assert.isTrue(budget.take(10))
    assert.deepStrictEqual(yielded, ["largest", "largest", "large"])
  })

  it("does not make an account yield that is smaller than the newcomer, has no `yields`, or is small", () => {
    const budget = MemoryBudget.make({ maxBytes: 4096 * 100 })
    const yielded: Array<string> = []
    const open = (name: string, bytes: number) => {
      const account = budget.open({ yields: () => yielded.push(name) })
      assert.isTrue(account.take(bytes))
      return account
    }
    const half = budget.maxBytes / 2
    const [largest] = [open("largest", half), open("large", half - 2000), open("small", 100)]
    assert.isTrue(budget.open().take(1900))
    assert.isFalse(largest.take(1))
    assert.isFalse(budget.take(half))
    assert.deepStrictEqual(yielded, [])
    assert.isFalse(budget.take(half - 2000))
    assert.deepStrictEqual(yielded, ["largest"])
    largest.release(half)
    assert.isTrue(budget.take(half))
    // The remaining account is small.
    assert.isFalse(budget.take(half - 2000))
    assert.isFalse(budget.take(50))
    assert.deepStrictEqual(yielded, ["largest", "large"])
  })

  it("law 12: makes at most eight accounts yield for one charge if they release no bytes at once", () => {
    const budget = MemoryBudget.make({ maxBytes: 200 })
    let yields = 0
    for (let index = 0; index < 20; index++) budget.open({ yields: () => yields++ }).take(10)
    assert.isFalse(budget.take(1))
    assert.strictEqual(yields, 8)
  })

  it("allows unread messages half, and beyond it only the first bytes of an account and small accounts", () => {
    const budget = MemoryBudget.make({ maxBytes: 4096 * 100 })
    const half = budget.maxBytes / 2
    const open = () => budget.open({ isUnread: true })
    const request = budget.open()
    assert.isTrue(request.take(half))
    const [one, other, small] = [open(), open(), open()]
    assert.deepStrictEqual([one.take(half - 200), one.take(100)], [true, true])
    request.release(half)
    assert.deepStrictEqual([one.take(100), one.take(1)], [true, false])
    assert.deepStrictEqual([other.take(1000), other.take(1)], [true, false])
    assert.deepStrictEqual([small.take(50), small.take(50), small.take(1)], [true, true, false])
    one.release(half)
    assert.isTrue(other.take(1))
  })

  it("law 12: makes only accounts of unread messages yield for unread messages", () => {
    const budget = MemoryBudget.make({ maxBytes: 1000 })
    let yielded = 0
    const requests = budget.open({ yields: () => assert.fail("a request yields") })
    requests.take(400)
    const largest = budget.open({
      isUnread: true,
      yields: () => {
        yielded++
        largest.release(largest.heldBytes)
      }
    })
    largest.take(500)
    const honest = budget.open({ isUnread: true, yields: () => assert.fail("the smaller one yields") })
    assert.deepStrictEqual([honest.take(10), honest.take(10), yielded], [true, true, 1])
    assert.strictEqual(budget.usedBytes(), 420)
  })

  it.effect("has 256 MiB by default for the whole process", () =>
    Effect.gen(function*() {
      const budget = yield* MemoryBudget.MemoryBudget
      assert.strictEqual(budget, yield* MemoryBudget.MemoryBudget)
      assert.strictEqual(budget.maxBytes, 256 * 1024 * 1024)
    }))

  it.effect("is that of a provided Layer", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* MemoryBudget.MemoryBudget).maxBytes, 1)
    }).pipe(Effect.provide(MemoryBudget.layer({ maxBytes: 1 }))))
})

describe("sessions that share a budget", () => {
  const withClient = (budget: MemoryBudget.MemoryBudget, handlers: ServerHandlers, server: ServerOptions = {}) =>
    Effect.tap(
      Effect.provideService(withRawClient({ handlers, server }), MemoryBudget.MemoryBudget, budget),
      ({ raw }) => performHandshake(raw)
    )

  it.effect("law 12: the largest request yields as Overloaded to a smaller one; a larger one is rejected", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const budget = MemoryBudget.make({ maxBytes: 2 * weight })
      const handlers = tools({
        wait: Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++)),
        x: Effect.succeed(text("x"))
      })
      const scope = yield* Scope.make()
      const one = yield* Scope.provide(withClient(budget, handlers), scope)
      const other = yield* withClient(budget, handlers)
      one.link.deliver(call(1, "wait"), 1)
      one.link.deliver(largeCall(2, "wait"), 1)
      assert.isAbove(budget.usedBytes(), weight)
      const held = budget.usedBytes()
      // With this request, the second session would hold more than the first.
      other.link.deliver(call(1, "x", { arguments: { x: "x".repeat(2000) } }), 1)
      assert.deepStrictEqual<unknown>(yield* other.raw.response, {
        jsonrpc: "2.0",
        id: 1,
        error: { code: ErrorCode.Overloaded, message: "Overloaded: the memory budget of the process is exhausted" }
      })
      assert.deepStrictEqual([budget.usedBytes(), interrupted], [held, 0])
      other.link.deliver(largeCall(2, "x"), 1)
      assert.deepStrictEqual(yield* other.raw.response, JsonRpc.success(2, text("x")))
      const answer = yield* one.raw.response
      assert.deepStrictEqual([codeOf(answer), names([answer]), interrupted], [ErrorCode.Overloaded, [2], 1])
      assert.deepStrictEqual(yield* one.session.inFlight, { sent: 0, served: 1 })
      const closing = yield* start(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 12: a session is served while the requests of others take all memory", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 20 * weight })
      const handlers = tools({ wait: Effect.never, x: Effect.succeed(text("x")) })
      const honest = yield* withClient(budget, handlers)
      const others = yield* Effect.forEach(upTo(4), () => withClient(budget, handlers))
      let next = 0
      for (const id of upTo(20)) {
        for (const { link } of others) {
          for (const _ of upTo(6)) link.deliver(largeCall(++next, "wait"), 1)
        }
        assert.isAbove(budget.usedBytes() + weight, budget.maxBytes)
        honest.link.deliver(largeCall(id, "x"), 1)
        assert.deepStrictEqual(yield* honest.raw.response, JsonRpc.success(id, text("x")))
      }
    }))

  it.effect("law 12: notifications that wait for a slow handler yield to a request of another session", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 10 * weight })
      const largest = yield* withClient(budget, { "notifications/roots/list_changed": () => Effect.never })
      const honest = yield* withClient(budget, tools({ x: Effect.succeed(text("x")) }))
      const changed = JsonRpc.notification("notifications/roots/list_changed", { _meta: { x: "x".repeat(1000) } })
      for (const _ of upTo(20)) largest.link.deliver(changed, 1)
      assert.isAbove(budget.usedBytes() + weight, budget.maxBytes)
      honest.link.deliver(largeCall(1, "x"), 1)
      assert.deepStrictEqual(yield* honest.raw.response, JsonRpc.success(1, text("x")))
      // The notification that the handler is processing is still charged.
      assert.strictEqual(budget.usedBytes(), Weight.of(changed))
      const ignored = largest.record.of("NotificationIgnored").length
      largest.link.deliver(changed, 1)
      assert.strictEqual(largest.record.of("NotificationIgnored").length, ignored + 1)
    }))

  it.effect("law 12: a full budget drops the oldest notification, or the newest if there is no other", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      const padded = (id: number) => logMessage({ id, padding: "x".repeat(1000) })
      const budget = MemoryBudget.make({ maxBytes: 2 * Weight.of(padded(1)) })
      const { link, record } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) => Effect.delay(Effect.sync(() => handled.push(data)), 10)
          }
        }
      }).pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      for (const id of [1, 2, 3]) link.deliver(padded(id), 1)
      assert.strictEqual(record.of("NotificationIgnored").length, 1)
      assert.strictEqual(budget.usedBytes(), budget.maxBytes)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(handled, [1, 3].map((id) => padded(id).params?.["data"]))
      assert.strictEqual(budget.usedBytes(), 0)
      budget.take(budget.maxBytes)
      link.deliver(padded(4), 1)
      assert.strictEqual(record.of("NotificationIgnored").length, 2)
    }))

  /** Opens a session whose client has stopped reading. */
  const withStalled = (budget: MemoryBudget.MemoryBudget) =>
    Effect.tap(
      withClient(budget, tools({ big: Effect.succeed(text("x".repeat(20_000))), x: Effect.succeed(text("x")) }), {
        capabilities: { logging: {} }
      }),
      ({ link }) => Effect.sync(() => link.stall())
    )

  it.effect("law 12: a session whose replies wait briefly survives while others leave half of the budget unread", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 400_000 })
      const honest = yield* withStalled(budget)
      let closed = 0
      const openStalledSession = Effect.gen(function*() {
        const { link, session } = yield* withStalled(budget)
        yield* start(Effect.tap(session.closed, (reason) =>
          Effect.sync(() => {
            assert.deepInclude(reason, { _tag: "RepliesOverflow", limit: "MemoryBudget" })
            closed++
          })))
        for (const id of [1, 2]) if (!MemoryBudget.isScarce(budget)) link.deliver(call(id, "big"))
      })
      for (const id of upTo(10)) {
        // New sessions fill the half again.
        while (!MemoryBudget.isScarce(budget)) yield* openStalledSession
        for (const part of ["a", "b", "c"]) honest.link.deliver(call(`${part}${id}`, "x"))
        yield* settled
        assert.isFalse(MemoryBudget.isScarce(budget))
        assert.strictEqual((yield* honest.session.state)._tag, "Operating")
        honest.link.resume()
        yield* settled
        assert.deepStrictEqual(names(yield* honest.raw.pending), ["a", "b", "c"].map((part) => `${part}${id}`))
        honest.link.stall()
      }
      assert.isAtLeast(closed, 10)
    }))

  it.effect("law 12: the session with most unread bytes closes if it adds more; a single large reply can wait", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 100_000 })
      const [one, other, third] = [yield* withStalled(budget), yield* withStalled(budget), yield* withStalled(budget)]
      one.link.deliver(call(1, "big"))
      other.link.deliver(call(1, "big"))
      third.link.deliver(call(1, "big"))
      assert.isAbove(budget.usedBytes(), 60_000)
      yield* settled
      for (const { session } of [one, other, third]) assert.strictEqual((yield* session.state)._tag, "Operating")
      one.link.deliver(JsonRpc.request(2, "ping", undefined))
      assert.deepInclude(yield* one.session.closed, { _tag: "RepliesOverflow", limit: "MemoryBudget" })
      for (const { session } of [other, third]) assert.strictEqual((yield* session.state)._tag, "Operating")
      for (const { link } of [other, third]) link.resume()
      yield* settled
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 12: senders of notifications wait while half of the budget is charged and a message waits", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 100_000 })
      const { link, session } = yield* withStalled(budget)
      budget.take(50_000)
      yield* session.log({ level: "info", data: "in the transport" })
      yield* session.log({ level: "info", data: "has room" })
      const waiting = yield* start(session.log({ level: "info", data: "has none" }))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      link.resume()
      yield* settled
      assert.isDefined(waiting.pollUnsafe())
      assert.strictEqual(budget.usedBytes(), 50_000)
    }))

  it.effect("law 12: the collected replies of a batch yield to the waiting replies of a session", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 100_000 })
      const late = yield* Deferred.make<void>()
      const server = yield* StatelessServer.make(
        tools({ big: Effect.succeed(text("x".repeat(20_000))), late: Effect.as(Deferred.await(late), text("late")) }),
        { info }
      ).pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      const batch = yield* start(
        server.handle([call(1, "big"), call(2, "big"), call(3, "big"), call(4, "late")], { revision: "2025-03-26" })
      )
      assert.isAbove(budget.usedBytes(), 60_000)
      const honest = yield* withStalled(budget)
      for (const id of upTo(3)) honest.link.deliver(call(id, "x"))
      assert.strictEqual((yield* honest.session.state)._tag, "Operating")
      assert.isBelow(budget.usedBytes(), 5000)
      yield* Deferred.succeed(late, undefined)
      const replies = yield* Fiber.join(batch)
      assert.deepStrictEqual(
        replies !== undefined && JsonRpc.messages(replies).map(codeOf),
        [ErrorCode.Overloaded, ErrorCode.Overloaded, ErrorCode.Overloaded, undefined]
      )
      honest.link.resume()
      yield* settled
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 12: replies of a batch without room become errors, and the others are released with the batch", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: 25_000 })
      const server = yield* StatelessServer.make(tools({ big: Effect.succeed(text("x".repeat(10_000))) }), { info })
        .pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      const replies = yield* server.handle([call(1, "big"), call(2, "big"), call(3, "big")], { revision: "2025-03-26" })
      assert.deepStrictEqual(
        replies !== undefined && JsonRpc.messages(replies).map(codeOf),
        [undefined, undefined, ErrorCode.Overloaded]
      )
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 2: a budget has no charged bytes after its sessions have closed", () =>
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
            uninterruptible: Effect.uninterruptible(Effect.as(Deferred.await(late), text("late")))
          }),
          "notifications/roots/list_changed": () => Effect.never
        },
        server: { capabilities: { logging: {} } }
      }))
      yield* performHandshake(served.raw)
      yield* within(Effect.forkScoped(Stream.runForEach(served.session.messages, () => Effect.never)))
      yield* within(Effect.forkScoped(Stream.runForEach(served.session.events, () => Effect.never)))
      yield* settled
      served.link.stall()
      served.link.deliver(largeCall(1, "wait"), 1)
      served.link.deliver(largeCall(2, "uninterruptible"), 1)
      // Its reply waits for a client that does not read.
      served.link.deliver(largeCall(3, "x"), 1)
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
      // An uninterruptible handler keeps its request charged while it runs.
      assert.strictEqual(budget.usedBytes(), weight + 2 * "uninterruptible".length - 2 * "wait".length)
      yield* Deferred.succeed(late, undefined)
      yield* settled
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("law 2: the progress of a call is released when its caller is interrupted", () =>
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

  it.effect("law 12: the frames of a stateless server are charged, and released with their responses", () =>
    Effect.gen(function*() {
      const budget = MemoryBudget.make({ maxBytes: weight })
      const server = yield* StatelessServer.make(tools({ wait: Effect.never, x: Effect.succeed(text("x")) }), {
        info
      })
        .pipe(Effect.provideService(MemoryBudget.MemoryBudget, budget))
      const handle = (message: JsonRpc.Request) => server.handle(message, { revision: "2025-11-25", bytes: 1 })
      const waiting = yield* start(handle(largeCall(1, "wait")))
      const rejected = yield* handle(largeCall(2, "x"))
      assert.isTrue(rejected !== undefined && !JsonRpc.isBatch(rejected) && codeOf(rejected) === ErrorCode.Overloaded)
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(yield* handle(largeCall(3, "x")), JsonRpc.success(3, text("x")))
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})

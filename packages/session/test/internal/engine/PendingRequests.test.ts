/** Interrupts the owner of a pending request at every operation: it leaves nothing in the table. */
import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as PendingRequests from "../../../src/internal/engine/PendingRequests.ts"
import { info, initialized, names, settled, start, withRawClient, withRawServer } from "../../support/sessions.ts"

const options: PendingRequests.CallOptions = {
  method: "ping",
  progress: undefined,
  openedAt: 0,
  deadline: 1000,
  allowedMillis: 1000,
  extendsTo: undefined,
  onResponse: undefined
}

type RecordOwner = (exchange: PendingRequests.Exchange) => void

/** Opens an exchange and waits for its response. `ownership` decides in which operation the owner is recorded. */
const call = (
  table: PendingRequests.PendingRequests,
  ownership: (record: RecordOwner) => { readonly inside: RecordOwner; readonly after: RecordOwner }
) =>
  Effect.suspend(() => {
    let opened: PendingRequests.Exchange | undefined
    const { after, inside } = ownership((exchange) => {
      opened = exchange
    })
    return Effect.flatMap(table.open(options, inside), (exchange) => {
      if (!PendingRequests.isExchange(exchange)) return Effect.die(exchange)
      return Effect.andThen(Effect.sync(() => after(exchange)), Deferred.await(exchange.response))
    }).pipe(Effect.onExit(() => opened === undefined ? Effect.void : table.remove(opened)))
  })

const noRecord: RecordOwner = () => {}

/** Interrupts a program after this many operations. It yields after each: of three operations, two resume the fiber. */
const interruptAfter = <A, E>(steps: number, program: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const fiber = yield* start(Effect.provideService(program, Scheduler.MaxOpsBeforeYield, 3))
    for (let step = 0; step < steps; step++) yield* Effect.yieldNow
    yield* Fiber.interrupt(fiber)
  })

/** The number of operations after which a call waits for its response. */
const operations = 60

const interruptedOwners = (
  ownership: (record: RecordOwner) => { readonly inside: RecordOwner; readonly after: RecordOwner }
) =>
  Effect.gen(function*() {
    let opened = 0
    let left = 0
    for (let steps = 0; steps < operations; steps++) {
      const table = new PendingRequests.PendingRequests(0)
      yield* interruptAfter(steps, call(table, ownership))
      opened += Number(table.nextId())
      left += table.size
    }
    return { opened, left }
  })

describe("an owner that is interrupted at any operation", () => {
  it.effect("laws 1 and 2: leaves no exchange, because it is recorded inside Ref.modify", () =>
    Effect.gen(function*() {
      const { left, opened } = yield* interruptedOwners((record) => ({ inside: record, after: noRecord }))
      assert.isAbove(opened, 0)
      assert.strictEqual(left, 0)
    }))

  it.effect("leaves an exchange if it is recorded in the next operation", () =>
    Effect.gen(function*() {
      const { left } = yield* interruptedOwners((record) => ({ inside: noRecord, after: record }))
      assert.isAbove(left, 0)
    }))
})

const withRoots = JsonRpc.request(0, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: { roots: {} },
  clientInfo: info
})

/** A server whose client has not sent `notifications/initialized`, so that requests are held. */
const awaitingInitialized = Effect.gen(function*() {
  const peers = yield* withRawClient()
  yield* peers.raw.send(withRoots)
  yield* peers.raw.response
  return peers
})

describe("a call that is interrupted at any operation", () => {
  it.effect("laws 1 and 2: is not pending afterwards", () =>
    Effect.gen(function*() {
      for (let steps = 0; steps < operations; steps++) {
        const left = yield* Effect.scoped(Effect.gen(function*() {
          const { session } = yield* withRawServer()
          yield* interruptAfter(steps, session.ping())
          return yield* session.inFlight
        }))
        assert.deepStrictEqual(left, { sent: 0, served: 0 }, `after ${steps} operations`)
      }
    }))

  it.effect("laws 1 and 2: is neither pending nor sent if it was held", () =>
    Effect.gen(function*() {
      for (let steps = 0; steps < operations; steps++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const { raw, session } = yield* awaitingInitialized
          yield* interruptAfter(steps, session.listRoots())
          assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 }, `after ${steps} operations`)
          yield* raw.send(initialized)
          yield* settled
          assert.deepStrictEqual(yield* raw.pending, [], `after ${steps} operations`)
        }))
      }
    }))

  it.effect("[INIT-10] is sent once if the peer becomes ready at any operation", () =>
    Effect.gen(function*() {
      for (let steps = 0; steps < operations; steps++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const { raw, session } = yield* awaitingInitialized
          const calling = yield* start(Effect.provideService(session.listRoots(), Scheduler.MaxOpsBeforeYield, 3))
          for (let step = 0; step < steps; step++) yield* Effect.yieldNow
          yield* raw.send(initialized)
          yield* Effect.repeat(settled, { times: 4 })
          const sent = yield* raw.pending
          assert.deepStrictEqual(names(sent), ["roots/list"], `after ${steps} operations`)
          yield* Fiber.interrupt(calling)
        }))
      }
    }))
})

describe("a closed table", () => {
  it.effect("fails every exchange with its reason, and opens none", () =>
    Effect.gen(function*() {
      const table = new PendingRequests.PendingRequests(7)
      const waiting = yield* start(call(table, (record) => ({ inside: record, after: noRecord })))
      assert.strictEqual(table.find(7)?.method, "ping")
      table.close({ _tag: "Requested" })
      const error = yield* Effect.flip(Fiber.join(waiting))
      assert.deepStrictEqual(error.reason, { _tag: "Closed", reason: { _tag: "Requested" }, isSent: false })
      let owned = 0
      assert.deepStrictEqual(yield* table.open(options, () => owned++), { _tag: "Requested" })
      assert.deepStrictEqual([owned, table.size], [0, 0])
    }))

  it.effect("classifies later responses", () =>
    Effect.gen(function*() {
      const table = new PendingRequests.PendingRequests(1)
      const first = yield* table.open(options, noRecord)
      assert(PendingRequests.isExchange(first))
      assert.isTrue(PendingRequests.complete(first, JsonRpc.success(1, {})))
      assert.isFalse(PendingRequests.complete(first, JsonRpc.success(1, {})))
      yield* table.remove(first)
      const second = yield* table.open(options, noRecord)
      assert(PendingRequests.isExchange(second))
      assert.strictEqual(table.expire(1000), Number.POSITIVE_INFINITY)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Deferred.await(second.response))))
      yield* table.remove(second)
      assert.deepStrictEqual(
        [1, 2, 3, "1", 0].map((id) => table.classify(id)),
        ["Duplicate", "Late", "Unknown", "Unknown", "Unknown"]
      )
    }))
})

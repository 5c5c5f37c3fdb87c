/** Durable calls whose session gets its next owner in the middle of an operation of the first one. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { clientAt } from "../../transport/test/support/fleet.ts"
import { until } from "../../transport/test/support/process.ts"
import {
  accept,
  call,
  makeFleet,
  makeGate,
  methods,
  open,
  questionIn,
  replyLost,
  sendCancel
} from "./support/durableFleet.ts"

/** Starts two processes, and opens a session at the first one. */
const begin = Effect.gen(function*() {
  const fleet = yield* makeFleet()
  const first = yield* fleet.start()
  const second = yield* fleet.start()
  const client = yield* open(first)
  return { fleet, first, second, client, next: clientAt(second, client) }
})

describe.concurrent("a durable call", () => {
  it.live("is handed on at once by a process that stops while it stores the call", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next, second } = yield* begin
      const gate = makeGate()
      first.faults.tasks.next("create", gate.fault)
      const booking = yield* call(client)
      yield* gate.reached
      yield* until(() => booking.events.length > 0)
      const stopping = yield* Effect.forkChild(Effect.timed(first.stop))
      yield* until(() => first.events.some((event) => event._tag === "StateChanged" && event.to === "Closing"))
      yield* gate.open
      const [taken] = yield* Fiber.join(stopping)
      // The graceful timeout is 30 seconds.
      assert.isBelow(Duration.toSeconds(taken), 15)
      assert.strictEqual(fleet.counts.started, 0)
      const rest = yield* next.get(booking.lastId)
      yield* rest.awaitMessages(3)
      yield* accept(next, questionIn(rest))
      yield* rest.awaitEnd
      assert.strictEqual(methods(rest).at(-1), "1 accept")
      assert.deepStrictEqual(second.logs, [])
    }))

  it.live("goes on if the store fails after the change that takes it over", () =>
    Effect.gen(function*() {
      const { client, first, next, second } = yield* begin
      const booking = yield* call(client)
      yield* booking.awaitMessages(3)
      booking.disconnect()
      yield* first.cutOff
      second.faults.tasks.next("replace", replyLost)
      assert.strictEqual((yield* accept(next, questionIn(booking))).status, 202)
      const rest = yield* next.get(booking.lastId)
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), ["1 accept"])
    }))

  it.live("goes on if the process that restores its session drains before the session begins", () =>
    Effect.gen(function*() {
      const { client, first, fleet } = yield* begin
      const subscribe = { jsonrpc: "2.0", id: "s", method: "resources/subscribe", params: { uri: "a://b" } }
      yield* client.exchange({ body: subscribe })
      const booking = yield* call(client)
      yield* booking.awaitMessages(3)
      booking.disconnect()
      yield* first.cutOff
      const gate = makeGate()
      const second = yield* fleet.start({ onSubscribe: Effect.orDie(gate.fault(Effect.void, undefined)) })
      yield* clientAt(second, client).send({ method: "GET", headers: { "last-event-id": booking.lastId } })
      yield* gate.reached
      yield* fleet.awaitStored(([task]) => task?.call?.epoch === 2)
      yield* second.host.drain
      yield* gate.open
      yield* second.stop
      const last = clientAt(yield* fleet.start(), client)
      const rest = yield* last.get(booking.lastId)
      assert.strictEqual((yield* accept(last, questionIn(booking))).status, 202)
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), ["1 accept"])
    }))

  it.live("that is stored after the next owner has taken the session is deleted with the session", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next } = yield* begin
      const gate = makeGate()
      first.faults.tasks.next("create", gate.fault)
      yield* call(client)
      yield* gate.reached
      yield* first.cutOff
      yield* next.ping()
      yield* gate.open
      yield* fleet.awaitStored(({ length }) => length === 1)
      assert.strictEqual((yield* next.delete).status, 204)
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("is not deleted by an earlier owner that has received its cancellation", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next } = yield* begin
      const booking = yield* call(client)
      yield* booking.awaitMessages(3)
      const [ending, loading] = [makeGate(), makeGate()]
      first.faults.events.next("end", ending.fault)
      first.faults.tasks.next("load", loading.fault)
      const cancellation = yield* sendCancel(client)
      yield* loading.reached
      yield* first.cutOff
      const rest = yield* next.get(booking.lastId)
      yield* Effect.sleep("100 millis")
      yield* Effect.andThen(ending.open, loading.open)
      yield* cancellation.awaitEnd
      assert.strictEqual(cancellation.status, 503)
      assert.strictEqual(yield* fleet.storedCount, 1)
      yield* accept(next, questionIn(booking))
      yield* rest.awaitEnd
      assert.strictEqual(methods(rest).at(-1), "1 accept")
    }))

  it.live("does not run a step in a process whose lease is over", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next } = yield* begin
      const booking = yield* call(client, "late")
      yield* booking.awaitMessages(1)
      yield* first.cutOff
      const rest = yield* next.get(booking.lastId)
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), ["1"])
      yield* until(() => !first.owners.isAlive())
      // The first run stands before its step until now.
      yield* fleet.goOn
      yield* Effect.sleep("200 millis")
      assert.deepInclude(fleet.counts, { charged: 1, started: 2 })
    }))

  it.live("is handed on if its task has its next owner before its process learns of that", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next } = yield* begin
      const running = yield* call(client, "outside")
      yield* running.awaitMessages(1)
      yield* first.cutOff
      const rest = yield* next.get(running.lastId)
      yield* rest.awaitMessages(1)
      // The first run stands before its question until now.
      yield* fleet.goOn
      yield* Effect.sleep("200 millis")
      yield* first.setRenewing(true)
      yield* until(() => fleet.handedOn.length > 0)
      assert.deepStrictEqual(fleet.handedOn, [true])
      yield* accept(next, questionIn(rest))
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), ["elicitation/create", "accept"])
    }))

  it.live("does not go on with the answer that its next owner has stored", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next, second } = yield* begin
      yield* fleet.goOn
      const running = yield* call(client, "outside")
      yield* running.awaitMessages(2)
      yield* first.cutOff
      const gate = makeGate()
      second.faults.tasks.next("remove", gate.fault)
      const rest = yield* next.get(running.lastId)
      yield* accept(next, questionIn(running))
      yield* rest.awaitEnd
      yield* gate.reached
      yield* Effect.sleep("200 millis")
      assert.strictEqual(fleet.counts.answered, 1)
      yield* first.setRenewing(true)
      yield* until(() => fleet.handedOn.length > 0)
      assert.deepStrictEqual(fleet.handedOn, [true])
    }))
})

/** Calls that go on at the next owner of their session, while stores fail or are slow, and processes stand still. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { clientAt, type Process } from "../../transport/test/support/fleet.ts"
import { connect, type ReceivedResponse } from "../../transport/test/support/httpClient.ts"
import { until } from "../../transport/test/support/process.ts"
import { fails, makeDisturbedFleet } from "./support/disturbedFleet.ts"

const open = (process: Process) => connect(process, { capabilities: { elicitation: {} } })

const accept = { action: "accept", content: {} }

/** Returns the text of the result of a call. */
const resultOf = ({ messages }: ReceivedResponse): unknown => {
  const result = messages.find((message) => message.result !== undefined)?.result
  return Object(Object(result)["content"])[0]?.text
}

/** Two processes, and a client of the first one. `ask` calls the tool, and returns the response up to its question. */
const begin = Effect.fnUntraced(function*(options?: { readonly pausesFirst?: number }) {
  const fleet = yield* makeDisturbedFleet(options)
  const first = yield* fleet.start
  const second = yield* fleet.start
  const client = yield* open(first)
  const ask = Effect.tap(client.call("c", "book"), (booking) => booking.awaitMessages(3))
  return { ...fleet, first, second, client, ask, again: clientAt(second, client) }
})

describe("a durable call", () => {
  it.live("has its answer acknowledged with 202, also if the store is slow and responses are streams", () =>
    Effect.gen(function*() {
      const { ask, client, first } = yield* begin()
      const booking = yield* ask
      first.before("replace", Effect.sleep(300))
      const answered = yield* client.respond(booking.messages[2]?.id, accept)
      assert.strictEqual(answered.status, 202)
      yield* booking.awaitEnd
      assert.strictEqual(resultOf(booking), "1 accept")
    }))

  it.live("is handed on at once by a process that stops while it stores the call", () =>
    Effect.gen(function*() {
      const { again, client, counts, first, second } = yield* begin()
      first.before("create", Effect.sleep(400))
      const booking = yield* client.call("c", "book")
      yield* until(() => booking.events.length > 0)
      const [taken] = yield* Effect.timed(first.stop)
      assert.isBelow(Duration.toMillis(taken), 3000)
      assert.strictEqual(counts.started, 0)
      const rest = yield* again.get(booking.lastId)
      yield* rest.awaitMessages(3)
      yield* again.respond(rest.messages[2]?.id, accept)
      yield* rest.awaitEnd
      assert.strictEqual(resultOf(rest), "1 accept")
      assert.deepStrictEqual(second.logs, [])
    }))

  it.live("runs on if its process takes the streams of its session over once more", () =>
    Effect.gen(function*() {
      const { again, first, second } = yield* begin()
      yield* first.cutOff
      second.before("takeOver", fails)
      const booking = yield* again.call("c", "book")
      yield* booking.awaitMessages(3)
      booking.disconnect()
      const rest = yield* again.get(booking.lastId)
      yield* again.respond(booking.messages[2]?.id, accept)
      yield* rest.awaitEnd
      assert.strictEqual(resultOf(rest), "1 accept")
    }))

  it.live("has an answer rejected with 503 as long as it could not be taken over, and accepted afterwards", () =>
    Effect.gen(function*() {
      const { again, ask, counts, first, second } = yield* begin()
      const booking = yield* ask
      booking.disconnect()
      yield* first.cutOff
      second.before("load", fails)
      second.before("load", fails)
      const rejected = yield* again.respond(booking.messages[2]?.id, accept)
      assert.strictEqual(rejected.status, 503)
      assert.strictEqual((yield* again.respond(booking.messages[2]?.id, accept)).status, 202)
      const rest = yield* again.get(booking.lastId)
      yield* rest.awaitEnd
      assert.strictEqual(resultOf(rest), "1 accept")
      assert.deepStrictEqual(counts, { charged: 1, started: 2 })
    }))

  it.live("goes on if the store fails after the change that takes it over", () =>
    Effect.gen(function*() {
      const { again, ask, first, second } = yield* begin()
      const booking = yield* ask
      booking.disconnect()
      yield* first.cutOff
      second.after("replace", fails)
      assert.strictEqual((yield* again.respond(booking.messages[2]?.id, accept)).status, 202)
      const rest = yield* again.get(booking.lastId)
      yield* rest.awaitEnd
      assert.strictEqual(resultOf(rest), "1 accept")
    }))

  it.live("that is stored after the next owner has taken the session is deleted with the session", () =>
    Effect.gen(function*() {
      const { again, client, first, stored } = yield* begin()
      const gate = yield* Deferred.make<void>()
      first.before("create", Deferred.await(gate))
      yield* client.call("c", "book")
      yield* Effect.sleep(50)
      yield* first.cutOff
      yield* again.ping()
      yield* Deferred.succeed(gate, undefined)
      yield* until(() => Effect.runSync(stored) === 1)
      assert.strictEqual((yield* again.delete).status, 204)
      yield* until(() => Effect.runSync(stored) === 0)
    }))

  it.live("is not deleted by an earlier owner that has received its cancellation", () =>
    Effect.gen(function*() {
      const { again, ask, client, first, stored } = yield* begin()
      const booking = yield* ask
      const gate = yield* Deferred.make<void>()
      const isCancelled = yield* Deferred.make<void>()
      first.before("end", Deferred.await(gate))
      first.before("load", Effect.andThen(Deferred.succeed(isCancelled, undefined), Deferred.await(gate)))
      yield* client.notify("notifications/cancelled", { requestId: "c" })
      yield* Deferred.await(isCancelled)
      yield* first.cutOff
      const rest = yield* again.get(booking.lastId)
      yield* Effect.sleep(100)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.sleep(100)
      assert.strictEqual(yield* stored, 1)
      yield* again.respond(booking.messages[2]?.id, accept)
      yield* rest.awaitEnd
      assert.strictEqual(resultOf(rest), "1 accept")
    }))

  it.live("does not run a step in a process whose lease is over", () =>
    Effect.gen(function*() {
      const { again, client, counts, first } = yield* begin({ pausesFirst: 2000 })
      const booking = yield* client.call("c", "book")
      yield* booking.awaitMessages(1)
      yield* first.cutOff
      const rest = yield* again.get(booking.lastId)
      yield* rest.awaitMessages(2)
      yield* Effect.sleep(2500)
      assert.deepStrictEqual(counts, { charged: 1, started: 2 })
      yield* again.respond(rest.messages[1]?.id, accept)
      yield* rest.awaitEnd
      assert.strictEqual(resultOf(rest), "1 accept")
    }))
})

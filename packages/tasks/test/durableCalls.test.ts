/** Calls of resumable tools that go on when their session gets another owner. */
import { ErrorCode } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { clientAt } from "../../transport/test/support/fleet.ts"
import * as DurableCallId from "../src/internal/runs/DurableCallId.ts"
import { accept, call, failed, makeFleet, methods, open, passed } from "./support/durableFleet.ts"

/** Starts two processes, and a call at the first one, which has asked its question. */
const begin = Effect.fnUntraced(function*(millis: number) {
  const fleet = yield* makeFleet({ millis })
  const first = yield* fleet.start()
  const second = yield* fleet.start()
  const client = yield* open(first)
  const booking = yield* call(client)
  yield* booking.awaitMessages(3)
  return { fleet, first, second, client, booking }
})

describe.concurrent.each([
  ["stores in memory", 0],
  ["stores of which each operation takes 5 ms", 5]
])("a call of a resumable tool, with %s", (_, millis) => {
  it.live("goes on at the next owner: its question is asked once, and its stream has each event once", () =>
    Effect.gen(function*() {
      const { booking, client, first, fleet, second } = yield* begin(millis)
      booking.disconnect()
      yield* first.cutOff
      const again = clientAt(second, client)
      const rest = yield* again.get(booking.lastId)
      assert.strictEqual(rest.status, 200)
      yield* accept(again, booking.messages[2]?.id)
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), ["1 accept"])
      const whole = yield* again.get(booking.events[0]?.id)
      yield* whole.awaitEnd
      assert.deepStrictEqual(methods(whole), [1, 2, "elicitation/create", "1 accept"])
      assert.deepInclude(fleet.counts, { charged: 1, started: 2 })
      assert.strictEqual(yield* fleet.storedCount, 0)
      assert.deepStrictEqual(second.logs, [])
    }))

  it.live("takes the answer that makes its process the owner, before its client resumes the stream", () =>
    Effect.gen(function*() {
      const { booking, client, first, fleet, second } = yield* begin(millis)
      booking.disconnect()
      yield* first.cutOff
      const again = clientAt(second, client)
      const answered = yield* again.respond(booking.messages[2]?.id, { action: "decline" })
      assert.strictEqual(answered.status, 202)
      const rest = yield* again.get(booking.lastId)
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), ["1 decline"])
      assert.deepInclude(fleet.counts, { charged: 1, started: 2 })
    }))

  it.live("is handed on by a process that stops, at once and without a cancellation of its question", () =>
    Effect.gen(function*() {
      const { booking, client, first, fleet, second } = yield* begin(millis)
      // Six times, because a stop is no failed start.
      let live = { from: first, to: second }
      let stream = booking
      for (let round = 0; round < 6; round++) {
        const [taken] = yield* Effect.timed(live.from.stop)
        // The graceful timeout is 30 seconds.
        assert.isBelow(Duration.toSeconds(taken), 15)
        yield* stream.awaitEnd
        stream = yield* clientAt(live.to, client).get(booking.lastId)
        yield* stream.awaitHeaders
        live = { from: live.to, to: yield* fleet.start() }
      }
      yield* accept(clientAt(live.from, client), booking.messages[2]?.id)
      yield* stream.awaitEnd
      assert.deepStrictEqual(methods(stream), ["1 accept"])
      const whole = yield* clientAt(live.from, client).get(booking.events[0]?.id)
      yield* whole.awaitEnd
      assert.deepStrictEqual(methods(whole), [1, 2, "elicitation/create", "1 accept"])
      assert.deepInclude(fleet.counts, { charged: 1, started: 7 })
    }))

  it.live("that has ended its process five times ends as one whose outcome is unknown", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet({ millis })
      let process = yield* fleet.start()
      const client = yield* open(process)
      const running = yield* call(client, "crash")
      yield* running.awaitMessages(1)
      for (let start = 1; start <= 5; start++) {
        yield* process.cutOff
        process = yield* fleet.start()
        const rest = yield* clientAt(process, client).get(running.lastId)
        if (start < 5) {
          assert.deepStrictEqual(methods(rest), [])
          continue
        }
        yield* rest.awaitEnd
        assert.deepStrictEqual(methods(rest), [ErrorCode.OutcomeUnknown])
      }
      // The first start, and four take-overs.
      assert.strictEqual(fleet.counts.crashed, 5)
      assert.strictEqual(yield* fleet.storedCount, 0)
    }))

  it.live("is cancelled at the next owner by its client, and is deleted", () =>
    Effect.gen(function*() {
      const { booking, client, first, fleet, second } = yield* begin(millis)
      assert.strictEqual(yield* fleet.storedCount, 1)
      yield* first.cutOff
      const again = clientAt(second, client)
      const rest = yield* again.get(booking.lastId)
      yield* again.notify("notifications/cancelled", { requestId: "c" })
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), ["notifications/cancelled"])
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("leaves the call of any other tool with an unknown outcome", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet({ millis })
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const client = yield* open(first)
      const running = yield* call(client, "plain")
      yield* running.awaitMessages(1)
      assert.strictEqual(yield* fleet.storedCount, 0)
      yield* first.cutOff
      const rest = yield* clientAt(second, client).get(running.lastId)
      yield* rest.awaitEnd
      assert.deepStrictEqual(methods(rest), [ErrorCode.OutcomeUnknown])
    }))

  it.live("asks its question although the store fails at first", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet({ millis })
      const process = yield* fleet.start()
      // The first change is the step of `once`.
      process.faults.tasks.next("replace", passed, failed)
      const client = yield* open(process)
      const booking = yield* call(client)
      yield* booking.awaitMessages(3)
      yield* accept(client, booking.messages[2]?.id)
      yield* booking.awaitEnd
      assert.deepStrictEqual(methods(booking), [1, 2, "elicitation/create", "1 accept"])
      assert.deepInclude(fleet.counts, { charged: 1, started: 1 })
    }))

  it.live("is no task for its client", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet({ millis })
      const process = yield* fleet.start()
      const client = yield* open(process)
      const booking = yield* call(client)
      yield* booking.awaitMessages(3)
      const listed = yield* client.exchange({ body: { jsonrpc: "2.0", id: "l", method: "tasks/list" } })
      assert.deepStrictEqual(listed.messages[0]?.result?.["tasks"], [])
      const id = yield* DurableCallId.of(client.id, "c")
      const got = yield* client.exchange({
        body: { jsonrpc: "2.0", id: "g", method: "tasks/get", params: { taskId: id } }
      })
      assert.strictEqual(got.messages[0]?.error?.code, ErrorCode.InvalidParams)
    }))

  it.live("is deleted with a session that its client ends", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet({ millis })
      const process = yield* fleet.start()
      const client = yield* open(process)
      const booking = yield* call(client)
      yield* booking.awaitMessages(3)
      assert.strictEqual((yield* client.delete).status, 204)
      // The session does not wait for it.
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))
})

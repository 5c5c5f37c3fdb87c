/** Durable calls whose stores fail, hang or are slow, and whose processes are paused. */
import { ErrorCode } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { clientAt } from "../../transport/test/support/fleet.ts"
import type { Client, ReceivedResponse } from "../../transport/test/support/httpClient.ts"
import { until } from "../../transport/test/support/process.ts"
import {
  accept,
  book,
  call,
  cancel,
  cancellation,
  delayed,
  failed,
  hung,
  makeFleet,
  makeGate,
  methods,
  open,
  passed,
  questionIn,
  replyLost,
  sampledAnswer,
  sendAccept,
  sendCancel,
  taskOperations
} from "./support/durableFleet.ts"

/** Starts two processes, and a call that waits for its answer at the first one. Its client is not connected. */
const begin = Effect.fnUntraced(function*(options?: Parameters<typeof book>[2]) {
  const fleet = yield* makeFleet()
  const first = yield* fleet.start()
  const second = yield* fleet.start()
  const booking = yield* book(fleet, first, options)
  booking.response.disconnect()
  return { fleet, first, second, ...booking, next: clientAt(second, booking.client) }
})

/** Sends a message again while it has 503. Returns the last response. */
const repeated = (send: Effect.Effect<ReceivedResponse>): Effect.Effect<ReceivedResponse> =>
  Effect.flatMap(
    send,
    (response) => response.status === 503 ? Effect.delay(repeated(send), "100 millis") : Effect.succeed(response)
  )

/** Resumes the stream of a call, and returns what it has until its end. */
const rest = Effect.fnUntraced(function*(client: Client, after: ReceivedResponse) {
  const resumed = yield* client.get(after.lastId)
  yield* resumed.awaitEnd
  return methods(resumed)
})

const whole = [1, 2, "elicitation/create", "1 accept"]

describe.concurrent("the answer to a durable call", () => {
  for (
    const http of [
      { responseMode: "stream" },
      { responseMode: "adaptive", adaptiveTimeout: "50 millis" }
    ] as const
  ) {
    it.live(`has 202 only after the store has it, in mode ${http.responseMode}`, () =>
      Effect.gen(function*() {
        const fleet = yield* makeFleet()
        const process = yield* fleet.start({ http })
        const { client, question, response } = yield* book(fleet, process)
        const gate = makeGate()
        process.faults.tasks.next("replace", gate.fault)
        const answer = yield* sendAccept(client, question)
        yield* gate.reached
        yield* Effect.sleep("200 millis")
        assert.strictEqual(answer.status, 0)
        assert.deepStrictEqual(methods(response), whole.slice(0, 3))
        yield* gate.open
        yield* answer.awaitEnd
        assert.strictEqual(answer.status, 202)
        yield* response.awaitEnd
        assert.deepStrictEqual(methods(response), whole)
      }))
  }

  it.live("that is sent again while it is being stored is acknowledged with the first one", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, process)
      const gate = makeGate()
      process.faults.tasks.next("replace", gate.fault)
      const answers = [yield* sendAccept(client, question), yield* sendAccept(client, question)]
      yield* gate.reached
      yield* Effect.sleep("200 millis")
      assert.deepStrictEqual(answers.map(({ status }) => status), [0, 0])
      yield* gate.open
      for (const { awaitEnd } of answers) yield* awaitEnd
      assert.deepStrictEqual(answers.map(({ status }) => status), [202, 202])
      yield* response.awaitEnd
      assert.deepStrictEqual(methods(response), whole)
    }))

  it.live("that is stored answers its question, although the store replies late", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, process)
      const gate = makeGate(true)
      process.faults.tasks.next("replace", gate.fault)
      const answer = yield* sendAccept(client, question)
      yield* response.awaitEnd
      // No cancellation follows the question.
      assert.deepStrictEqual(methods(response), whole)
      yield* gate.open
      yield* answer.awaitEnd
      assert.strictEqual(answer.status, 202)
    }))

  const forms: ReadonlyArray<readonly [string, (id: unknown) => unknown]> = [
    ["in an array of one", (id) => [{ jsonrpc: "2.0", id, result: sampledAnswer }]],
    ["with an error that is null", (id) => ({ jsonrpc: "2.0", id, result: sampledAnswer, error: null })]
  ]
  for (const [form, bodyOf] of forms) {
    it.live(`${form} has 503 if it cannot be stored, and waits for the calls of the earlier owner`, () =>
      Effect.gen(function*() {
        const { client, first, next, question, response, second } = yield* begin({
          revision: "2025-03-26",
          tool: "sample"
        })
        const body = bodyOf(question)
        first.faults.tasks.next("replace", failed, failed, failed)
        assert.strictEqual((yield* client.exchange({ body })).status, 503)
        const gate = makeGate()
        second.faults.tasks.next("load", gate.fault)
        yield* first.cutOff
        const answer = yield* next.send({ body })
        yield* gate.reached
        yield* Effect.sleep("200 millis")
        assert.strictEqual(answer.status, 0)
        yield* gate.open
        yield* answer.awaitEnd
        assert.strictEqual(answer.status, 202)
        assert.deepStrictEqual(yield* rest(next, response), ["1 accept"])
      }))
  }

  for (const [name, fault] of [["fails", failed], ["loses its reply", replyLost]] as const) {
    it.live(`that makes its process the owner is taken although the take-over of the events ${name}`, () =>
      Effect.gen(function*() {
        const { first, fleet, next, question, response, second } = yield* begin()
        yield* first.cutOff
        // The second attempt is that of the answer itself.
        second.faults.events.next("takeOver", fault, fault)
        assert.strictEqual((yield* accept(next, question)).status, 503)
        assert.strictEqual((yield* accept(next, question)).status, 202)
        assert.deepStrictEqual(yield* rest(next, response), ["1 accept"])
        assert.strictEqual(yield* fleet.storedCount, 0)
      }))
  }

  it.live("that makes its process the owner is taken although the store of tasks fails at first", () =>
    Effect.gen(function*() {
      const { first, next, question, response, second } = yield* begin()
      yield* first.cutOff
      second.faults.tasks.next("load", failed, failed)
      assert.strictEqual((yield* accept(next, question)).status, 503)
      assert.strictEqual((yield* repeated(accept(next, question))).status, 202)
      assert.deepStrictEqual(yield* rest(next, response), ["1 accept"])
    }))

  it.live("in a batch with a request rejects that if it cannot be stored, and precedes it otherwise", () =>
    Effect.gen(function*() {
      const { client, first, fleet, question, response } = yield* begin({ revision: "2025-03-26", tool: "sample" })
      const { counts } = fleet
      const request = { jsonrpc: "2.0", id: "b", method: "tools/call", params: { name: "crash", arguments: {} } }
      const ping = { jsonrpc: "2.0", id: "ping", method: "ping" }
      const body = [request, ping, { jsonrpc: "2.0", id: question, result: sampledAnswer }]
      first.faults.tasks.next("replace", failed, failed, failed)
      const rejected = yield* client.exchange({ body })
      assert.deepStrictEqual(
        rejected.messages.flat().map(({ error, id }) => [id, error?.code]),
        [["b", ErrorCode.Overloaded], ["ping", ErrorCode.Overloaded]]
      )
      assert.strictEqual(counts.crashed, 0)
      const accepted = yield* client.exchange({ body: body.slice(1) })
      assert.deepStrictEqual(accepted.messages.flat().map(({ id, result }) => [id, result]), [["ping", {}]])
      assert.deepStrictEqual(yield* rest(client, response), ["1 accept"])
    }))

  it.live("has 503 at an earlier owner that is paused, and the next owner takes it when it is sent again", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next, question, response } = yield* begin()
      const gate = makeGate()
      first.faults.tasks.next("replace", gate.fault)
      const answer = yield* sendAccept(client, question)
      yield* gate.reached
      yield* first.cutOff
      const resumed = yield* next.get(response.lastId)
      yield* fleet.awaitStored(([task]) => task?.call?.epoch === 2)
      yield* gate.open
      yield* answer.awaitEnd
      assert.strictEqual(answer.status, 503)
      assert.deepStrictEqual(methods(resumed), [])
      assert.strictEqual((yield* next.respond(question, { action: "decline" })).status, 202)
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), ["1 decline"])
    }))

  it.live("has 503 after 5 seconds at the next owner, if that does not know its call yet", () =>
    Effect.gen(function*() {
      const { first, next, question, response, second } = yield* begin()
      // A single operation would have its own deadline.
      second.faults.tasks.next("load", delayed(3500))
      second.faults.tasks.next("replace", delayed(3500))
      yield* first.cutOff
      const [taken, answer] = yield* Effect.timed(accept(next, question))
      assert.strictEqual(answer.status, 503)
      assert.isAtLeast(Duration.toMillis(taken), 4500)
      assert.strictEqual((yield* accept(next, question)).status, 202)
      assert.deepStrictEqual(yield* rest(next, response), ["1 accept"])
    }))

  it.live("has 503 at the next owner whose store of tasks hangs", () =>
    Effect.gen(function*() {
      const { first, next, question, second } = yield* begin()
      second.faults.tasks.always(hung, "load")
      yield* first.cutOff
      assert.strictEqual((yield* accept(next, question)).status, 503)
    }))
})

describe.concurrent("the cancellation of a durable call", () => {
  it.live("has 202 only after the store has it, and its next owner does not run it", () =>
    Effect.gen(function*() {
      const { client, first, fleet, next, response } = yield* begin()
      const gate = makeGate()
      first.faults.tasks.next("replace", gate.fault)
      first.faults.tasks.next("remove", hung)
      // The next owner finds a stream that has not ended.
      first.faults.events.next("end", failed)
      const cancelled = [yield* sendCancel(client), yield* sendCancel(client)]
      yield* gate.reached
      yield* Effect.sleep("200 millis")
      assert.deepStrictEqual(cancelled.map(({ status }) => status), [0, 0])
      yield* gate.open
      for (const { awaitEnd } of cancelled) yield* awaitEnd
      assert.deepStrictEqual(cancelled.map(({ status }) => status), [202, 202])
      assert.isEmpty((yield* fleet.stored).filter(({ outcome }) => outcome?._tag !== "Cancelled"))
      yield* first.cutOff
      yield* rest(next, response)
      assert.strictEqual(fleet.counts.started, 1)
    }))

  const forms: ReadonlyArray<readonly [string, unknown]> = [["", cancellation], ["in a batch ", [cancellation]]]
  for (const [form, body] of forms) {
    it.live(`${form}has 503 if it cannot be stored, and the call goes on`, () =>
      Effect.gen(function*() {
        const { client, first, fleet, question, response } = yield* begin({ revision: "2025-03-26", tool: "sample" })
        first.faults.tasks.next("replace", failed, failed, failed)
        assert.strictEqual((yield* client.exchange({ body })).status, 503)
        assert.strictEqual((yield* client.respond(question, sampledAnswer)).status, 202)
        assert.deepStrictEqual(yield* rest(client, response), ["1 accept"])
        yield* fleet.awaitStored(({ length }) => length === 0)
        assert.strictEqual((yield* client.exchange({ body })).status, 202)
      }))
  }

  it.live("ends it without a reply, although the store fails after it has begun to delete it", () =>
    Effect.gen(function*() {
      const { client, first, fleet, response } = yield* begin()
      first.faults.tasks.next("remove", failed)
      assert.strictEqual((yield* cancel(client)).status, 202)
      assert.deepStrictEqual(yield* rest(client, response), ["notifications/cancelled"])
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("that has 503 and is stored all the same ends it with an unknown outcome", () =>
    Effect.gen(function*() {
      const { client, first, response } = yield* begin()
      const seen = makeGate()
      yield* seen.open
      first.faults.tasks.next("replace", (replace, error) =>
        Effect.gen(function*() {
          // The load of the handler that waits for its answer.
          first.faults.tasks.next("load", seen.fault)
          yield* replace
          yield* seen.reached
          first.faults.tasks.next("load", failed, failed)
          return yield* Effect.fail(error)
        }))
      assert.strictEqual((yield* cancel(client)).status, 503)
      assert.deepStrictEqual(yield* rest(client, response), ["notifications/cancelled", ErrorCode.OutcomeUnknown])
    }))

  it.live("that makes its process the owner ends it although the take-over of the events fails", () =>
    Effect.gen(function*() {
      const { first, fleet, next, response, second } = yield* begin()
      yield* first.cutOff
      second.faults.events.next("takeOver", failed, failed)
      assert.strictEqual((yield* cancel(next)).status, 503)
      assert.strictEqual((yield* cancel(next)).status, 202)
      assert.deepStrictEqual(yield* rest(next, response), ["notifications/cancelled"])
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("cancels its question in its stream, also if the store of events is slow", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, response } = yield* book(fleet, process)
      process.faults.events.always(delayed(50), "append", "end")
      yield* cancel(client)
      yield* response.awaitEnd
      assert.deepStrictEqual(methods(response), [1, 2, "elicitation/create", "notifications/cancelled"])
    }))

  it.live("deletes it although its finalizer fails", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const client = yield* open(process)
      const running = yield* call(client, "stubborn")
      yield* running.awaitMessages(1)
      assert.strictEqual(yield* fleet.storedCount, 1)
      yield* cancel(client)
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("deletes it although the call was being stored", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const client = yield* open(process)
      const gate = makeGate(true)
      process.faults.tasks.next("create", gate.fault)
      yield* call(client)
      yield* gate.reached
      const cancelled = yield* sendCancel(client)
      yield* Effect.sleep("200 millis")
      assert.strictEqual(cancelled.status, 0)
      assert.strictEqual(yield* fleet.storedCount, 1)
      yield* gate.open
      yield* cancelled.awaitEnd
      assert.strictEqual(cancelled.status, 202)
      yield* fleet.awaitStored(({ length }) => length === 0)
      assert.strictEqual(fleet.counts.started, 0)
    }))
})

describe.concurrent("a durable call", () => {
  it.live("runs on while its owner takes the events over once more", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const client = yield* open(first)
      const plain = yield* client.call("p", "plain")
      yield* plain.awaitMessages(1)
      plain.disconnect()
      yield* first.cutOff
      second.faults.events.next("takeOver", failed)
      const next = clientAt(second, client)
      yield* next.ping()
      const booking = yield* call(next)
      yield* booking.awaitMessages(3)
      assert.deepStrictEqual(yield* rest(next, plain), [ErrorCode.OutcomeUnknown])
      yield* Effect.sleep("200 millis")
      assert.strictEqual(yield* fleet.storedCount, 1)
      assert.strictEqual((yield* accept(next, questionIn(booking))).status, 202)
      yield* booking.awaitEnd
      assert.deepStrictEqual(methods(booking), whole)
      assert.deepInclude(fleet.counts, { charged: 1, started: 1 })
    }))

  it.live("is not deleted by an earlier owner whose detached timeout is due", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start({ http: { detachedRequestTimeout: "1 millis" } })
      const second = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, first)
      // It learns late from the store of events that it is not the owner.
      first.faults.events.always(delayed(50), "append", "end")
      yield* first.cutOff
      const next = clientAt(second, client)
      const resumed = yield* next.get(response.lastId)
      yield* fleet.awaitStored(([task]) => task?.call?.epoch === 2)
      response.disconnect()
      yield* Effect.sleep("200 millis")
      assert.strictEqual(yield* fleet.storedCount, 1)
      assert.strictEqual((yield* accept(next, question)).status, 202)
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), ["1 accept"])
    }))

  it.live("is abandoned and deleted by an owner that had lost its lease for a time", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start({ http: { detachedRequestTimeout: "1200 millis" } })
      const { response } = yield* book(fleet, process)
      yield* process.setRenewing(false)
      response.disconnect()
      yield* Effect.sleep("1500 millis")
      assert.strictEqual(yield* fleet.storedCount, 1)
      yield* process.setRenewing(true)
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("is changed by the last of three owners alone", () =>
    Effect.gen(function*() {
      const { first, fleet, next, question, response, second } = yield* begin()
      const third = yield* fleet.start()
      yield* first.cutOff
      yield* next.get(response.lastId)
      const gate = makeGate()
      second.faults.tasks.next("replace", gate.fault)
      yield* sendAccept(next, question)
      yield* gate.reached
      yield* second.cutOff
      const last = clientAt(third, next)
      const resumed = yield* last.get(response.lastId)
      yield* fleet.awaitStored(([task]) => task?.call?.epoch === 3)
      const before = yield* fleet.stored
      yield* gate.open
      yield* Effect.sleep("200 millis")
      assert.deepStrictEqual(yield* fleet.stored, before)
      yield* last.respond(question, { action: "decline" })
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), ["1 decline"])
      assert.deepInclude(fleet.counts, { charged: 1, started: 3 })
    }))

  it.live("whose task is deleted after its lifetime ends with an unknown outcome", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start({ tasks: { maxTtl: "1 second", lease: "1 second" } })
      const { response } = yield* book(fleet, process)
      yield* response.awaitEnd
      assert.strictEqual(yield* fleet.storedCount, 0)
      assert.deepStrictEqual(methods(response).slice(3), ["notifications/cancelled", ErrorCode.OutcomeUnknown])
    }))

  const unresumable = [
    ["a JSON response", { responseMode: "adaptive" }, "2025-11-25"],
    ["a stream without a priming event", { responseMode: "stream" }, "2025-06-18"]
  ] as const
  for (const [name, http, revision] of unresumable) {
    it.live(`with ${name} has its graceful timeout when its process stops`, () =>
      Effect.gen(function*() {
        const fleet = yield* makeFleet()
        const process = yield* fleet.start({ http })
        const client = yield* open(process, revision)
        const response = yield* call(client, "quick")
        yield* fleet.awaitStored(({ length }) => length === 1)
        yield* process.stop
        yield* response.awaitEnd
        assert.deepStrictEqual(methods(response), ["quick"])
        assert.strictEqual(yield* fleet.storedCount, 0)
      }))

    it.live(`with ${name} takes its steps while its process stops`, () =>
      Effect.gen(function*() {
        const fleet = yield* makeFleet()
        const process = yield* fleet.start({ http })
        const client = yield* open(process, revision)
        const response = yield* call(client, "step")
        yield* fleet.awaitStored(({ length }) => length === 1)
        const [taken] = yield* Effect.timed(process.stop)
        yield* response.awaitEnd
        assert.deepStrictEqual(methods(response), ["1"])
        // The graceful timeout is 30 seconds.
        assert.isBelow(Duration.toSeconds(taken), 15)
      }))

    it.live(`with ${name} is deleted if it takes longer than that`, () =>
      Effect.gen(function*() {
        const fleet = yield* makeFleet()
        const process = yield* fleet.start({ http, limits: { gracefulTimeout: "50 millis" } })
        const client = yield* open(process, revision)
        const response = yield* call(client, "quick")
        yield* fleet.awaitStored(({ length }) => length === 1)
        yield* process.stop
        yield* response.awaitEnd
        assert.deepStrictEqual(methods(response), [ErrorCode.OutcomeUnknown])
        assert.strictEqual(yield* fleet.storedCount, 0)
      }))
  }

  it.live("that was stored although the store failed runs its steps once", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      first.faults.tasks.next("create", replyLost)
      const { client, question, response } = yield* book(fleet, first)
      response.disconnect()
      yield* first.cutOff
      const next = clientAt(second, client)
      assert.strictEqual((yield* accept(next, question)).status, 202)
      assert.deepStrictEqual(yield* rest(next, response), ["1 accept"])
      assert.deepInclude(fleet.counts, { charged: 1, started: 2 })
    }))

  it.live("is not the earlier one with the same request id, whose task is being deleted", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const earlier = yield* book(fleet, first)
      first.faults.tasks.next("remove", hung)
      yield* accept(earlier.client, earlier.question)
      yield* earlier.response.awaitEnd
      assert.strictEqual(yield* fleet.storedCount, 1)
      const response = yield* call(earlier.client)
      yield* response.awaitMessages(3)
      response.disconnect()
      yield* first.cutOff
      const next = clientAt(second, earlier.client)
      assert.strictEqual((yield* accept(next, questionIn(response))).status, 202)
      assert.deepStrictEqual(yield* rest(next, response), ["2 accept"])
      assert.deepInclude(fleet.counts, { charged: 2, started: 3 })
    }))

  it.live("is deleted later if the store fails after its response", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, process)
      process.faults.tasks.next("remove", failed, replyLost)
      yield* accept(client, question)
      yield* response.awaitEnd
      assert.deepStrictEqual(methods(response), whole)
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("is not run again although its stores have failed during its response", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, first)
      first.faults.events.next("append", failed)
      first.faults.events.next("end", failed)
      first.faults.tasks.next("remove", failed)
      yield* accept(client, question)
      yield* response.awaitEnd
      assert.deepStrictEqual(methods(response), whole)
      yield* fleet.awaitStored(({ length }) => length === 0)
      yield* first.cutOff
      const next = clientAt(second, client)
      // A client that has not received the response learns that its outcome is unknown.
      assert.deepStrictEqual(yield* rest(next, response), ["notifications/cancelled", ErrorCode.OutcomeUnknown])
      assert.strictEqual(fleet.counts.started, 1)
    }))

  it.live("that is being deleted is not run again by its owner", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, process)
      const lost = yield* client.call("d", "book")
      yield* lost.awaitMessages(3)
      lost.disconnect()
      process.faults.tasks.always(hung, "remove")
      process.faults.events.next("append", failed)
      process.faults.events.next("end", failed)
      yield* accept(client, question)
      yield* response.awaitEnd
      process.faults.events.next("append", failed)
      yield* accept(client, questionIn(lost))
      // Takes over all streams that have not ended in the store.
      assert.deepStrictEqual(yield* rest(client, lost), ["2 accept"])
      yield* Effect.sleep("200 millis")
      assert.strictEqual(fleet.counts.started, 3)
    }))

  it.live("whose deletion fails does not hold its process up", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, process)
      process.faults.tasks.always(hung, "remove")
      yield* accept(client, question)
      yield* response.awaitEnd
      // All attempts together would take minutes.
      yield* process.end
      assert.deepStrictEqual(methods(response), whole)
    }))

  it.live("that the next owner rejects has an unknown outcome, and is deleted", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start({ limits: { maxIncomingRequests: 1 } })
      const client = yield* open(first)
      const calls = [yield* client.call("a", "book"), yield* client.call("b", "book")]
      for (const response of calls) {
        yield* response.awaitMessages(3)
        response.disconnect()
      }
      yield* first.cutOff
      const next = clientAt(second, client)
      const resumed = yield* Effect.forEach(calls, ({ lastId }) => next.get(lastId), { concurrency: 2 })
      yield* until(() => resumed.some(({ ended }) => ended))
      const rejected = resumed.filter(({ ended }) => ended)
      assert.deepStrictEqual(rejected.map(methods), [["notifications/cancelled", ErrorCode.OutcomeUnknown]])
      yield* fleet.awaitStored(({ length }) => length === 1)
    }))

  it.live("does not ask a question again whose event the store of events has no longer", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet({ events: { maxEventsPerStream: 3 } })
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, first, { tool: "chatty" })
      yield* response.awaitMessages(5)
      response.disconnect()
      yield* first.cutOff
      const next = clientAt(second, client)
      const resumed = yield* next.get(response.lastId)
      yield* Effect.sleep("300 millis")
      assert.deepStrictEqual(methods(resumed), [])
      assert.strictEqual((yield* accept(next, question)).status, 202)
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), ["accept"])
    }))

  for (const revision of ["2025-03-26", "2025-06-18"] as const) {
    it.live(`of revision ${revision} goes on after it has sent a message`, () =>
      Effect.gen(function*() {
        const { first, fleet, next, question, response } = yield* begin({ revision, tool: "sample" })
        yield* first.stop
        const resumed = yield* next.get(response.lastId)
        assert.strictEqual(resumed.status, 200)
        assert.strictEqual((yield* next.respond(question, sampledAnswer)).status, 202)
        yield* resumed.awaitEnd
        assert.deepStrictEqual(methods(resumed), ["1 accept"])
        assert.deepInclude(fleet.counts, { charged: 1, started: 2 })
      }))
  }
})

describe.concurrent("a session without open streams", () => {
  it.live("is restored at once although the store of tasks hangs", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const client = yield* open(first)
      yield* client.ping()
      yield* first.cutOff
      second.faults.tasks.always(hung, ...taskOperations)
      const next = clientAt(second, client)
      const [taken, pong] = yield* Effect.timed(next.ping())
      assert.strictEqual(pong.status, 200)
      assert.isBelow(Duration.toMillis(taken), 2500)
      // A response to no question waits for the end of the take-over, which needs nothing of the store.
      const [waited, response] = yield* Effect.timed(next.respond("none", {}))
      assert.strictEqual(response.status, 202)
      assert.isBelow(Duration.toMillis(waited), 2500)
    }))
})

it.live("a durable call whose reply was lost has its result when its client resumes the stream", () =>
  Effect.gen(function*() {
    const { client, first, fleet, question, response } = yield* begin()
    first.faults.events.next("append", failed)
    const answer = yield* accept(client, question)
    assert.strictEqual(answer.status, 202)
    assert.deepStrictEqual(yield* rest(client, response), ["1 accept"])
    assert.deepInclude(fleet.counts, { charged: 1, started: 2 })
    yield* until(() => Effect.runSync(fleet.stored).length === 0)
  }))

describe.concurrent("the question of a durable call", () => {
  it.live("is answered although it was sent so slowly that its stream stalled", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start({ limits: { writeTimeout: "300 millis" } })
      const client = yield* open(process)
      process.faults.events.next("append", passed, passed, passed, (append) => Effect.delay(append, "1 second"))
      const response = yield* call(client)
      yield* until(() => questionIn(response) !== undefined || response.isClosed)
      const live = questionIn(response) === undefined ? yield* client.get(response.lastId) : response
      yield* until(() => questionIn(live) !== undefined)
      yield* until(() => process.events.some(({ _tag }) => _tag === "SendFailed"))
      assert.strictEqual((yield* accept(client, questionIn(live))).status, 202)
      yield* live.awaitEnd
      assert.strictEqual(methods(live).at(-1), "1 accept")
    }))

  it.live("is shown once to the client of two branches, also if one of them stops waiting", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, process, { tool: "shared" })
      yield* Effect.sleep("600 millis")
      yield* accept(client, question)
      yield* response.awaitEnd
      assert.deepStrictEqual(methods(response), ["elicitation/create", "Failure,Success"])
    }))

  for (const [place, closing] of [["while", "replace"], ["just before", "load"]] as const) {
    it.live(`is a new one if a branch asks by its key ${place} its last branch closes it`, () =>
      Effect.gen(function*() {
        const fleet = yield* makeFleet()
        const process = yield* fleet.start()
        const client = yield* open(process)
        const gate = makeGate(closing === "load")
        let isMarked = false
        // The store does not learn that the question was sent, so that a branch that asks it again sends it again.
        process.faults.tasks.next("replace", passed, (_, error) => {
          isMarked = true
          return Effect.fail(error)
        })
        const response = yield* call(client, "rejoined")
        yield* until(() => isMarked)
        process.faults.tasks.next(closing, gate.fault)
        if (closing === "load") {
          yield* fleet.goOn
          yield* gate.reached
          yield* response.awaitMessages(2)
        } else {
          yield* gate.reached
          yield* fleet.goOn
        }
        yield* Effect.sleep("200 millis")
        yield* gate.open
        yield* until(() => response.messages.filter(({ method }) => method === "elicitation/create").length > 1)
        yield* accept(client, response.messages.findLast(({ method }) => method === "elicitation/create")?.id)
        yield* response.awaitEnd
        assert.deepStrictEqual(
          methods(response),
          ["elicitation/create", "notifications/cancelled", "elicitation/create", "Success,Failure"]
        )
      }))
  }

  it.live("waits on after a malformed answer", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const process = yield* fleet.start()
      const { client, question, response } = yield* book(fleet, process)
      const error = { code: 1, message: "both" }
      yield* client.exchange({ body: { jsonrpc: "2.0", id: question, result: {}, error } })
      assert.strictEqual((yield* accept(client, question)).status, 202)
      yield* response.awaitEnd
      assert.deepStrictEqual(methods(response), whole)
    }))

  it.live("waits at the third owner if the second one stops while it takes the session over", () =>
    Effect.gen(function*() {
      const { first, fleet, next, question, response, second } = yield* begin()
      const third = yield* fleet.start()
      yield* first.cutOff
      const gate = makeGate()
      second.faults.tasks.next("replace", gate.fault)
      yield* next.ping()
      yield* gate.reached
      const stopping = yield* Effect.forkChild(second.stop)
      yield* Effect.sleep("100 millis")
      yield* gate.open
      yield* Fiber.join(stopping)
      const last = clientAt(third, next)
      const resumed = yield* last.get(response.lastId)
      assert.strictEqual((yield* accept(last, question)).status, 202)
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), ["1 accept"])
    }))
})

describe.concurrent("a call of a tool that only reads", () => {
  it.live("is repeated by the next owner", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const client = yield* open(first)
      const response = yield* call(client, "look")
      yield* response.awaitMessages(1)
      response.disconnect()
      yield* first.cutOff
      assert.deepStrictEqual(yield* rest(clientAt(second, client), response), ["seen"])
      yield* fleet.awaitStored(({ length }) => length === 0)
    }))

  it.live("is not repeated if it has asked its client something", () =>
    Effect.gen(function*() {
      const fleet = yield* makeFleet()
      const first = yield* fleet.start()
      const second = yield* fleet.start()
      const client = yield* open(first)
      const response = yield* call(client, "lookAndAsk")
      yield* response.awaitMessages(1)
      assert.strictEqual(yield* fleet.storedCount, 0)
      response.disconnect()
      yield* first.cutOff
      assert.deepStrictEqual(
        yield* rest(clientAt(second, client), response),
        ["notifications/cancelled", ErrorCode.OutcomeUnknown]
      )
    }))

  const asks = Effect.gen(function*() {
    const fleet = yield* makeFleet()
    const first = yield* fleet.start()
    const second = yield* fleet.start()
    const client = yield* open(first)
    const response = yield* call(client, "lookThenAsk")
    yield* response.awaitMessages(1)
    response.disconnect()
    yield* first.cutOff
    const next = clientAt(second, client)
    const resumed = yield* next.get(response.lastId)
    yield* resumed.awaitMessages(2)
    return { next, resumed, second, question: questionIn(resumed) }
  })

  it.live("that asks in its second run has its own result, and no step of progress twice", () =>
    Effect.gen(function*() {
      const { next, question, resumed } = yield* asks
      yield* accept(next, question)
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), [2, "elicitation/create", 3, "accept"])
    }))

  it.live("that asks in its second run has its own error", () =>
    Effect.gen(function*() {
      const { next, question, resumed } = yield* asks
      yield* next.exchange({ body: { jsonrpc: "2.0", id: question, error: { code: 1, message: "no" } } })
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), [2, "elicitation/create", ErrorCode.InvalidRequest])
    }))

  it.live("that asks in its second run has its result while its process stops", () =>
    Effect.gen(function*() {
      const { next, question, resumed, second } = yield* asks
      const gate = makeGate()
      second.faults.events.next("append", gate.fault)
      yield* accept(next, question)
      yield* gate.reached
      const stopping = yield* Effect.forkChild(second.stop)
      yield* Effect.sleep("100 millis")
      yield* gate.open
      yield* Fiber.join(stopping)
      yield* resumed.awaitEnd
      assert.deepStrictEqual(methods(resumed), [2, "elicitation/create", 3, "accept"])
    }))
})

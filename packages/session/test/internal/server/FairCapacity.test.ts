import { Limits, MemoryBudget } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { FairCapacity } from "../../../src/internal/server/FairCapacity.ts"

const clients = ["a", "b", "c", "d"] as const

const Step = Schema.Union([
  Schema.Struct({
    do: Schema.Literals(["take", "take"]),
    client: Schema.Literals(clients),
    bytes: Schema.Literals([0, 1, 5, 20])
  }),
  Schema.Struct({ do: Schema.Literal("release"), client: Schema.Literals(clients) })
])

it.effect("law 12: no client uses more than the free capacity, and clients without requests take no memory", () =>
  Effect.gen(function*() {
    const outcome = yield* Arbitrary.checkEffect(
      Arbitrary.array(Arbitrary.schema(Step), { minLength: 10, maxLength: 60 }),
      (steps) =>
        Effect.sync(() => {
          const limits = Limits.make({ maxIncomingRequests: 8, maxIncomingBytes: 64 })
          const budget = MemoryBudget.make({ maxBytes: 1000 })
          const capacity = new FairCapacity(limits, budget)
          const held = new Map<string, Array<number>>(clients.map((client) => [client, []]))
          const requests = () => Array.from(held.values()).flat().length
          const bytes = () => Array.from(held.values()).flat().reduce((sum, one) => sum + one, 0)
          for (const step of steps) {
            const ofClient = held.get(step.client) ?? []
            if (step.do === "release") {
              const one = ofClient.pop()
              if (one !== undefined) capacity.roomOf({ client: step.client }).release(one)
            } else {
              const bytesOfClient = ofClient.reduce((sum, one) => sum + one, 0)
              const hasRoom = ofClient.length < 8 - requests() && bytesOfClient + step.bytes <= 64 - bytes()
              assert.strictEqual(capacity.roomOf({ client: step.client }).take(step.bytes) === undefined, hasRoom)
              if (hasRoom) ofClient.push(step.bytes)
            }
            assert.strictEqual(capacity.clients, Array.from(held.values()).filter(({ length }) => length > 0).length)
            assert.strictEqual(budget.usedBytes(), bytes())
          }
          return true
        }),
      { runs: 500 }
    )
    assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
  }))

it("law 12: the client with most in flight yields first to newcomers", () => {
  const capacity = new FairCapacity(Limits.make({ maxIncomingRequests: 16 }), MemoryBudget.make())
  const inFlight = new Map<string, number>()
  const take = (client: string, count: number) => {
    for (let taken = 0; taken < count; taken++) {
      const room = capacity.roomOf({ client }, () => {
        room.release(1)
        inFlight.set(client, (inFlight.get(client) ?? 0) - 1)
      })
      if (room.take(1) === undefined) inFlight.set(client, (inFlight.get(client) ?? 0) + 1)
    }
  }
  for (const client of ["a", "b", "c", "d", "e"]) take(client, 16)
  assert.deepStrictEqual(Array.from(inFlight.values()), [5, 4, 2, 1, 4])
  for (const client of ["f", "g", "h"]) take(client, 1)
  assert.deepStrictEqual(Array.from(inFlight.values()), [3, 3, 2, 1, 4, 1, 1, 1])
  take("f", 16)
  // One more request would give it as many as the clients with most.
  assert.deepStrictEqual(Array.from(inFlight.values()), [3, 3, 2, 1, 3, 2, 1, 1])
})

it("law 12: a client is rejected while the client with most memory has not yielded yet", () => {
  const capacity = new FairCapacity(Limits.make({ maxIncomingBytes: 100 }), MemoryBudget.make())
  let calls = 0
  const late = capacity.roomOf({ client: "late" }, () => calls++)
  const small = capacity.roomOf({ client: "small" }, () => assert.fail("the smaller one yields"))
  assert.isUndefined(late.take(50))
  assert.isUndefined(late.take(0))
  assert.isUndefined(small.take(40))
  const rejected = capacity.roomOf({ client: "newcomer" }).take(45)
  assert.strictEqual(rejected, "the requests in flight would take more than 100 bytes of memory, the limit")
  assert.strictEqual(calls, 1)
  assert.isString(capacity.roomOf({ client: "newcomer" }).take(60))
  assert.strictEqual(calls, 1)
})

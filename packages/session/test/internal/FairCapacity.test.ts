import { Limits, MemoryBudget } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { FairCapacity } from "../../src/internal/FairCapacity.ts"

const clients = ["a", "b", "c", "d"] as const

const Step = Schema.Union([
  Schema.Struct({
    do: Schema.Literals(["take", "take"]),
    client: Schema.Literals(clients),
    bytes: Schema.Literals([0, 1, 5, 20])
  }),
  Schema.Struct({ do: Schema.Literal("release"), client: Schema.Literals(clients) })
])

it.effect("law 12: no client has more than there is room left for, and nothing is kept of one without requests", () =>
  Effect.gen(function*() {
    const outcome = yield* Arbitrary.checkEffect(
      Arbitrary.array(Arbitrary.schema(Step), { minLength: 10, maxLength: 60 }),
      (steps) =>
        Effect.sync(() => {
          const limits = Limits.make({ incoming: 8, incomingBytes: 64 })
          const budget = MemoryBudget.make({ limitBytes: 1000 })
          const capacity = new FairCapacity(limits, budget)
          const held = new Map<string, Array<number>>(clients.map((client) => [client, []]))
          const requests = () => Array.from(held.values()).flat().length
          const bytes = () => Array.from(held.values()).flat().reduce((sum, one) => sum + one, 0)
          for (const step of steps) {
            const own = held.get(step.client) ?? []
            if (step.do === "release") {
              const one = own.pop()
              if (one !== undefined) capacity.roomOf({ client: step.client }).release(one)
            } else {
              const ownBytes = own.reduce((sum, one) => sum + one, 0)
              const hasRoom = own.length < 8 - requests() && ownBytes + step.bytes <= 64 - bytes()
              assert.strictEqual(capacity.roomOf({ client: step.client }).take(step.bytes) === undefined, hasRoom)
              if (hasRoom) own.push(step.bytes)
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

import { JsonRpc, MethodTable } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { KeptResults } from "../../../src/internal/client/KeptResults.ts"
import type { Request } from "../../../src/internal/engine/Layers.ts"
import { trust } from "../../../src/internal/trust.ts"
import { start } from "../../support/sessions.ts"

const result = { prompts: [], ttlMs: 60_000 }

/** Requests a list whose result arrives when the Deferred is done. */
const requesting = Effect.fnUntraced(function*() {
  const budget = MemoryBudget.make()
  const kept = new KeptResults({ budget, limits: { maxKeptResultBytes: 1_000_000 }, timer: { now: () => 0 } })
  const arrived = yield* Deferred.make<void>()
  const send: Request = (_row, _params, options) =>
    Effect.map(Deferred.await(arrived), () => {
      options?.onResponse?.(JsonRpc.success(1, result))
      return trust(result)
    })
  const request = kept.layer(send)
  const waiting = yield* start(request(MethodTable.requests["prompts/list"], {}))
  const arrive = Effect.andThen(Deferred.succeed(arrived, undefined), Fiber.join(waiting))
  return { budget, kept, arrive }
})

describe("the memory of kept results", () => {
  it.effect("is charged to the budget of the process, until the session ends", () =>
    Effect.gen(function*() {
      const { arrive, budget, kept } = yield* requesting()
      yield* arrive
      assert.isAbove(budget.usedBytes(), 0)
      kept.end()
      assert.strictEqual(budget.usedBytes(), 0)
    }))

  it.effect("is not charged for a result that reaches the program after the session has ended", () =>
    Effect.gen(function*() {
      const { arrive, budget, kept } = yield* requesting()
      kept.end()
      yield* arrive
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})

describe("an update whose URI is no text", () => {
  it.effect("makes nothing stale, however deeply it is nested", () =>
    Effect.gen(function*() {
      const { arrive, budget, kept } = yield* requesting()
      const uri: unknown = JSON.parse("[".repeat(90_000) + "]".repeat(90_000))
      kept.observe(JsonRpc.notification("notifications/resources/updated", { uri }))
      yield* arrive
      assert.isAbove(budget.usedBytes(), 0)
    }))
})

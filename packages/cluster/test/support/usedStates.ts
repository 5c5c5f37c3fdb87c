/** Properties of the used states of every database. */
import { McpStores } from "@effect-mcp/cluster"
import { UsedStates } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Database from "../../src/internal/sql/Database.ts"
import * as UsedStatesSql from "../../src/internal/sql/UsedStatesSql.ts"
import { sweepOf } from "./sweeps.ts"

const opened = (options: McpStores.SqlOptions) =>
  Effect.map(Effect.provide(UsedStates.UsedStates, McpStores.layerSql(options)), ({ use }) => use)

const hour = () => Date.now() + 3_600_000

/** [MRTR-10] Of several processes that use a state at the same time, one is the first. */
export const usesOnce = (prefix: string) =>
  Effect.gen(function*() {
    const stores = yield* Effect.replicateEffect(opened({ prefix }), 4)
    const uses = yield* Effect.forEach([...stores, ...stores], (use) => use("state", hour(), "ada"), {
      concurrency: "unbounded"
    })
    assert.strictEqual(uses.filter((isFirst) => isFirst).length, 1)
    for (const id of ["", "a\u0000b", "\ud800", "x".repeat(10_000)]) {
      const both = yield* Effect.forEach(stores.slice(0, 2), (use) => use(id, Number.POSITIVE_INFINITY, undefined))
      assert.deepStrictEqual(both, [true, false], id.slice(0, 9))
    }
  })

/** [MRTR-10] A state is used once until it expires by the clock of its process, whatever the clock of the database. */
export const expiresByProcess = (prefix: string) =>
  Effect.gen(function*() {
    yield* Effect.scoped(Layer.build(McpStores.layerSql({ prefix })))
    const database = yield* Database.open(prefix)
    for (const difference of [3_600_000, -3_600_000]) {
      const other = { ...database, now: database.sql`(${database.now} + ${difference})` }
      const { use } = UsedStatesSql.make(other, 100)
      const id = `state ${difference}`
      const expiresAt = Date.now() + 60_000
      assert.isTrue(yield* use(id, expiresAt, "ada"))
      yield* sweepOf(other)
      assert.isFalse(yield* use(id, expiresAt, "ada"))
      yield* use(`expired ${difference}`, Date.now() - 1, "ada")
      yield* sweepOf(other)
      const left = yield* database.sql`select id from ${database.table("used_states")}`
      assert.lengthOf(left, 1, "and is deleted when it has expired")
      yield* database.sql`delete from ${database.table("used_states")}`
    }
  })

/** A principal has no more states than there is still room for. */
export const sharesRoom = (prefix: string) =>
  Effect.gen(function*() {
    const earlier = yield* opened({ prefix })
    // Expired states take no room.
    for (const id of ["e1", "e2", "e3"]) yield* earlier(id, 1, "ada")
    const use = yield* opened({ prefix, usedStates: { capacity: 8 } })
    const outcome = (id: string, principal: string | undefined) =>
      Effect.catch(use(id, hour(), principal), ({ cause }) => Effect.succeed(String(cause)))
    for (const id of ["1", "2", "3", "4"]) assert.isTrue(yield* outcome(id, "ada"))
    assert.match(String(yield* outcome("5", "ada")), /set usedStates.capacity to allow more/)
    assert.isTrue(yield* outcome("6", undefined))
    // A state that is refused was not used.
    const later = yield* opened({ prefix, usedStates: { capacity: 100 } })
    assert.isTrue(yield* later("5", hour(), "ada"))
  })

/** `TokenStoreSql` with PostgreSQL, on machines that have its programs. */
import * as TokenStoreSql from "@effect-mcp/auth/TokenStoreSql"
import { TokenStoreSuite } from "@effect-mcp/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Postgres from "../../tasks/test/support/postgres.ts"
import { byTurns } from "./support/tokenStores.ts"

describe.runIf(Postgres.isInstalled)("PostgreSQL", () => {
  const port = Postgres.forSuite()

  const storeWith = (options?: TokenStoreSql.Options) =>
    Effect.flatMap(
      Effect.suspend(() => Layer.build(Postgres.layerAt(port()))),
      (context) => Effect.provide(TokenStoreSql.make(options), context)
    )

  TokenStoreSuite.suite(
    "PostgreSQL, two pools of connections",
    Effect.zipWith(storeWith(), storeWith(), (one, other) => byTurns(one, other), { concurrent: true }),
    { runs: 10 }
  )

  it.live("processes that create the tables at the same time all succeed", () =>
    Effect.gen(function*() {
      const stores = yield* Effect.all(
        Array.from({ length: 8 }, () => storeWith({ prefix: "At_once_" })),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(stores, 8)
    }), 60_000)
})

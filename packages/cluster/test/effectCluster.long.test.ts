/** The owners of sessions with Effect Cluster, in PostgreSQL. */
import { McpStores } from "@effect-mcp/cluster"
import * as EffectCluster from "@effect-mcp/cluster/EffectCluster"
import * as NodeEffectCluster from "@effect-mcp/cluster/NodeEffectCluster"
import type { SessionOwners } from "@effect-mcp/session"
import { SessionOwnersSuite } from "@effect-mcp/testing/vitest"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SqlClient from "effect/sql/SqlClient"
import { freePort } from "../../../scripts/freePort.ts"
import * as Services from "../../soak/src/nemesis/services.ts"
import * as Fleet from "../../soak/src/owners/Fleet.ts"
import * as Database from "../src/internal/sql/Database.ts"
import * as Migrating from "../src/internal/sql/Migrating.ts"
import * as OwnersSql from "../src/internal/sql/OwnersSql.ts"
import { newPrefix, postgres } from "./support/databases.ts"
import { isRunning } from "./support/services.ts"

/** Builds a runner, and a store of owners that asks its registry. */
const opened = Effect.gen(function*() {
  const prefix = yield* newPrefix
  const port = yield* freePort
  const runner = NodeEffectCluster.layer({ host: "127.0.0.1", port, prefix: `${prefix}cluster` })
  const context = yield* Layer.build(Layer.provideMerge(runner, Layer.fresh(postgres)))
  const database = yield* Effect.provideContext(Database.open(prefix), context)
  yield* Migrating.migrate(database)
  const store = yield* Effect.provideContext(EffectCluster.membership(OwnersSql.make(database)), context)
  return {
    prefix,
    store,
    registry: Context.get(context, RunnerStorage.RunnerStorage),
    sql: Context.get(context, SqlClient.SqlClient),
    address: RunnerAddress.make("127.0.0.1", port)
  }
})

const lease = { process: "one", address: "http://127.0.0.1:3000", millis: 60_000 }

const causeOf = (renewal: Effect.Effect<boolean, SessionOwners.SessionOwnersError>) =>
  Effect.map(Effect.flip(renewal), ({ cause }) => String(cause))

const isPostgresRunning = isRunning("PostgreSQL", "the owners of @effect-mcp/cluster with Effect Cluster")

describe.runIf(isPostgresRunning)("Effect Cluster", () => {
  SessionOwnersSuite.suite("PostgreSQL and Effect Cluster", Effect.map(opened, ({ store }) => store))

  it.live("a process that the cluster reports as unhealthy does not get its lease renewed", () =>
    Effect.scoped(Effect.gen(function*() {
      const { address, registry, store } = yield* opened
      assert.isFalse(yield* store.renew(lease))
      assert.isTrue(yield* store.renew(lease))
      yield* registry.setRunnerHealth(address, false)
      assert.strictEqual(
        yield* causeOf(store.renew(lease)),
        `Error: the runners of the cluster report 127.0.0.1:${address.port} as unhealthy`
      )
      yield* registry.setRunnerHealth(address, true)
      assert.isTrue(yield* store.renew(lease))
    })))

  it.live("a registration that is over begins again with the renewal, and one that was ended does not", () =>
    Effect.scoped(Effect.gen(function*() {
      const { address, prefix, registry, sql, store } = yield* opened
      yield* store.renew(lease)
      yield* sql`update ${sql(`${prefix}cluster_runners`)} set last_heartbeat = now() - interval '1 hour'`
      assert.deepStrictEqual(yield* registry.getRunners, [])
      assert.isTrue(yield* store.renew(lease))
      assert.lengthOf(yield* registry.getRunners, 1)
      yield* registry.unregister(address)
      assert.strictEqual(
        yield* causeOf(store.renew(lease)),
        `Error: the runner 127.0.0.1:${address.port} is not registered in its cluster`
      )
    })))

  it.live("a process that is no runner of its cluster cannot own sessions", () =>
    Effect.scoped(Effect.gen(function*() {
      const client = ShardingConfig.layer({ runnerAddress: Option.none() })
      const stores = McpStores.layerSql({ prefix: yield* newPrefix, membership: EffectCluster.membership })
      const runner = NodeEffectCluster.layer({ host: "127.0.0.1", port: yield* freePort, prefix: yield* newPrefix })
      const started = Layer.build(
        stores.pipe(Layer.provide(client), Layer.provide(runner), Layer.provide(Layer.fresh(postgres)))
      )
      const exit = yield* Effect.exit(started)
      assert.match(String(exit), /must be a runner of its cluster: set runnerAddress in ShardingConfig/)
    })))
})

describe.runIf(isPostgresRunning)("processes that own sessions", () => {
  const service = Services.make("postgres")
  beforeAll(async () => (await service).start())
  afterAll(async () => (await service).remove())

  const scenario = (judge: Fleet.Judge, fault: Fleet.Fault) =>
    it(`${judge}, ${fault}: one owner at a time`, async () => {
      const { isElsewhere, served, violations } = await Fleet.cause(fault, judge, await service, 3)
      assert.deepStrictEqual(violations, [])
      assert.strictEqual(isElsewhere, fault !== "restart")
      assert.isAbove(served, 0)
    }, 120_000)

  // `pnpm owners takeovers` causes the other faults, and measures.
  for (const judge of ["store", "cluster"] as const) scenario(judge, "kill -9")
  // No owner changes.
  scenario("store", "restart")
})

/**
 * Effect Cluster as the judge of which processes may own sessions. An entry point of its own, because the cluster
 * modules of Effect are unstable.
 *
 * The runners of a cluster keep a registry of themselves. One of them checks all others, by pings or by asking
 * Kubernetes, and records which are healthy. With {@link membership}, a process renews its lease only while the
 * registry has it as healthy. So the sessions of a process that its peers cannot reach are taken over, although it
 * still reaches the database.
 *
 * No message of a session travels through the cluster.
 *
 * @stability unstable
 */
import * as SessionOwners from "@effect-mcp/session/SessionOwners"
import type { RunnerAddress } from "effect/cluster/RunnerAddress"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import type { Sharding } from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Option from "effect/Option"

type Registry = RunnerStorage.RunnerStorage["Service"]

/** Returns whether the registry has this runner as healthy; `undefined` if its registration is over. */
const healthOf = (registry: Registry, address: RunnerAddress) =>
  Effect.map(
    registry.getRunners,
    (runners) => runners.find(([runner]) => Equal.equals(runner.address, address))?.[1]
  )

const nameOf = ({ host, port }: RunnerAddress) => `${host}:${port}`

const errorOf = (problem: string) => new SessionOwners.SessionOwnersError({ cause: new Error(problem) })

/** Fails unless the registry has this runner as healthy. */
const check = Effect.fnUntraced(function*(registry: Registry, address: RunnerAddress) {
  const health = yield* healthOf(registry, address)
  if (health === true) return
  if (health === false) {
    return yield* Effect.fail(errorOf(`the runners of the cluster report ${nameOf(address)} as unhealthy`))
  }
  // After an outage of the database, all registrations are over. The loop of each runner begins its own again, seconds
  // after the others. Without this line, the first process to return takes over the sessions of the others meanwhile.
  yield* registry.refresh(address, [])
  if ((yield* healthOf(registry, address)) !== true) {
    return yield* Effect.fail(errorOf(`the runner ${nameOf(address)} is not registered in its cluster`))
  }
})

/**
 * Makes a store of owners ask the registry of the cluster before it renews the lease of this process. The processes,
 * the owners and the epochs stay in the rows of the store, so all its rules hold. It is an option of `McpStores`.
 *
 * The registry keeps no time until which a runner counts as healthy, so it cannot replace the lease: a process could be
 * reported as unhealthy while it answers a request. With both, its sessions are free one lease time after the report.
 *
 * @example
 * ```ts
 * import { McpStores } from "@effect-mcp/cluster"
 * import * as EffectCluster from "@effect-mcp/cluster/EffectCluster"
 * import * as NodeEffectCluster from "@effect-mcp/cluster/NodeEffectCluster"
 * import * as Layer from "effect/Layer"
 *
 * // For a few processes, the leases in the database are enough: McpStores.layerSql().
 * export const stores = McpStores.layerSql({ membership: EffectCluster.membership }).pipe(
 *   Layer.provide(NodeEffectCluster.layer({ host: "10.0.0.3", port: 34431 }))
 * )
 * ```
 *
 * @category membership
 */
export const membership = (
  store: SessionOwners.OwnerStore
): Effect.Effect<
  SessionOwners.OwnerStore,
  never,
  RunnerStorage.RunnerStorage | Sharding | ShardingConfig.ShardingConfig
> =>
  Effect.gen(function*() {
    const registry = yield* RunnerStorage.RunnerStorage
    const { runnerAddress } = yield* ShardingConfig.ShardingConfig
    if (Option.isNone(runnerAddress)) {
      const problem =
        "a process that owns sessions must be a runner of its cluster: set runnerAddress in ShardingConfig"
      return yield* Effect.die(new Error(problem))
    }
    const healthy = Effect.catchTag(
      check(registry, runnerAddress.value),
      "PersistenceError",
      (cause) => Effect.fail(new SessionOwners.SessionOwnersError({ cause }))
    )
    return {
      renew: (lease) => Effect.andThen(healthy, Effect.suspend(() => store.renew(lease))),
      retire: (process) => store.retire(process),
      locate: (session) => store.locate(session),
      claim: (session, epoch, lease) => store.claim(session, epoch, lease),
      release: (session, epoch) => store.release(session, epoch),
      remove: (session, epoch) => store.remove(session, epoch),
      lost: (process, sessions) => store.lost(process, sessions)
    }
  })

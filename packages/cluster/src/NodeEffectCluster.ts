/**
 * A runner of Effect Cluster on Node, for programs that have none yet. An entry point of its own, because it needs
 * `@effect/platform-node`.
 *
 * @stability unstable
 */
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import * as Cause from "effect/Cause"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import type * as RunnerStorage from "effect/cluster/RunnerStorage"
import type * as Sharding from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as SqlClient from "effect/sql/SqlClient"
import { StoresError } from "./StoresError.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** The host at which the other runners reach this one, such as the address of its pod. */
  readonly host: string
  /** The port of the runner. It has no authentication, so only the other runners may reach it. */
  readonly port: number
  /** The address that the runner listens on. Default: `host`. */
  readonly listenHost?: string
  /**
   * The check of the runners, which one of them makes: a `ping`, or a question to Kubernetes whether their pods are
   * ready. Default: `ping`. For `k8s`, `host` is the address of the pod, and the service account may list pods.
   */
  readonly health?: "ping" | "k8s"
  /** Selects the pods of the cluster. */
  readonly k8s?: { readonly namespace?: string; readonly labelSelector?: string }
  /** Begins the names of the tables of the registry. Default: `cluster`. */
  readonly prefix?: string
  /** Further settings of the cluster. They replace those of this module. */
  readonly settings?: Partial<ShardingConfig.ShardingConfig["Service"]>
}

/**
 * The settings of a cluster that only judges its processes. The health of each is checked every 5 seconds: a check that
 * fails is repeated for 2.5 seconds, or for a minute if nothing answers at all. There are no entities, so there are few
 * shards.
 */
const defaults = {
  shardsPerGroup: 10,
  shardLockExpiration: "10 seconds",
  refreshAssignmentsInterval: "3 seconds",
  runnerHealthCheckInterval: "5 seconds"
} as const

/**
 * Provides a runner of a cluster, whose registry is in the database of the `SqlClient`. It holds one connection. A
 * program that is a runner already needs only `EffectCluster.membership`.
 *
 * @example
 * ```ts
 * import * as NodeEffectCluster from "@effect-mcp/cluster/NodeEffectCluster"
 *
 * export const runner = NodeEffectCluster.layer({
 *   host: process.env["POD_IP"] ?? "127.0.0.1",
 *   port: 34431,
 *   health: "k8s",
 *   k8s: { labelSelector: "app=weather" }
 * })
 * ```
 *
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<
  RunnerStorage.RunnerStorage | Sharding.Sharding | ShardingConfig.ShardingConfig,
  StoresError,
  SqlClient.SqlClient
> => {
  const { health = "ping", host, k8s, listenHost = host, port, prefix, settings } = options
  const shardingConfig = {
    ...defaults,
    runnerAddress: Option.some(RunnerAddress.make(host, port)),
    runnerListenAddress: Option.some(RunnerAddress.make(listenHost, port)),
    ...settings
  }
  return NodeClusterSocket.layer({ storage: "byo", runnerHealth: health, runnerHealthK8s: k8s, shardingConfig }).pipe(
    Layer.provide(MessageStorage.layerNoop),
    Layer.provideMerge(SqlRunnerStorage.layerWith({ prefix })),
    Layer.provideMerge(ShardingConfig.layerFromEnv(shardingConfig)),
    Layer.catchCause((cause) => Layer.effectContext(Effect.fail(new StoresError({ cause: Cause.squash(cause) }))))
  )
}

/** A cluster whose runners ask Kubernetes, which is a local server here that answers with a list of pods. */
import * as EffectCluster from "@effect-mcp/cluster/EffectCluster"
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as K8sHttpClient from "effect/cluster/K8sHttpClient"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SocketRunner from "effect/cluster/SocketRunner"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import * as Schedule from "effect/Schedule"
import * as http from "node:http"
import { freePort } from "../../../scripts/freePort.ts"
import * as Database from "../src/internal/sql/Database.ts"
import * as Migrating from "../src/internal/sql/Migrating.ts"
import * as OwnersSql from "../src/internal/sql/OwnersSql.ts"
import { newPrefix, postgres } from "./support/databases.ts"
import { isRunning } from "./support/services.ts"

const podOf = (podIP: string, isReady: boolean) => ({
  status: {
    phase: "Running",
    conditions: [
      { type: "Initialized", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
      { type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: "2026-01-01T00:00:10Z" }
    ],
    podIP,
    hostIP: "10.0.0.1"
  }
})

/** Serves the pods with the label of this service. Returns the origin, and the pods that are not ready. */
const api = Effect.gen(function*() {
  const unready = new Set<string>()
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      http.createServer(({ url = "" }, response) => {
        const { pathname, searchParams } = new URL(url, "http://127.0.0.1")
        const isKnown = pathname === "/api/v1/namespaces/weather/pods" &&
          searchParams.get("labelSelector") === "app=mcp"
        const items = ["127.0.0.1", "127.0.0.2"].map((host) => podOf(host, !unready.has(host)))
        response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify({ items }))
      })
    ),
    (server) => Effect.sync(() => server.close())
  )
  const port = yield* freePort
  yield* Effect.callback<void>((resume) => {
    server.listen(port, "127.0.0.1", () => resume(Effect.void))
  })
  return { origin: `http://127.0.0.1:${port}`, unready }
})

/** Provides a client whose requests to Kubernetes go to an origin. */
const clientTo = (origin: string) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) =>
      HttpClient.make((request) =>
        client.execute(
          HttpClientRequest.setUrl(request, request.url.replace("https://kubernetes.default.svc", origin))
        )
      ))
  ).pipe(Layer.provide(NodeHttpClient.layerUndici))

/** Builds a runner on a host, and the store of owners of its process. */
const opened = Effect.fnUntraced(function*(host: string, prefix: string, origin: string) {
  const runner = SocketRunner.layer.pipe(
    Layer.provide([NodeClusterSocket.layerSocketServer, NodeClusterSocket.layerClientProtocol]),
    Layer.provide(RunnerHealth.layerK8s({ namespace: "weather", labelSelector: "app=mcp" })),
    Layer.provide(K8sHttpClient.layer),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provideMerge(SqlRunnerStorage.layerWith({ prefix: `${prefix}cluster` })),
    Layer.provideMerge(ShardingConfig.layer({
      runnerAddress: Option.some(RunnerAddress.make(host, yield* freePort)),
      shardsPerGroup: 4,
      refreshAssignmentsInterval: "200 millis",
      runnerHealthCheckInterval: "200 millis"
    })),
    Layer.provide([RpcSerialization.layerSchemaBinary({}), clientTo(origin), NodeFileSystem.layer])
  )
  const context = yield* Layer.build(Layer.provideMerge(runner, Layer.fresh(postgres)))
  const database = yield* Effect.provideContext(Database.open(prefix), context)
  yield* Migrating.migrate(database)
  const store = yield* Effect.provideContext(EffectCluster.membership(OwnersSql.make(database)), context)
  const lease = { process: host, address: `http://${host}:3000`, millis: 60_000 }
  return Effect.match(store.renew(lease), { onSuccess: () => "renewed", onFailure: ({ cause }) => String(cause) })
})

/** Waits until a renewal has an outcome. The list of pods is up to 10 seconds old. */
const awaitOutcome = (renewal: Effect.Effect<string>, expected: RegExp) =>
  renewal.pipe(
    Effect.flatMap((outcome) => expected.test(outcome) ? Effect.void : Effect.fail(outcome)),
    Effect.retry({ times: 300, schedule: Schedule.spaced("100 millis") })
  )

describe.runIf(isRunning("PostgreSQL", "the owners of @effect-mcp/cluster with Kubernetes"))("Kubernetes", () => {
  it.live(
    "a process whose pod is not ready loses its lease, until the pod is ready again",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const prefix = yield* newPrefix
        const { origin, unready } = yield* api
        const one = yield* opened("127.0.0.1", prefix, origin)
        const other = yield* opened("127.0.0.2", prefix, origin)
        yield* awaitOutcome(one, /^renewed$/)
        yield* awaitOutcome(other, /^renewed$/)
        unready.add("127.0.0.2")
        yield* awaitOutcome(other, /^Error: the runners of the cluster report 127\.0\.0\.2:\d+ as unhealthy$/)
        assert.strictEqual(yield* one, "renewed")
        unready.delete("127.0.0.2")
        yield* awaitOutcome(other, /^renewed$/)
        assert.strictEqual(yield* one, "renewed")
      })),
    90_000
  )
})

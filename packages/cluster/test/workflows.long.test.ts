/** Workflows as tools on Effect Cluster, in PostgreSQL. */
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, describe, it } from "@effect/vitest"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SqlMessageStorage from "effect/cluster/SqlMessageStorage"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { freePort } from "../../../scripts/freePort.ts"
import * as Booking from "../../server/test/support/booking.ts"
import { makeSharedStores, startMember } from "../../server/test/support/workflowFleet.ts"
import { clientAt } from "../../transport/test/support/fleet.ts"
import { connect } from "../../transport/test/support/httpClient.ts"
import { until } from "../../transport/test/support/process.ts"
import { newPrefix, postgres } from "./support/databases.ts"
import { isRunning } from "./support/services.ts"

/** Returns an engine of a cluster: one that runs workflows, or one that only waits for those of others. */
const engineAt = (prefix: string, port: number | undefined) => {
  const shardingConfig = {
    runnerAddress: port === undefined ? Option.none() : Option.some(RunnerAddress.make("127.0.0.1", port)),
    shardsPerGroup: 10,
    refreshAssignmentsInterval: "200 millis",
    entityMessagePollInterval: "500 millis",
    entityTerminationTimeout: 0
  } as const
  const socket = port === undefined
    ? NodeClusterSocket.layer({ storage: "byo", clientOnly: true, shardingConfig })
    : NodeClusterSocket.layer({ storage: "byo", shardingConfig })
  return ClusterWorkflowEngine.layer.pipe(
    Layer.provide(socket),
    Layer.provide(Layer.merge(SqlMessageStorage.layerWith({ prefix }), SqlRunnerStorage.layerWith({ prefix }))),
    Layer.provide(Layer.mergeAll(ShardingConfig.layer(shardingConfig), NodeCrypto.layerDigest, Layer.fresh(postgres)))
  )
}

/** Returns an engine that also has the implementation of the workflow. */
const runnerOf = (prefix: string, counts: Booking.Counts) =>
  Effect.map(freePort, (port) => Layer.provideMerge(Booking.live(counts), engineAt(prefix, port)))

describe.runIf(isRunning("PostgreSQL", "workflows as tools on Effect Cluster"))("a workflow on Effect Cluster", () => {
  it.live("goes on in the next process, where its open question is answered", () =>
    Effect.gen(function*() {
      const prefix = yield* newPrefix
      const stores = yield* makeSharedStores
      const counts = Booking.makeCounts()
      const first = yield* startMember(yield* runnerOf(prefix, counts), stores)
      const client = yield* connect(first, { capabilities: { elicitation: {} } })
      const booking = yield* client.call("c", "book", { city: "Paris" })
      yield* until(() => booking.messages.some(({ method }) => method === "elicitation/create"))
      const question = booking.messages.find(({ method }) => method === "elicitation/create")
      const second = yield* startMember(yield* runnerOf(prefix, counts), stores)
      yield* first.stop
      const again = clientAt(second, client)
      const rest = yield* again.get(booking.lastId)
      yield* again.respond(question?.id, { action: "accept", content: { seat: "4F" } })
      yield* rest.awaitEnd
      assert.deepStrictEqual(
        rest.messages.flatMap(({ result }) => result === undefined ? [] : [result["structuredContent"]]),
        [{ receipt: 1, seat: "4F" }]
      )
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped), 60_000)

  it.live(
    "that runs in another process asks its questions, and is interrupted with its call",
    () =>
      Effect.gen(function*() {
        const prefix = yield* newPrefix
        const counts = Booking.makeCounts()
        yield* Layer.build(Layer.fresh(yield* runnerOf(prefix, counts)))
        const server = yield* startMember(engineAt(prefix, undefined), yield* makeSharedStores, {
          pollInterval: "200 millis"
        })
        const client = yield* connect(server, { capabilities: { elicitation: {} } })
        const booking = yield* client.call("c", "book", { city: "Oslo" })
        const questions = () => booking.messages.filter(({ method }) => method === "elicitation/create")
        yield* until(() => questions().length === 3)
        for (const { id, params } of questions()) {
          yield* client.respond(id, { action: "accept", content: { seat: String(params?.["message"]).slice(-6, -1) } })
        }
        yield* booking.awaitEnd
        assert.deepStrictEqual(booking.messages.at(-1)?.result?.["structuredContent"], {
          receipt: 1,
          seat: "there, back, home"
        })
        yield* client.call("d", "book", { city: "Rome" })
        yield* until(() => counts.waiting === 1)
        yield* client.notify("notifications/cancelled", { requestId: "d" })
        yield* until(() => counts.refunded === 1)
      }).pipe(Effect.scoped),
    60_000
  )
})

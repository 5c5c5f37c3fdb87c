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
import * as SqlClient from "effect/sql/SqlClient"
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

/** Takes the messages of the cluster away, and returns the effect that brings them back. */
const loseMessages = (prefix: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const tables = yield* sql<{ readonly tablename: string }>`
      select tablename from pg_tables
      where schemaname = current_schema() and starts_with(tablename, ${prefix})
        and (tablename like '%messages' or tablename like '%replies')`
    assert.strictEqual(tables.length, 2)
    for (const { tablename } of tables) yield* sql`alter table ${sql(tablename)} rename to ${sql(`${tablename}_away`)}`
    return Effect.forEach(
      tables,
      ({ tablename }) => sql`alter table ${sql(`${tablename}_away`)} rename to ${sql(tablename)}`,
      { discard: true }
    )
  })

/** Waits until the one workflow of these tables is suspended. */
const untilSuspended = (prefix: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const suspended = sql<object>`select 1 from ${sql(`${prefix}_replies`)} where payload like '%"Suspended"%'`
    yield* Effect.repeat(Effect.delay(suspended, "50 millis"), { until: (rows) => rows.length > 0 })
  })

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

  it.live("gets an answer that its client gives while the database is away", () =>
    Effect.gen(function*() {
      const prefix = yield* newPrefix
      const counts = Booking.makeCounts()
      const server = yield* startMember(yield* runnerOf(prefix, counts), yield* makeSharedStores)
      const client = yield* connect(server, { capabilities: { elicitation: {} } })
      const booking = yield* client.call("c", "book", { city: "Paris" })
      const find = () => booking.messages.find(({ method }) => method === "elicitation/create")
      yield* until(() => find() !== undefined)
      // One that runs would end with a defect of the engine.
      yield* untilSuspended(prefix)
      const bringBack = yield* loseMessages(prefix)
      yield* client.respond(find()?.id, { action: "accept", content: { seat: "4F" } })
      yield* Effect.sleep("3 seconds")
      assert.isUndefined(booking.messages.find(({ id }) => id === "c"))
      yield* bringBack
      yield* booking.awaitEnd
      assert.deepStrictEqual(booking.messages.at(-1)?.result?.["structuredContent"], { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.provide(Layer.fresh(postgres)), Effect.scoped), 60_000)

  it.live("begins when the database is back", () =>
    Effect.gen(function*() {
      const prefix = yield* newPrefix
      const counts = Booking.makeCounts()
      const server = yield* startMember(yield* runnerOf(prefix, counts), yield* makeSharedStores)
      const client = yield* connect(server, { capabilities: { elicitation: {} } })
      const bringBack = yield* loseMessages(prefix)
      const booking = yield* client.call("c", "book", { city: "Paris" })
      yield* Effect.sleep("3 seconds")
      yield* bringBack
      const find = () => booking.messages.find(({ method }) => method === "elicitation/create")
      yield* until(() => find() !== undefined)
      yield* client.respond(find()?.id, { action: "accept", content: { seat: "4F" } })
      yield* booking.awaitEnd
      assert.deepStrictEqual(booking.messages.at(-1)?.result?.["structuredContent"], { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.provide(Layer.fresh(postgres)), Effect.scoped), 60_000)

  it.live(
    "with a shared execution keeps its question, also if a call in another process cannot ask it",
    () =>
      Effect.gen(function*() {
        const prefix = yield* newPrefix
        const stores = yield* makeSharedStores
        const counts = Booking.makeCounts()
        const options = { execution: "idempotencyKey", pollInterval: "200 millis" } as const
        const first = yield* startMember(yield* runnerOf(prefix, counts), stores, options)
        const second = yield* startMember(yield* runnerOf(prefix, counts), stores, options)
        const able = yield* connect(first, { capabilities: { elicitation: {} } })
        const booking = yield* able.call("c", "book", { city: "Paris" })
        const questions = () => booking.messages.filter(({ method }) => method === "elicitation/create")
        yield* until(() => questions().length === 1)
        const unable = yield* connect(second, { capabilities: {} })
        const failed = yield* unable.call("d", "book", { city: "Paris" })
        yield* failed.awaitEnd
        assert.isUndefined(failed.messages.at(-1)?.result?.["structuredContent"])
        yield* able.respond(questions()[0]?.id, { action: "accept", content: { seat: "4F" } })
        yield* booking.awaitEnd
        const booked = { receipt: 1, seat: "4F" }
        assert.deepStrictEqual(booking.messages.at(-1)?.result?.["structuredContent"], booked)
        const again = yield* unable.call("e", "book", { city: "Paris" })
        yield* again.awaitEnd
        assert.deepStrictEqual(again.messages.at(-1)?.result?.["structuredContent"], booked)
        assert.deepStrictEqual([questions().length, counts], [1, { charged: 1, refunded: 0, waiting: 0 }])
      }).pipe(Effect.scoped),
    60_000
  )

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

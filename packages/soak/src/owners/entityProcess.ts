/**
 * A runner of Effect Cluster with one entity, and an HTTP server in front of it. Prints `port PORT` when it listens.
 * Arguments: the URL of the database, and the port of the runner.
 *
 * - `GET /bare/ID` answers at once.
 * - `GET /plain/ID` sends a message to the mailbox of the entity, and answers with its reply.
 * - `GET /persisted/ID` does the same with a message that is stored first.
 * - `GET /local/ID` answers whether the entity is at this runner.
 */
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Entity from "effect/cluster/Entity"
import * as EntityId from "effect/cluster/EntityId"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as Sharding from "effect/cluster/Sharding"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Rpc from "effect/rpc/Rpc"
import * as Schema from "effect/Schema"
import * as http from "node:http"

const [, , url = "", port = ""] = process.argv

const Session = Entity.make("Session", [
  Rpc.make("Plain", { payload: { text: Schema.String }, success: Schema.String }),
  Rpc.make("Persisted", { payload: { text: Schema.String }, success: Schema.String })
    .annotate(ClusterSchema.Persisted, true)
])

const SessionLive = Session.toLayer({
  Plain: ({ payload }) => Effect.succeed(payload.text),
  Persisted: ({ payload }) => Effect.succeed(payload.text)
})

const cluster = NodeClusterSocket.layer({
  storage: "sql",
  shardingConfig: {
    runnerAddress: Option.some(RunnerAddress.make("127.0.0.1", Number(port))),
    shardsPerGroup: 60,
    shardLockExpiration: "6 seconds",
    shardLockRefreshInterval: "2 seconds",
    refreshAssignmentsInterval: "500 millis",
    runnerHealthCheckInterval: "1 second",
    // As with entities of a program: a local message is not written to JSON and read again.
    simulateRemoteSerialization: false
  }
}).pipe(Layer.provide(PgClient.layer({ url: Redacted.make(url) })))

const runtime = ManagedRuntime.make(Layer.provideMerge(SessionLive, cluster))
const clientOf = await runtime.runPromise(Session.client)
const sharding = await runtime.runPromise(Sharding.Sharding)
const text = "x".repeat(200)

const answerTo = (kind: string | undefined, id: string): Effect.Effect<string, unknown> => {
  switch (kind) {
    case "plain":
      return clientOf(id).Plain({ text })
    case "persisted":
      return clientOf(id).Persisted({ text })
    case "local":
      return Effect.sync(() => String(sharding.hasShardId(sharding.getShardId(EntityId.make(id), "default"))))
    default:
      return Effect.succeed(text)
  }
}

const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const [, kind, id = ""] = (request.url ?? "").split("/")
  runtime.runPromise(answerTo(kind, id)).then(
    (answer) => response.end(answer),
    (error: unknown) => response.writeHead(500).end(String(error))
  )
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (typeof address === "object" && address !== null) console.log(`port ${address.port}`)
})

process.once("SIGTERM", () => void runtime.dispose().then(() => process.exit()))

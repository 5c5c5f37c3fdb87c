/**
 * A process that owns sessions in PostgreSQL. Prints `port PORT` when it listens.
 *
 * Arguments: the URL of the database, the prefix of the tables, and with a cluster, the port at which the other runners
 * reach its runner, and the port that its runner listens on.
 *
 * - `GET /serve/ID` claims the session if it may, serves it if it owns it, and stores it. Answers `200` and the epoch,
 *   `409` if another process owns the session, `503` without a lease, and `410` if the write was superseded.
 * - `GET /history` answers what it has served and stored: a list of `Served`.
 */
import { McpStores } from "@effect-mcp/cluster"
import * as EffectCluster from "@effect-mcp/cluster/EffectCluster"
import * as NodeEffectCluster from "@effect-mcp/cluster/NodeEffectCluster"
import { SessionOwners, SessionStore } from "@effect-mcp/session"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as http from "node:http"
import type { Served } from "./Served.ts"

const [, , url = "", prefix = "", reached, listens] = process.argv

/** Microseconds of the clock that all processes of the machine share. */
const now = () => Number(process.hrtime.bigint() / 1000n)

const database = PgClient.layer({ url: Redacted.make(url), maxConnections: 5 })

const runner = NodeEffectCluster.layer({
  host: "127.0.0.1",
  port: Number(reached),
  prefix: `${prefix}cluster`,
  settings: { runnerListenAddress: Option.some(RunnerAddress.make("127.0.0.1", Number(listens))) }
})

const served: Array<Served> = []
const epochs = new Map<string, number>()

/** Claims a session unless another process owns it. Returns the epoch. */
const claim = Effect.fnUntraced(function*(id: string) {
  const owners = yield* SessionOwners.SessionOwners
  const location = yield* owners.locate(id)
  if (location._tag === "Owned" && location.process !== owners.process) return undefined
  const epoch = yield* owners.claim(id, location._tag === "Unknown" ? 0 : location.epoch)
  if (epoch === undefined) {
    owners.invalidate(id)
    return undefined
  }
  epochs.set(id, epoch)
  return epoch
})

const serve = Effect.fnUntraced(function*(id: string) {
  const owners = yield* SessionOwners.SessionOwners
  const sessions = yield* SessionStore.SessionStore
  const epoch = epochs.get(id) ?? (yield* claim(id))
  if (epoch === undefined) return { status: owners.isAlive() ? 409 : 503, text: "" }
  const at = now()
  if (!owners.isAlive()) return { status: 503, text: "" }
  const index = served.push({ process: process.pid, session: id, epoch, at, isStored: false }) - 1
  const session = { id, principal: undefined, handshakeMessages: [], openedAt: 0, usedAt: Date.now(), epoch }
  const stored = yield* Effect.result(epoch === 1 ? sessions.create(session) : sessions.save(session))
  if (stored._tag === "Success") {
    served[index] = { process: process.pid, session: id, epoch, at, isStored: true }
    return { status: 200, text: String(epoch) }
  }
  if (stored.failure._tag !== "SupersededError") return yield* Effect.fail(stored.failure)
  epochs.delete(id)
  return { status: 410, text: "" }
})

// A kept connection that closes at the moment of the next request would look like the end of the process.
const server = http.createServer({ keepAliveTimeout: 60_000 })
server.listen(0, "127.0.0.1")
await new Promise((resolve) => server.once("listening", resolve))
const bound = server.address()
const port = typeof bound === "object" && bound !== null ? bound.port : 0
const owners = { address: `http://127.0.0.1:${port}` }

const stores = reached === undefined
  ? McpStores.layerSql({ prefix, owners })
  : Layer.provide(McpStores.layerSql({ prefix, owners, membership: EffectCluster.membership }), runner)

const runtime = ManagedRuntime.make(Layer.provide(stores, database))

process.once("SIGTERM", () => void runtime.dispose().then(() => process.exit()))

await runtime.runPromise(Effect.gen(function*() {
  const { awaitLease, onLost } = yield* SessionOwners.SessionOwners
  yield* Effect.forkDetach(Effect.scoped(Effect.andThen(onLost((id) => epochs.delete(id)), Effect.never)))
  yield* awaitLease
}))

server.on("request", (request, response) => {
  const [, kind, id = ""] = (request.url ?? "").split("/")
  if (kind === "history") {
    response.end(JSON.stringify(served))
    return
  }
  runtime.runPromise(serve(id)).then(
    ({ status, text }) => response.writeHead(status).end(text),
    (error: unknown) => response.writeHead(500).end(String(error))
  )
})
console.log(`port ${port}`)

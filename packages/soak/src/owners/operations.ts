/** The cost of the operations of owners, beside the least query and a write of a session. */
import { McpStores } from "@effect-mcp/cluster"
import { SessionOwners, SessionStore } from "@effect-mcp/session"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { alternate, medianOf, type Samples } from "./Samples.ts"

/** Measures a process beside its database. Returns the median of each round, in milliseconds. */
export const measure = async (url: string, rounds: number, calls: number): Promise<ReadonlyMap<string, Samples>> => {
  const stores = McpStores.layerSql({ prefix: "operations_", owners: { address: "http://127.0.0.1:1" } })
  const runtime = ManagedRuntime.make(Layer.provideMerge(stores, PgClient.layer({ url: Redacted.make(url) })))
  try {
    const { owners, sessions, sql } = await runtime.runPromise(Effect.gen(function*() {
      const owners = yield* SessionOwners.SessionOwners
      yield* owners.awaitLease
      return { owners, sessions: yield* SessionStore.SessionStore, sql: yield* SqlClient.SqlClient }
    }))
    const session = { id: "s", principal: "ada", handshakeMessages: [], openedAt: 0, usedAt: Date.now() }
    let epoch = await runtime.runPromise(owners.claim("s", 0)) ?? 0
    await runtime.runPromise(sessions.create({ ...session, epoch }))
    let number = 0
    const contender = (name: string, call: () => Effect.Effect<unknown, unknown>) => ({
      name,
      once: async () => {
        const millis: Array<number> = []
        for (let index = 0; index < calls; index++) {
          const start = performance.now()
          await runtime.runPromise(call())
          millis.push(performance.now() - start)
        }
        return medianOf(millis)
      }
    })
    const contenders = [
      contender("select 1", () => sql`select 1`),
      contender("locate", () => {
        owners.invalidate("s")
        return owners.locate("s")
      }),
      contender("claim of a new session", () => owners.claim(`new-${number++}`, 0)),
      contender("claim of a session again", () =>
        Effect.map(owners.claim("s", epoch), (next) => {
          epoch = next ?? epoch
        })),
      contender("save of a session", () => sessions.save({ ...session, usedAt: Date.now(), epoch }))
    ]
    for (const { once } of contenders) await once()
    return await alternate(contenders, rounds)
  } finally {
    await runtime.dispose()
  }
}

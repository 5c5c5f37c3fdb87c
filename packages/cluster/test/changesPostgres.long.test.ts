/** The channel of changes in PostgreSQL. */
import { ChangeBus } from "@effect-mcp/session"
import { ChangeBusSuite } from "@effect-mcp/testing/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as SqlClient from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import * as ChangesPostgres from "../src/internal/bus/ChangesPostgres.ts"
import * as ChangesSql from "../src/internal/bus/ChangesSql.ts"
import * as Database from "../src/internal/sql/Database.ts"
import { areSeen, gapsOf, survivesSilence, until } from "./support/changes.ts"
import { postgres } from "./support/databases.ts"
import { isRunning } from "./support/services.ts"
import * as SilentProxy from "./support/silentProxy.ts"

const isPostgresRunning = isRunning("PostgreSQL", "the changes of @effect-mcp/cluster in PostgreSQL")

/** Makes a bus with a client of its own, as a process does. */
const open = Effect.fnUntraced(function*(
  prefix: string,
  client: Layer.Layer<SqlClient.SqlClient> = postgres,
  probeInterval?: Duration.Input
) {
  const context = yield* Layer.build(Layer.fresh(client))
  return yield* Effect.gen(function*() {
    const connection = yield* ChangesSql.connection(yield* Database.open(prefix))
    return yield* ChangeBus.make({ ...connection, ...(probeInterval === undefined ? undefined : { probeInterval }) })
  }).pipe(Effect.provide(context))
})

const channel = Effect.gen(function*() {
  const prefix = `t${randomBytes(6).toString("hex")}_`
  const sql = Context.get(yield* Layer.build(Layer.fresh(postgres)), SqlClient.SqlClient)
  const interrupt =
    sql`select pg_terminate_backend(pid) from pg_stat_activity where query = ${`LISTEN "${prefix}changes"`}`
  return { bus: open(prefix), interrupt: Effect.asVoid(interrupt), sql, prefix }
})

describe.runIf(isPostgresRunning)("changes in PostgreSQL", () => {
  ChangeBusSuite.suite("PostgreSQL", channel)

  it.live("changes are seen by another process", () =>
    Effect.flatMap(channel, ({ bus }) => areSeen("PostgreSQL", bus, 50, 70)).pipe(Effect.scoped))

  it.live("a message that no bus has written is a gap", () =>
    Effect.gen(function*() {
      const { bus, prefix, sql } = yield* channel
      const heard = yield* gapsOf(yield* bus, "s")
      yield* sql`select pg_notify(${`${prefix}changes`}, 'vacuum')`
      yield* until(() => heard.gaps === 1)
    }).pipe(Effect.scoped))

  it.live("a connection that falls silent, and stays open, is a gap", () =>
    Effect.gen(function*() {
      const { bus, prefix } = yield* channel
      const proxy = yield* SilentProxy.make(5432)
      const client = Layer.orDie(PgClient.layer({
        host: "127.0.0.1",
        port: proxy.port,
        username: "postgres",
        database: "test",
        maxConnections: 3
      }))
      const silenced = yield* open(prefix, client, "200 millis")
      const other = yield* bus
      yield* survivesSilence(proxy.silence, silenced, (key) => other.publish({ scope: "s", kind: "k", key }))
    }).pipe(Effect.scoped), 20_000)

  it.live("a listener holds one connection, also of a client that does not reserve one for it", () =>
    Effect.gen(function*() {
      const { prefix } = yield* channel
      const layer = PgClient.layer({
        host: "127.0.0.1",
        port: 5432,
        username: "postgres",
        database: "test",
        maxConnections: 2
      })
      const sql = Context.get(yield* Layer.build(Layer.orDie(layer)), SqlClient.SqlClient)
      const client = ChangesPostgres.clientOf(sql)
      assert.isDefined(client)
      const { receive } = ChangesPostgres.connection({
        config: client.config,
        reserve: Effect.as(client.reserve, {}),
        listen: (name) => client.listen(name),
        notify: (name, payload) => client.notify(name, payload)
      }, `${prefix}changes`)
      const opened = yield* Deferred.make<void>()
      yield* Effect.forkScoped(receive({
        onMessage: () => {},
        onGap: () => {},
        onOpen: () => void Deferred.doneUnsafe(opened, Exit.void)
      }))
      yield* Deferred.await(opened)
      const exit = yield* Effect.exit(Effect.timeout(sql`select 1`, "2 seconds"))
      assert.isTrue(Exit.isSuccess(exit))
    }).pipe(Effect.scoped))

  it.live("a client with one connection works without changes, and the log tells the reason", () => {
    const logs: Array<string> = []
    const logger = Logger.layer([
      Logger.make(({ cause, message }) => {
        logs.push(`${String(message)} ${Cause.pretty(cause)}`)
      })
    ])
    return Effect.gen(function*() {
      const client = PgClient.layer({
        host: "127.0.0.1",
        port: 5432,
        username: "postgres",
        database: "test",
        maxConnections: 1
      })
      const { prefix } = yield* channel
      const context = yield* Layer.build(Layer.orDie(client))
      const making = yield* Effect.forkScoped(
        Effect.gen(function*() {
          return yield* ChangeBus.make(yield* ChangesSql.connection(yield* Database.open(prefix)))
        }).pipe(Effect.provide(context))
      )
      yield* until(() => logs.length > 0)
      assert.include(logs[0], "maxConnections")
      const exit = yield* Effect.exit(Effect.timeout(Context.get(context, SqlClient.SqlClient)`select 1`, "2 seconds"))
      assert.isTrue(Exit.isSuccess(exit))
      making.interruptUnsafe()
    }).pipe(Effect.scoped, Effect.provide(logger))
  })
})

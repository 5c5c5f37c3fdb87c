/**
 * A token store in an SQL database. An entry point of its own, because the SQL modules of Effect are unstable.
 *
 * @stability unstable
 */
import { webCrypto } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as KeyText from "./internal/keys/KeyText.ts"
import * as Lease from "./internal/keys/Lease.ts"
import { type Key, TokenStore, TokenStoreError } from "./TokenStore.ts"

/**
 * Options of {@link make} and {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** Begins the names of the tables: letters, digits and `_`. Default: `mcp_`. */
  readonly prefix?: string
  /** Whether the tables are created if they do not exist. Default: `true`. */
  readonly createTables?: boolean
}

type Operation = TokenStoreError["operation"]

const failure = (operation: Operation, reason: TokenStoreError["reason"]) => new TokenStoreError({ operation, reason })

/** The error of a statement has its text, and no parameter. */
const contained = <A>(operation: Operation, effect: Effect.Effect<A, SqlError.SqlError>) =>
  Effect.mapError(effect, (cause) => failure(operation, { _tag: "Unavailable", cause }))

const unusable = (problem: string): Effect.Effect<never, TokenStoreError> =>
  Effect.fail(failure("open", { _tag: "Unavailable", cause: new Error(problem) }))

/** Returns the differences between the dialects. */
const dialectOf = (sql: SqlClient.SqlClient) =>
  sql.onDialectOrElse({
    // A transaction of SQLite that first reads and then writes fails if another process has written in between.
    sqlite: () => ({ isPg: false, begin: "begin immediate" }),
    pg: () => ({ isPg: true, begin: undefined }),
    orElse: () => undefined
  })

/** Returns the key of a row. */
const keyIn = (text: string): Effect.Effect<Key, TokenStoreError> => {
  const key = KeyText.keyOf(text)
  return key === undefined
    ? Effect.fail(failure("keys", { _tag: "Corrupt", problem: "the column id is no key" }))
    : Effect.succeed(key)
}

/**
 * Makes a store in the database of the `SqlClient`: SQLite, or PostgreSQL. Several processes can share it: every
 * comparison is part of the statement that writes. The store has two tables; `mcp_` is the prefix:
 *
 * - `mcp_tokens` has a row for each entry: `id`, `version` and `text`.
 * - `mcp_token_leases` has a row for each lease: `id`, `owner`, `acquired_at` and `expires_at`.
 *
 * PostgreSQL limits its indexes: keys of more than 2,500 bytes are errors.
 *
 * The texts are not encrypted; see `EncryptedTokenStore`. Operations within a transaction of the same client are part
 * of it, and are rolled back with it. Give the store a client of its own if handlers use transactions.
 *
 * @example
 * ```ts
 * import * as TokenStoreSql from "@effect-mcp/auth/TokenStoreSql"
 * import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
 * import * as Effect from "effect/Effect"
 *
 * export const keys = Effect.gen(function*() {
 *   const store = yield* TokenStoreSql.make()
 *   return yield* store.keys
 * }).pipe(Effect.scoped, Effect.provide(NodeSqlite.layer({ filename: ":memory:" }))) // => []
 * ```
 *
 * @category constructors
 */
export const make = (
  { createTables = true, prefix = "mcp_" }: Options = {}
): Effect.Effect<TokenStore["Service"], TokenStoreError, SqlClient.SqlClient> =>
  Effect.gen(function*(): Effect.fn.Return<TokenStore["Service"], TokenStoreError, SqlClient.SqlClient> {
    if (!/^\w*$/.test(prefix)) {
      return yield* unusable(`prefix ${JSON.stringify(prefix)} has other characters than letters, digits and _`)
    }
    // The columns of the tables have the names in this file, also for a client that transforms names.
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const dialect = dialectOf(sql)
    if (dialect === undefined) return yield* unusable(`driver "${sql.driver}" is for neither SQLite nor PostgreSQL`)
    const tokens = sql(`${prefix}tokens`)
    const leases = sql(`${prefix}token_leases`)
    const createAll = Effect.gen(function*() {
      // Without the lock, two processes of PostgreSQL that create the same table at the same time fail.
      if (dialect.isPg) yield* sql`select pg_advisory_xact_lock(hashtext(${`${prefix}tokens`}))`
      yield* sql`create table if not exists ${tokens} (id text primary key, version text not null, text text not null)`
      yield* sql`create table if not exists ${leases} (
        id text primary key,
        owner text not null,
        acquired_at double precision not null,
        expires_at double precision not null
      )`
    })
    if (createTables) {
      const transaction = sql.withTransaction(createAll)
      yield* contained(
        "open",
        dialect.begin === undefined
          ? transaction
          : Effect.provideService(transaction, SqlClient.BeginTransaction, dialect.begin)
      )
    }

    const rowOf = (operation: Operation, key: Key) =>
      Effect.map(
        contained(
          operation,
          sql<{ readonly version: string; readonly text: string }>`
            select version, text from ${tokens} where id = ${KeyText.of(key)}
          `
        ),
        ([row]) => row
      )

    return {
      read: (key) =>
        Effect.map(rowOf("read", key), (row) => row && { text: Redacted.make(row.text), version: row.version }),
      write: (key, text, expected) =>
        Effect.suspend(() => {
          const row = { id: KeyText.of(key), version: webCrypto.randomUUID(), text: Redacted.value(text) }
          const written = expected === undefined
            ? sql`insert into ${tokens} ${sql.insert(row)} on conflict (id) do nothing returning version`
            : sql`
              update ${tokens} set version = ${row.version}, text = ${row.text}
              where id = ${row.id} and version = ${expected} returning version
            `
          return Effect.flatMap(
            contained("write", written),
            ({ length }) =>
              length === 1 ? Effect.succeed(row.version) : Effect.fail(failure("write", { _tag: "Conflict" }))
          )
        }),
      remove: (key, expected) =>
        Effect.gen(function*() {
          const removed = yield* contained(
            "remove",
            sql`delete from ${tokens} where id = ${KeyText.of(key)} and version = ${expected} returning version`
          )
          if (removed.length === 0 && (yield* rowOf("remove", key)) !== undefined) {
            return yield* Effect.fail(failure("remove", { _tag: "Conflict" }))
          }
        }),
      keys: Effect.flatMap(
        contained("keys", sql<{ readonly id: string }>`select id from ${tokens} order by id`),
        Effect.forEach(({ id }) => keyIn(id))
      ),
      acquire: (key, owner, millis) =>
        Effect.gen(function*() {
          const now = yield* Clock.currentTimeMillis
          const { acquiredAt, expiresAt } = Lease.of(owner, now, millis)
          const row = { id: KeyText.of(key), owner, acquired_at: acquiredAt, expires_at: expiresAt }
          const rows = yield* contained(
            "acquire",
            sql`
              insert into ${leases} ${sql.insert(row)}
              on conflict (id) do update set owner = ${owner}, acquired_at = ${acquiredAt}, expires_at = ${expiresAt}
              where ${leases}.owner = ${owner} or ${leases}.expires_at <= ${now}
                or ${leases}.acquired_at > ${now + Lease.maxSkew}
              returning owner
            `
          )
          return rows.length === 1
        }),
      release: (key, owner) =>
        Effect.asVoid(
          contained("release", sql`delete from ${leases} where id = ${KeyText.of(key)} and owner = ${owner}`)
        )
    }
  })

/**
 * Provides a store in the database of the `SqlClient`; see {@link make}.
 *
 * @example
 * ```ts
 * import { EncryptedTokenStore } from "@effect-mcp/auth"
 * import * as TokenStoreSql from "@effect-mcp/auth/TokenStoreSql"
 * import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * export const tokens = (key: Uint8Array) =>
 *   EncryptedTokenStore.layer({ key: Redacted.make(key) }).pipe(
 *     Layer.provide(TokenStoreSql.layer()),
 *     Layer.provide(NodeSqlite.layer({ filename: "tokens.db" }))
 *   )
 * ```
 *
 * @category layers
 */
export const layer = (
  options: Options = {}
): Layer.Layer<TokenStore, TokenStoreError, SqlClient.SqlClient> => Layer.effect(TokenStore, make(options))

/** Tables of tokens: their names, their texts, and what is recorded of a statement. */
import { EncryptedTokenStore } from "@effect-mcp/auth"
import * as TokenStoreSql from "@effect-mcp/auth/TokenStoreSql"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import * as Tracer from "effect/Tracer"
import { encryption, key } from "./support/tokenStores.ts"

const memory = Layer.build(NodeSqlite.layer({ filename: ":memory:" }))

describe("token stores in SQL", () => {
  it.live("the tables have the prefix, and a prefix with other characters is rejected", () =>
    Effect.gen(function*() {
      const context = yield* memory
      yield* Effect.provide(TokenStoreSql.make({ prefix: "App_" }), context)
      const sql = Context.get(context, SqlClient.SqlClient)
      const tables = yield* sql<{ readonly name: string }>`select name from sqlite_master where type = 'table'`
      assert.deepStrictEqual(tables.map(({ name }) => name).toSorted(), ["App_token_leases", "App_tokens"])
      const error = yield* Effect.flip(Effect.provide(TokenStoreSql.make({ prefix: "a;b" }), context))
      assert.strictEqual(error.operation, "open")
    }))

  it.live("tables that are missing are an error", () =>
    Effect.gen(function*() {
      const store = yield* Effect.provide(TokenStoreSql.make({ createTables: false }), yield* memory)
      assert.strictEqual((yield* Effect.flip(store.read(key))).reason._tag, "Unavailable")
    }))

  it.live("a row whose id is no key is an error of the list of keys", () =>
    Effect.gen(function*() {
      const context = yield* memory
      const store = yield* Effect.provide(TokenStoreSql.make(), context)
      const sql = Context.get(context, SqlClient.SqlClient)
      yield* sql`insert into mcp_tokens (id, version, text) values ('["Other","a"]', '1', '{}')`
      assert.strictEqual((yield* Effect.flip(store.keys)).reason._tag, "Corrupt")
    }))

  it.live("[AUT-35] no span has a text, and the table has it only without encryption", () =>
    Effect.gen(function*() {
      const context = yield* memory
      const plain = yield* Effect.provide(TokenStoreSql.make(), context)
      const recorded: Array<unknown> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          recorded.push(span)
          return span
        }
      })
      yield* Effect.withTracer(
        Effect.gen(function*() {
          const version = yield* plain.write(key, Redacted.make("the secret"), undefined)
          yield* plain.write(key, Redacted.make("the secret"), version)
          yield* plain.read(key)
        }),
        tracer
      )
      const shown = recorded.flatMap((span) =>
        span instanceof Tracer.NativeSpan ? [span.name, ...span.attributes.values()] : []
      )
      assert.isNotEmpty(shown)
      assert.notInclude(JSON.stringify(shown), "the secret")
      const encrypted = EncryptedTokenStore.make(plain, encryption)
      yield* encrypted.write({ ...key, account: "bob" }, Redacted.make("another secret"), undefined)
      const rows = JSON.stringify(yield* Context.get(context, SqlClient.SqlClient)`select * from mcp_tokens`)
      assert.include(rows, "the secret")
      assert.notInclude(rows, "another secret")
    }))
})

/** Token stores of every kind, in places that end with their scope. */
import type { TokenStore } from "@effect-mcp/auth"
import * as EncryptedTokenStore from "@effect-mcp/auth/EncryptedTokenStore"
import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

type Store = TokenStore.TokenStore["Service"]

/** The key of an entry. */
export const key = {
  _tag: "Tokens",
  issuer: "https://as.example",
  resource: "https://notes.example/mcp",
  client: "client",
  account: "ada"
} as const satisfies TokenStore.Key

/** A key of encryption. */
export const encryption: EncryptedTokenStore.Options = { key: Redacted.make(new Uint8Array(32).fill(7)) }

/** Returns a new folder, which is deleted with the scope. */
export const newFolder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-auth-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

/** Returns the path of a directory in a new folder. It does not exist yet. */
export const newDirectory = Effect.map(newFolder, (folder) => path.join(folder, "tokens"))

/** Makes a store in a directory. */
export const filesIn = (directory: string): Store => NodeTokenStore.make({ directory, encryption })

/** Makes an encrypted store in a file of SQLite, with a connection of its own. */
export const sqliteIn = (filename: string) =>
  Effect.gen(function*() {
    // A process that uses files starts faster without SQL.
    const NodeSqlite = yield* Effect.promise(() => import("@effect-mcp/tasks/NodeSqlite"))
    const TokenStoreSql = yield* Effect.promise(() => import("@effect-mcp/auth/TokenStoreSql"))
    const context = yield* Layer.build(NodeSqlite.layer({ filename }))
    return EncryptedTokenStore.make(yield* Effect.provide(TokenStoreSql.make(), context), encryption)
  })

/** Returns a store whose operations run over these stores by turns. */
export const byTurns = (first: Store, ...others: ReadonlyArray<Store>): Store => {
  const stores = [first, ...others]
  let turn = 0
  const store = () => stores[turn++ % stores.length] ?? first
  return {
    read: (key) => store().read(key),
    write: (key, text, expected) => store().write(key, text, expected),
    remove: (key, expected) => store().remove(key, expected),
    keys: Effect.suspend(() => store().keys),
    acquire: (key, owner, millis) => store().acquire(key, owner, millis),
    release: (key, owner) => store().release(key, owner)
  }
}

/** Makes a store of a kind at a place. */
export const storeAt = (kind: string, place: string) =>
  kind === "files" ? Effect.succeed(filesIn(place)) : sqliteIn(place)

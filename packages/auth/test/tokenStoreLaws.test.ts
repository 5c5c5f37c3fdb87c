/** The laws of token stores, with each adapter. Two stores in one place take turns, as in two processes. */
import { EncryptedTokenStore, TokenStore } from "@effect-mcp/auth"
import * as TokenStoreKeyValue from "@effect-mcp/auth/TokenStoreKeyValue"
import { TokenStoreSuite } from "@effect-mcp/testing/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as path from "node:path"
import { byTurns, encryption, filesIn, newDirectory, newFolder, sqliteIn } from "./support/tokenStores.ts"

TokenStoreSuite.suite("memory", TokenStore.makeMemory())

TokenStoreSuite.suite(
  "memory, whose keys list their members in another order",
  Effect.map(TokenStore.makeMemory(), (store) => ({
    ...store,
    keys: Effect.map(store.keys, (keys) =>
      keys.map((key): TokenStore.Key =>
        key._tag === "Registration"
          ? { account: key.account, issuer: key.issuer, _tag: key._tag }
          : { account: key.account, client: key.client, resource: key.resource, issuer: key.issuer, _tag: key._tag }
      ))
  })),
  { runs: 5 }
)

TokenStoreSuite.suite(
  "memory, encrypted",
  Effect.map(TokenStore.makeMemory(), (store) => EncryptedTokenStore.make(store, encryption)),
  { runs: 30 }
)

TokenStoreSuite.suite(
  "KeyValueStore in memory",
  Effect.provide(TokenStoreKeyValue.make, KeyValueStore.layerMemory),
  { runs: 30 }
)

TokenStoreSuite.suite(
  "KeyValueStore in files",
  Effect.flatMap(newFolder, (folder) =>
    Effect.flatMap(
      Layer.build(
        KeyValueStore.layerFileSystem(folder).pipe(Layer.provide([NodeFileSystem.layer, NodePath.layer]))
      ),
      (context) => Effect.provide(TokenStoreKeyValue.make, context)
    )),
  { runs: 5 }
)

TokenStoreSuite.suite(
  "files, two stores in one directory",
  Effect.map(newDirectory, (directory) => byTurns(filesIn(directory), filesIn(directory))),
  { runs: 5 }
)

TokenStoreSuite.suite(
  "SQLite, two connections to one file",
  Effect.gen(function*() {
    const file = path.join(yield* newFolder, "tokens.db")
    return byTurns(yield* sqliteIn(file), yield* sqliteIn(file))
  }),
  { runs: 10 }
)

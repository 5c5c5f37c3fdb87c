/**
 * A token store over `effect/persistence/KeyValueStore`: the storage of a browser, a cloud service, or a folder.
 *
 * @stability unstable
 */
import { webCrypto } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import * as Lease from "./internal/keys/Lease.ts"
import * as EntryRecord from "./internal/store/EntryRecord.ts"
import * as KeyDigest from "./internal/store/KeyDigest.ts"
import * as LeaseRecord from "./internal/store/LeaseRecord.ts"
import { type Key, TokenStore, TokenStoreError } from "./TokenStore.ts"

type Operation = TokenStoreError["operation"]

const entryPrefix = "mcp-token-"

const failure = (operation: Operation, reason: TokenStoreError["reason"]) => new TokenStoreError({ operation, reason })

const contained = <A>(operation: Operation, effect: Effect.Effect<A, KeyValueStore.KeyValueStoreError>) =>
  Effect.mapError(effect, (cause) => failure(operation, { _tag: "Unavailable", cause }))

const digestOf = (key: Key): Effect.Effect<string> => Effect.promise(() => KeyDigest.of(key))

/**
 * Makes a store over a `KeyValueStore`, which has no operation that compares and sets. **One process at a time may use
 * it**: of two processes, both may have the lease and refresh the same tokens, and the later write replaces the earlier
 * one. Use `TokenStoreSql` or `NodeTokenStore` for several processes. Two stores in one process count as two processes.
 *
 * The texts are not encrypted; see `EncryptedTokenStore`. A value that cannot be read fails with `Corrupt` or `Newer`,
 * and nothing overwrites it. Keys of the values begin with `mcp-token-` and `mcp-token-lease-`.
 *
 * @example
 * ```ts
 * import * as TokenStoreKeyValue from "@effect-mcp/auth/TokenStoreKeyValue"
 * import * as Effect from "effect/Effect"
 * import * as KeyValueStore from "effect/persistence/KeyValueStore"
 *
 * export const keys = Effect.flatMap(TokenStoreKeyValue.make, ({ keys }) => keys).pipe(
 *   Effect.provide(KeyValueStore.layerMemory)
 * ) // => []
 * ```
 *
 * @category constructors
 */
export const make: Effect.Effect<TokenStore["Service"], never, KeyValueStore.KeyValueStore> = Effect.map(
  KeyValueStore.KeyValueStore,
  (values) => {
    const one = Semaphore.makeUnsafe(1).withPermits(1)
    // A file whose write is interrupted is lost.
    const changing = <A, E>(effect: Effect.Effect<A, E>) => Effect.uninterruptible(one(effect))

    const nameOf = (key: Key) => Effect.map(digestOf(key), (digest) => `${entryPrefix}${digest}`)

    /** Returns the record of a value. One that was copied from the value of another key is damaged. */
    const recordOf = (operation: Operation, name: string) =>
      Effect.gen(function*() {
        const text = yield* contained(operation, values.get(name))
        if (text === undefined) return undefined
        const decoded = EntryRecord.decode(text, `the value ${name}`)
        const record = yield* Effect.mapError(Effect.fromResult(decoded), (reason) => failure(operation, reason))
        if ((yield* nameOf(record.key)) === name) return record
        const problem = `the value ${name} is that of another key`
        return yield* Effect.fail(failure(operation, { _tag: "Corrupt", problem }))
      })

    const leaseOf = (operation: Operation, key: Key) =>
      Effect.flatMap(digestOf(key), (digest) => {
        const name = `${entryPrefix}lease-${digest}`
        return Effect.map(contained(operation, values.get(name)), (text) => ({ name, lease: LeaseRecord.decode(text) }))
      })

    return {
      read: (key) =>
        Effect.map(
          Effect.flatMap(nameOf(key), (name) => recordOf("read", name)),
          (record) => record?.text === undefined ? undefined : { text: record.text, version: record.version }
        ),
      write: (key, text, expected) =>
        changing(Effect.gen(function*() {
          const name = yield* nameOf(key)
          if ((yield* recordOf("write", name))?.version !== expected) {
            return yield* Effect.fail(failure("write", { _tag: "Conflict" }))
          }
          const version = webCrypto.randomUUID()
          yield* contained("write", values.set(name, EntryRecord.encode({ key, text, version })))
          return version
        })),
      remove: (key, expected) =>
        changing(Effect.gen(function*() {
          const name = yield* nameOf(key)
          const version = (yield* recordOf("remove", name))?.version
          if (version === undefined) return
          if (version !== expected) return yield* Effect.fail(failure("remove", { _tag: "Conflict" }))
          yield* contained("remove", values.remove(name))
        })),
      keys: Effect.gen(function*() {
        const names = (yield* contained("keys", values.keys)).filter((name) => /^mcp-token-[\da-f]{64}$/.test(name))
        const records = yield* Effect.forEach(names, (name) => Effect.result(recordOf("keys", name)))
        const keys: Array<Key> = []
        for (const record of records) {
          if (Result.isSuccess(record)) { if (record.success !== undefined) keys.push(record.success.key) }
          // One that cannot be read has no key.
          else if (record.failure.reason._tag === "Unavailable") return yield* Effect.fail(record.failure)
        }
        return keys
      }),
      acquire: (key, owner, millis) =>
        changing(Effect.gen(function*() {
          const { lease, name } = yield* leaseOf("acquire", key)
          const now = yield* Clock.currentTimeMillis
          if (Lease.isHeldByOther(lease, owner, now)) return false
          yield* contained("acquire", values.set(name, LeaseRecord.encode(Lease.of(owner, now, millis))))
          return true
        })),
      release: (key, owner) =>
        changing(
          Effect.flatMap(leaseOf("release", key), ({ lease, name }) =>
            lease?.owner === owner ? contained("release", values.remove(name)) : Effect.void)
        )
    }
  }
)

/**
 * Provides a store over a `KeyValueStore`; see {@link make}.
 *
 * @example
 * ```ts
 * import * as TokenStoreKeyValue from "@effect-mcp/auth/TokenStoreKeyValue"
 * import * as Layer from "effect/Layer"
 * import * as KeyValueStore from "effect/persistence/KeyValueStore"
 *
 * // Keeps the tokens in the local storage of a browser.
 * export const tokens = (storage: Storage) =>
 *   Layer.provide(TokenStoreKeyValue.layer, KeyValueStore.layerStorage(() => storage))
 * ```
 *
 * @category layers
 */
export const layer: Layer.Layer<TokenStore, never, KeyValueStore.KeyValueStore> = Layer.effect(TokenStore, make)

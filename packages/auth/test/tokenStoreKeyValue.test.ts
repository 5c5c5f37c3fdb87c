/** The limits of a `KeyValueStore` among processes, and values that cannot be read. */
import { EncryptedTokenStore, TokenStore } from "@effect-mcp/auth"
import * as TokenStoreKeyValue from "@effect-mcp/auth/TokenStoreKeyValue"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { encryption, key } from "./support/tokenStores.ts"

/** Returns a store of values whose operations take a turn of the event loop. */
const slowValues = Effect.map(Layer.build(KeyValueStore.layerMemory), (context) => {
  const values = Context.get(context, KeyValueStore.KeyValueStore)
  const slow = KeyValueStore.makeStringOnly({
    get: (key) => Effect.andThen(Effect.sleep(1), values.get(key)),
    set: (key, value) => Effect.andThen(Effect.sleep(1), values.set(key, value)),
    remove: (key) => values.remove(key),
    clear: values.clear,
    clearPrefix: (prefix) => values.clearPrefix(prefix),
    size: values.size,
    keys: values.keys
  })
  return { values: slow, make: Effect.provideService(TokenStoreKeyValue.make, KeyValueStore.KeyValueStore, slow) }
})

const tagOf = <A>(operation: Effect.Effect<A, TokenStore.TokenStoreError>) =>
  Effect.map(
    Effect.result(operation),
    (result) => Result.isSuccess(result) ? "Done" : result.failure.reason._tag
  )

const atOnce = { concurrency: "unbounded" } as const

describe("a token store over a KeyValueStore", () => {
  it.live("one store gives the lease to one owner, and two stores, as in two processes, can give it to two", () =>
    Effect.gen(function*() {
      const { make } = yield* slowValues
      const one = yield* make
      const other = yield* make
      const owners = (stores: ReadonlyArray<TokenStore.TokenStore["Service"]>) =>
        Effect.forEach(stores, (store, index) => store.acquire(key, `owner ${index}`, 60_000), atOnce)
      assert.deepStrictEqual((yield* owners([one, one])).toSorted(), [false, true])
      for (const owner of ["owner 0", "owner 1"]) yield* one.release(key, owner)
      assert.deepStrictEqual(yield* owners([one, other]), [true, true])
    }))

  it.live("one store replaces a version once, and of two stores, as in two processes, the later write stays", () =>
    Effect.gen(function*() {
      const { make } = yield* slowValues
      const one = yield* make
      const other = yield* make
      const writes = (stores: ReadonlyArray<TokenStore.TokenStore["Service"]>, expected: string | undefined) =>
        Effect.forEach(stores, (store, index) => tagOf(store.write(key, Redacted.make(`${index}`), expected)), atOnce)
      assert.deepStrictEqual((yield* writes([one, one], undefined)).toSorted(), ["Conflict", "Done"])
      const entry = yield* one.read(key)
      assert.deepStrictEqual(yield* writes([one, other], entry?.version), ["Done", "Done"])
    }))

  it.live("[AUT-35] its values have the texts only without encryption", () =>
    Effect.gen(function*() {
      const { make, values } = yield* slowValues
      const store = yield* make
      yield* store.write(key, Redacted.make("the secret"), undefined)
      yield* EncryptedTokenStore.make(store, encryption).write(
        { ...key, account: "bob" },
        Redacted.make("another secret"),
        undefined
      )
      const names = yield* values.keys
      const all = (yield* Effect.forEach(names, (name) => values.get(name))).join("\n")
      assert.include(all, "the secret")
      assert.notInclude(all, "another secret")
    }))

  it.live("a value that is damaged, newer, or of another key is an error, and nothing overwrites it", () =>
    Effect.gen(function*() {
      const { make, values } = yield* slowValues
      const store = yield* make
      const version = yield* store.write(key, Redacted.make("{}"), undefined)
      const [name = ""] = yield* values.keys
      const text = (yield* values.get(name)) ?? ""
      const damages = [
        ["Corrupt", ""],
        ["Corrupt", text.slice(0, -1)],
        ["Corrupt", text.replace("notes.example", "other.example")],
        ["Newer", text.replace("\"format\":1", "\"format\":2")]
      ] as const
      for (const [tag, damage] of damages) {
        yield* values.set(name, damage)
        const operations: ReadonlyArray<Effect.Effect<unknown, TokenStore.TokenStoreError>> = [
          store.read(key),
          store.write(key, Redacted.make("new"), version),
          store.write(key, Redacted.make("new"), undefined),
          store.remove(key, version)
        ]
        for (const operation of operations) assert.strictEqual(yield* tagOf(operation), tag, damage)
        assert.strictEqual(yield* values.get(name), damage)
        // It does not keep the program from other values.
        const other = { ...key, account: "bob" }
        const written = yield* store.write(other, Redacted.make("{}"), undefined)
        assert.deepStrictEqual(yield* store.keys, [other])
        yield* store.remove(other, written)
      }
    }))

  it.live("with encryption, it may be a store whose operations are methods of a class", () =>
    Effect.gen(function*() {
      class Methods {
        readonly memory: TokenStore.TokenStore["Service"]
        constructor(memory: TokenStore.TokenStore["Service"]) {
          this.memory = memory
        }
        get keys() {
          return this.memory.keys
        }
        read(key: TokenStore.Key) {
          return this.memory.read(key)
        }
        write(...parameters: Parameters<TokenStore.TokenStore["Service"]["write"]>) {
          return this.memory.write(...parameters)
        }
        remove(key: TokenStore.Key, expected: string) {
          return this.memory.remove(key, expected)
        }
        acquire(...parameters: Parameters<TokenStore.TokenStore["Service"]["acquire"]>) {
          return this.memory.acquire(...parameters)
        }
        release(key: TokenStore.Key, owner: string) {
          return this.memory.release(key, owner)
        }
      }
      const memory = yield* TokenStore.makeMemory()
      const store = EncryptedTokenStore.make(new Methods(memory), encryption)
      const version = yield* store.write(key, Redacted.make("{}"), undefined)
      assert.isTrue(yield* store.acquire(key, "one", 1_000))
      assert.deepStrictEqual(yield* store.keys, [key])
      yield* store.remove(key, version)
      yield* store.release(key, "one")
      assert.isTrue(yield* memory.acquire(key, "two", 1_000))
    }))
})

/**
 * Encryption of the entries of a token store, with a key that the program gives (AUT-35).
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as KeyText from "./internal/keys/KeyText.ts"
import { TokenCipher } from "./internal/store/TokenCipher.ts"
import { type Entry, type Key, TokenStore, TokenStoreError } from "./TokenStore.ts"

/**
 * Options of {@link make} and {@link layer}.
 *
 * @category models
 */
export interface Options {
  /**
   * The key that encrypts: 32 bytes from a cryptographic source, such as `openssl rand 32`. Keep it where the entries
   * are not: in the keychain of the system, or in a secret of the deployment.
   */
  readonly key: Redacted.Redacted<Uint8Array>
  /** Older keys, which decrypt entries that were written with them. The next write of an entry uses `key`. */
  readonly previousKeys?: ReadonlyArray<Redacted.Redacted<Uint8Array>> | undefined
}

type Store = TokenStore["Service"]

type Operation = TokenStoreError["operation"]

const failed = (operation: Operation, reason: TokenStoreError["reason"]) => new TokenStoreError({ operation, reason })

/**
 * Encrypts the texts of a store with AES-256-GCM. The key of an entry is authenticated, so that an entry is not
 * accepted in the place of another. The keys of entries stay readable: issuers, resources, client ids and accounts.
 *
 * An entry that was encrypted with another key, or was changed, fails with `Corrupt`, and nothing overwrites it. Throws
 * an `InvalidOptionError` for a key that is not 32 bytes long.
 *
 * @example
 * ```ts
 * import { EncryptedTokenStore, TokenStore } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * const key: TokenStore.Key = { _tag: "Registration", issuer: "https://as.example", account: "ada" }
 *
 * export const isReadable = Effect.gen(function*() {
 *   const memory = yield* TokenStore.makeMemory()
 *   const store = EncryptedTokenStore.make(memory, { key: Redacted.make(new Uint8Array(32)) })
 *   yield* store.write(key, Redacted.make("secret"), undefined)
 *   const texts = [yield* memory.read(key), yield* store.read(key)].map((entry) => entry && Redacted.value(entry.text))
 *   return texts.map((text) => text === "secret")
 * }) // => [false, true]
 * ```
 *
 * @category constructors
 */
export const make = (store: Store, options: Options): Store => {
  const cipher = new TokenCipher(options)
  const attempt = <A>(operation: Operation, run: () => Promise<A>) =>
    Effect.tryPromise({
      try: run,
      catch: (cause) => failed(operation, { _tag: "Unavailable", cause })
    })
  const opened = (key: Key, { text, version }: Entry): Effect.Effect<Entry, TokenStoreError> =>
    Effect.flatMap(
      attempt("read", () => cipher.open(Redacted.value(text), KeyText.of(key))),
      (result) => {
        switch (result._tag) {
          case "Opened":
            return Effect.succeed({ text: Redacted.make(result.text), version })
          case "Newer":
            return Effect.fail(failed("read", { _tag: "Newer", format: result.format }))
          case "Damaged":
            return Effect.fail(failed("read", { _tag: "Corrupt", problem: result.problem }))
        }
      }
    )
  return {
    keys: store.keys,
    remove: (key, expected) => store.remove(key, expected),
    acquire: (key, owner, millis) => store.acquire(key, owner, millis),
    release: (key, owner) => store.release(key, owner),
    read: (key) =>
      Effect.flatMap(
        store.read(key),
        (entry) => entry === undefined ? Effect.succeed(undefined) : opened(key, entry)
      ),
    write: (key, text, expected) =>
      Effect.flatMap(
        attempt("write", () => cipher.seal(Redacted.value(text), KeyText.of(key))),
        (sealed) => store.write(key, Redacted.make(sealed), expected)
      )
  }
}

/**
 * Provides the store of its context with encryption; see {@link make}.
 *
 * @example
 * ```ts
 * import { EncryptedTokenStore } from "@effect-mcp/auth"
 * import * as TokenStoreKeyValue from "@effect-mcp/auth/TokenStoreKeyValue"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // Encrypts the tokens in a `KeyValueStore`.
 * export const tokens = (key: Uint8Array) =>
 *   Layer.provide(EncryptedTokenStore.layer({ key: Redacted.make(key) }), TokenStoreKeyValue.layer)
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<TokenStore, never, TokenStore> =>
  Layer.effect(TokenStore, Effect.map(TokenStore, (store) => make(store, options)))

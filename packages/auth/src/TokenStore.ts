/**
 * The port that keeps credentials: tokens, and the registrations of clients (AUT-19, AUT-35).
 *
 * @stability unstable
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as KeyText from "./internal/keys/KeyText.ts"
import * as Lease from "./internal/keys/Lease.ts"

/**
 * The key of an entry. An entry is used only with the issuer that has given its contents.
 *
 * - `Tokens`: the tokens of an account for a resource, as this client.
 * - `Registration`: the client that this program is at the issuer.
 *
 * @category models
 */
export type Key = KeyText.Key

/**
 * An entry of a store.
 *
 * @category models
 */
export interface Entry {
  /** JSON with secrets. A store keeps it as it is, and never shows it. */
  readonly text: Redacted.Redacted<string>
  /** The version of the entry. Each write makes another one. */
  readonly version: string
}

/**
 * The kinds of {@link TokenStoreError}.
 *
 * - `Conflict`: the entry has another version than the writer expects. Nothing was written.
 * - `Unavailable`: the store cannot be reached or opened now.
 * - `Corrupt`: the entry cannot be read: it was damaged, or was encrypted with another key. It stays as it is.
 * - `Newer`: a newer version of this library has written the entry. It stays as it is.
 *
 * @category models
 */
export type TokenStoreErrorReason =
  | { readonly _tag: "Conflict" }
  | { readonly _tag: "Unavailable"; readonly cause: unknown }
  | { readonly _tag: "Corrupt"; readonly problem: string }
  | { readonly _tag: "Newer"; readonly format: string }

const describe = (reason: TokenStoreErrorReason): string => {
  switch (reason._tag) {
    case "Conflict":
      return "the entry was changed meanwhile; read it again"
    case "Unavailable":
      return "the store is not available; check its path and permissions, or its connection"
    case "Corrupt":
      return `an entry cannot be read: ${reason.problem}; remove it, and sign in again`
    case "Newer":
      return `an entry has the format ${reason.format}, which this version does not know; update @effect-mcp/auth`
  }
}

/**
 * The failure of a token store. Its message has no part of an entry.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 *
 * export const message = new TokenStore.TokenStoreError({ operation: "write", reason: { _tag: "Conflict" } }).message
 * // => "token store, write: the entry was changed meanwhile; read it again"
 * ```
 *
 * @category errors
 */
export class TokenStoreError extends Data.TaggedError("TokenStoreError")<{
  readonly operation: "acquire" | "keys" | "open" | "read" | "release" | "remove" | "write"
  readonly reason: TokenStoreErrorReason
}> {
  override get message(): string {
    return `token store, ${this.operation}: ${describe(this.reason)}`
  }
}

/**
 * The port. Programs that share a store share its entries and leases, also in several processes.
 *
 * Its laws are those of `TokenStoreSuite` in `testing`.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 *
 * // Counts the accounts that are signed in.
 * export const signedIn = Effect.gen(function*() {
 *   const store = yield* TokenStore.TokenStore
 *   const keys = yield* store.keys
 *   return keys.filter(({ _tag }) => _tag === "Tokens").length
 * })
 * ```
 *
 * @category services
 */
export class TokenStore extends Context.Service<TokenStore, {
  /** Returns the entry, if there is one. */
  readonly read: (key: Key) => Effect.Effect<Entry | undefined, TokenStoreError>
  /**
   * Writes the entry if its version is the expected one; `undefined` expects none. Returns the new version, or fails
   * with `Conflict`. After an interrupted or failed write the entry is the old one or the new one, never a part.
   */
  readonly write: (
    key: Key,
    text: Redacted.Redacted<string>,
    expected: string | undefined
  ) => Effect.Effect<string, TokenStoreError>
  /** Removes the entry if its version is the expected one. An entry that does not exist is removed. */
  readonly remove: (key: Key, expected: string) => Effect.Effect<void, TokenStoreError>
  /**
   * Returns the keys of all entries. An entry that is damaged, or of a newer version, may be left out: `read` reports
   * it, and a failure here would keep the program from all other entries.
   */
  readonly keys: Effect.Effect<ReadonlyArray<Key>, TokenStoreError>
  /**
   * Gives the lease of a key to an owner for some time, if no other owner has it. Returns whether the owner has it now.
   * The owner of a lease prolongs it so.
   */
  readonly acquire: (key: Key, owner: string, millis: number) => Effect.Effect<boolean, TokenStoreError>
  /** Ends the lease of an owner, if the owner has it. */
  readonly release: (key: Key, owner: string) => Effect.Effect<void, TokenStoreError>
}>()("@effect-mcp/auth/TokenStore") {}

/**
 * Makes a store in memory, which ends with its process. A person signs in again after each start.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * const key: TokenStore.Key = { _tag: "Registration", issuer: "https://as.example", account: "ada" }
 *
 * export const keys = Effect.gen(function*() {
 *   const store = yield* TokenStore.makeMemory()
 *   yield* store.write(key, Redacted.make("{}"), undefined)
 *   return yield* store.keys
 * }) // => [{ _tag: "Registration", issuer: "https://as.example", account: "ada" }]
 * ```
 *
 * @category constructors
 */
export const makeMemory = (): Effect.Effect<TokenStore["Service"]> =>
  Effect.sync(() => {
    const entries = new Map<string, Entry & { readonly key: Key }>()
    const leases = new Map<string, Lease.Lease>()
    // The version of an entry that was removed is not that of its successor.
    let versions = 0
    const conflict = (operation: "remove" | "write") =>
      Effect.fail(new TokenStoreError({ operation, reason: { _tag: "Conflict" } }))
    const find = (key: Key): Entry | undefined => {
      const entry = entries.get(KeyText.of(key))
      return entry && { text: entry.text, version: entry.version }
    }
    return {
      read: (key) => Effect.sync(() => find(key)),
      write: (key, text, expected) =>
        Effect.suspend(() => {
          if (find(key)?.version !== expected) return conflict("write")
          const version = String(++versions)
          entries.set(KeyText.of(key), { key: { ...key }, text, version })
          return Effect.succeed(version)
        }),
      remove: (key, expected) =>
        Effect.suspend(() => {
          const version = find(key)?.version
          if (version !== undefined && version !== expected) return conflict("remove")
          entries.delete(KeyText.of(key))
          return Effect.void
        }),
      keys: Effect.sync(() => Array.from(entries.values(), ({ key }) => key)),
      acquire: (key, owner, millis) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const name = KeyText.of(key)
          if (Lease.isHeldByOther(leases.get(name), owner, now)) return false
          leases.set(name, Lease.of(owner, now, millis))
          return true
        }),
      release: (key, owner) =>
        Effect.sync(() => {
          const name = KeyText.of(key)
          if (leases.get(name)?.owner === owner) leases.delete(name)
        })
    }
  })

/**
 * Provides a store in memory; see {@link makeMemory}.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 *
 * export const keys = Effect.flatMap(TokenStore.TokenStore, ({ keys }) => keys).pipe(
 *   Effect.provide(TokenStore.layerMemory)
 * ) // => []
 * ```
 *
 * @category layers
 */
export const layerMemory: Layer.Layer<TokenStore> = Layer.effect(TokenStore, makeMemory())

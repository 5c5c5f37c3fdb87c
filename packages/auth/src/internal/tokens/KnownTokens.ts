/**
 * The tokens of a key in memory, and their agreement with the entry of the store.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Entry, Key, TokenStore, TokenStoreError } from "../../TokenStore.ts"
import * as StoredTokens from "./StoredTokens.ts"

type Tokens = StoredTokens.StoredTokens

/** The number of attempts to change an entry while other processes change it. */
const maxAttempts = 5

const isConflict = (result: Result.Result<unknown, TokenStoreError>): boolean =>
  Result.isFailure(result) && result.failure.reason._tag === "Conflict"

/** The caller serializes the operations. */
export class KnownTokens {
  readonly #store: TokenStore["Service"]
  readonly #key: Key
  #tokens: Tokens | undefined = undefined
  #isSaved = true
  /** The version of the entry that these tokens are or, while they are not saved, that they replace. */
  #version: string | undefined = undefined
  /** Whether unsaved tokens replace an entry that was changed meanwhile. */
  #prevails = false
  /** Tokens that are revoked, and could not be removed from the store. They are as good as none. */
  #revoked: Tokens | undefined = undefined

  constructor(store: TokenStore["Service"], key: Key) {
    this.#store = store
    this.#key = key
  }

  get tokens(): Tokens | undefined {
    return this.#tokens
  }

  get isSaved(): boolean {
    return this.#isSaved
  }

  /** Replaces the tokens in memory. If they prevail, they will also replace an entry that was changed meanwhile. */
  replace(tokens: Tokens, { prevails }: { readonly prevails: boolean }): void {
    this.#tokens = tokens
    this.#prevails = prevails || !this.#isSaved && this.#prevails
    this.#isSaved = false
    this.#revoked = undefined
  }

  /** Adopts the entry of the store. Unsaved tokens stay if the entry is the one that they replace, or they prevail. */
  get reread(): Effect.Effect<void, TokenStoreError> {
    return Effect.flatMap(
      this.#store.read(this.#key),
      (entry) => Effect.flatMap(Effect.fromResult(this.#decode(entry)), (found) => this.#adopt(entry?.version, found))
    )
  }

  /** Writes tokens that are not saved. If other tokens have replaced them meanwhile, adopts those. */
  get save(): Effect.Effect<void, TokenStoreError> {
    return Effect.gen({ self: this }, function*() {
      for (let attempt = 1; this.#tokens !== undefined && !this.#isSaved; attempt++) {
        const tokens = this.#tokens
        const written = yield* Effect.result(this.#store.write(this.#key, StoredTokens.encode(tokens), this.#version))
        if (Result.isSuccess(written)) {
          this.#version = written.success
          this.#isSaved = this.#tokens === tokens
          this.#prevails = this.#prevails && !this.#isSaved
          continue
        }
        if (!isConflict(written) || attempt >= maxAttempts) return yield* Effect.fail(written.failure)
        yield* this.reread
      }
    })
  }

  /**
   * Removes tokens that the issuer has revoked, unless the store has others, which are adopted. If the store fails, it
   * keeps them, and they are not used again.
   */
  get revoke(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const revoked = this.#tokens
      this.#revoked = revoked
      const version = this.#version
      const removed = version === undefined
        ? Result.void
        : yield* Effect.result(this.#store.remove(this.#key, version))
      if (isConflict(removed)) yield* Effect.ignore(this.reread)
      if (StoredTokens.isSame(this.#tokens, revoked)) this.#forget(Result.isSuccess(removed) ? undefined : version)
    })
  }

  /** Removes whatever tokens the store has, and returns them. */
  get remove(): Effect.Effect<Tokens | undefined, TokenStoreError> {
    return Effect.gen({ self: this }, function*() {
      for (let attempt = 1;; attempt++) {
        const entry = yield* this.#store.read(this.#key)
        const stored = Result.getOrElse(this.#decode(entry), () => undefined)
        const tokens = this.#isSaved ? stored : this.#tokens
        const removed = entry === undefined
          ? Result.void
          : yield* Effect.result(this.#store.remove(this.#key, entry.version))
        if (isConflict(removed) && attempt < maxAttempts) continue
        yield* Effect.fromResult(removed)
        this.#forget(undefined)
        return tokens
      }
    })
  }

  #forget(version: string | undefined): void {
    this.#tokens = undefined
    this.#isSaved = true
    this.#prevails = false
    this.#version = version
  }

  /** Decodes an entry. That of the known version has the known tokens. */
  #decode(entry: Entry | undefined): Result.Result<Tokens | undefined, TokenStoreError> {
    if (entry === undefined) return Result.succeed(undefined)
    return entry.version === this.#version && this.#tokens !== undefined && this.#isSaved
      ? Result.succeed(this.#tokens)
      : StoredTokens.decode(entry.text)
  }

  #adopt(version: string | undefined, found: Tokens | undefined): Effect.Effect<void> {
    return Effect.sync(() => {
      // A write whose response was lost has happened if the entry has these tokens.
      if (!this.#isSaved && !StoredTokens.isSame(found, this.#tokens)) {
        if (version === this.#version) return
        if (this.#prevails) {
          this.#version = version
          return
        }
      }
      this.#forget(version)
      this.#tokens = StoredTokens.isSame(found, this.#revoked) ? undefined : found
    })
  }
}

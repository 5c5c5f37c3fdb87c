/**
 * The keys of one issuer.
 *
 * - One request at a time. Callers wait for the one that runs.
 * - Keys are requested again when they are old, and for an unknown `kid`: once in a cool-down, because every client can
 *   send a token with a `kid` of its own.
 * - While the issuer does not answer, its last keys stay valid for a bounded time.
 */
import * as Authentication from "@effect-mcp/transport/Authentication"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import type { CryptoKey } from "jose"
import { TokenRejected } from "../../VerifiedToken.ts"
import { trust } from "../trust.ts"
import * as Jose from "./Jose.ts"
import type { JsonObject } from "./JsonObject.ts"
import type { KeySetSource } from "./KeySetSource.ts"

/** The times of the keys, in milliseconds. */
export interface Settings {
  /** The age at which keys are requested again. */
  readonly refreshMillis: number
  /** The age up to which keys are used if they cannot be requested. */
  readonly staleMillis: number
  /** The least time between two requests for an unknown `kid`, or after a failed request. */
  readonly coolDownMillis: number
}

/** The least time between two requests while there are no keys at all: no token can be verified then. */
const firstRetryMillis = 2_000

/** The most keys of an issuer. */
const maxKeys = 100

/** The most keys that a token without `kid` is tried with. */
const maxCandidates = 4

type KeySet = ReturnType<Jose.Jose["createLocalJWKSet"]>

interface Keys {
  readonly set: KeySet
  readonly fetchedAt: number
}

/** The header of a token, as far as it selects a key. */
export interface KeyHeader {
  readonly alg: string
  readonly kid: string | undefined
}

type Found = ReadonlyArray<CryptoKey>

const unknownKey = new TokenRejected({ problem: "its key (kid) is not among the keys of its issuer" })

/** Returns the key set of a JSON object. Throws if it is none. */
const parse = ({ createLocalJWKSet }: Jose.Jose, json: JsonObject): KeySet => {
  const keys = json["keys"]
  if (Array.isArray(keys) && keys.length > maxKeys) throw new Error(`the issuer has more than ${maxKeys} keys`)
  // The function checks the type itself.
  return createLocalJWKSet(trust<Parameters<Jose.Jose["createLocalJWKSet"]>[0]>(json))
}

/** Returns the keys of a set that fit a header. Their number is bounded, because each costs a verification. */
const candidates = async (set: KeySet, { alg, kid }: KeyHeader): Promise<Found> => {
  try {
    return [await set(kid === undefined ? { alg } : { alg, kid })]
  } catch (error) {
    if (Jose.errorOf(error)?.code !== "ERR_JWKS_MULTIPLE_MATCHING_KEYS") return []
    const found: Array<CryptoKey> = []
    // The error yields the keys.
    const several = trust<AsyncIterable<CryptoKey>>(error)
    if (!Predicate.hasProperty(error, Symbol.asyncIterator)) return []
    for await (const key of several) {
      if (found.push(key) >= maxCandidates) break
    }
    return found
  }
}

/** The keys of one issuer. */
export class IssuerKeys {
  readonly #source: KeySetSource
  readonly #settings: Settings
  readonly #clock: Clock.Clock
  readonly #scope: Scope.Scope
  #keys: Keys | undefined
  #running: Fiber.Fiber<void> | undefined
  /** The failure of the last request, unless it succeeded. */
  #failure: { readonly cause: unknown; readonly at: number } | undefined
  /** The time of the last request for an unknown `kid`. */
  #searchedAt = Number.NEGATIVE_INFINITY

  constructor(source: KeySetSource, settings: Settings, clock: Clock.Clock, scope: Scope.Scope) {
    this.#source = source
    this.#settings = settings
    this.#clock = clock
    this.#scope = scope
  }

  /** Returns the keys that may have signed a token with this header: mostly one. */
  find(header: KeyHeader): Effect.Effect<Found, Authentication.Unavailable | TokenRejected> {
    return Effect.suspend(() => {
      const begin = this.#now
      return Effect.flatMap(
        this.#current,
        ({ fetchedAt, set }) =>
          Effect.flatMap(Effect.promise(() => candidates(set, header)), (found) => {
            if (found.length > 0) return Effect.succeed(found)
            return fetchedAt >= begin ? Effect.fail(unknownKey) : this.#search(header)
          })
      )
    })
  }

  get #now(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }

  #isYounger(millis: number): boolean {
    return this.#keys !== undefined && this.#now - this.#keys.fetchedAt < millis
  }

  /** The keys, requested again if they are old and no request has failed a short time ago. */
  get #current(): Effect.Effect<Keys, Authentication.Unavailable> {
    const { coolDownMillis, refreshMillis, staleMillis } = this.#settings
    if (this.#keys !== undefined && this.#isYounger(refreshMillis)) return Effect.succeed(this.#keys)
    const pause = this.#keys === undefined ? Math.min(firstRetryMillis, coolDownMillis) : coolDownMillis
    const isPaused = this.#failure !== undefined && this.#now - this.#failure.at < pause
    return Effect.flatMap(
      isPaused ? Effect.void : this.#request,
      () =>
        this.#keys !== undefined && this.#isYounger(staleMillis)
          ? Effect.succeed(this.#keys)
          : Effect.fail(this.#unavailable(pause))
    )
  }

  /** Requests the keys for an unknown `kid`, unless this happened a short time ago. */
  #search(header: KeyHeader): Effect.Effect<Found, Authentication.Unavailable | TokenRejected> {
    const { coolDownMillis } = this.#settings
    const isPaused = this.#running === undefined && this.#now - this.#searchedAt < coolDownMillis
    if (!isPaused) this.#searchedAt = this.#now
    const outcome = Effect.suspend((): Effect.Effect<Found, Authentication.Unavailable | TokenRejected> => {
      const keys = this.#keys
      // The key may be a new one that cannot be requested, so this is no reason to reject the token.
      if (this.#failure !== undefined || keys === undefined) return Effect.fail(this.#unavailable(coolDownMillis))
      return Effect.flatMap(
        Effect.promise(() => candidates(keys.set, header)),
        (found) => found.length > 0 ? Effect.succeed(found) : Effect.fail(unknownKey)
      )
    })
    return isPaused ? outcome : Effect.andThen(this.#request, outcome)
  }

  #unavailable(retryAfterMillis: number): Authentication.Unavailable {
    return new Authentication.Unavailable({ cause: this.#failure?.cause, retryAfterMillis })
  }

  /** Requests the keys, or waits for the request that runs. It goes on if its caller is interrupted. */
  get #request(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#running !== undefined) return Fiber.join(this.#running)
      const fetching = Effect.flatMap(this.#source, (json) =>
        Effect.flatMap(Jose.load, (library) =>
          Effect.try({
            try: () => {
              this.#keys = { set: parse(library, json), fetchedAt: this.#now }
              this.#failure = undefined
            },
            catch: (cause) => cause
          }))).pipe(
          Effect.catch((cause) =>
            Effect.sync(() => {
              this.#failure = { cause, at: this.#now }
            })
          ),
          Effect.interruptible
        )
      return Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.forkIn(fetching, this.#scope), (fiber) => {
          this.#running = fiber
          fiber.addObserver(() => {
            this.#running = undefined
          })
          return restore(Fiber.join(fiber))
        })
      )
    })
  }
}

/**
 * Credentials that are refreshed once: by a Deferred among fibers, and by a lease among processes.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as OAuthError from "../../OAuthError.ts"
import type { TokenStoreError } from "../../TokenStore.ts"
import * as ContainedStore from "./ContainedStore.ts"
import type { Credentials, CredentialsEvent, Options, RefreshableTokens } from "./Credentials.ts"
import * as CredentialsLog from "./CredentialsLog.ts"
import { HeldLease } from "./HeldLease.ts"
import { KnownTokens } from "./KnownTokens.ts"
import { RefreshBackoff } from "./RefreshBackoff.ts"
import * as StoredTokens from "./StoredTokens.ts"

type Tokens = StoredTokens.StoredTokens

/** The result of a refresh: `undefined` if a person has to sign in. */
type Refreshed = Effect.Effect<Tokens | undefined, OAuthError.OAuthError>

/** The time for which callers whose tokens have not expired wait for newer ones, in milliseconds. */
const patience = 2000

/** The time between two looks at the store while another process has the lease. */
const pollMillis = 200

/** The time for which a refresh continues when the program ends. */
const graceMillis = 5000

/** The delay before tokens that are not saved are written again. It doubles up to the longest. */
const firstSave = 1000

const longestSave = 60_000

/** The number of refresh tokens that are tried in one refresh, if other processes have newer ones. */
const maxRefreshTokens = 3

const storeFailed = (error: TokenStoreError): OAuthError.OAuthError => OAuthError.make({ _tag: "StoreFailed", error })

const isInvalidGrant = ({ reason }: OAuthError.OAuthError): boolean =>
  reason._tag === "TokenRequestFailed" && reason.error === "invalid_grant"

const isExpired = ({ expiresAt }: Tokens, now: number): boolean => expiresAt !== undefined && expiresAt <= now

const isRefreshable = (tokens: Tokens): tokens is RefreshableTokens => tokens.refreshToken !== undefined

/** The tokens that a refresh has found, or the ones that it has to renew. */
type Found = { readonly _tag: "Done"; readonly tokens: Tokens | undefined } | {
  readonly _tag: "Due"
  readonly tokens: RefreshableTokens
}

class SharedCredentials implements Credentials {
  readonly key: Options["key"]
  readonly #options: Options
  readonly #margin: number
  readonly #deadline: number
  readonly #fibers: Scope.Closeable
  readonly #known: KnownTokens
  readonly #lease: HeldLease
  readonly #backoff = new RefreshBackoff()
  /** Serializes whatever changes the tokens in memory. */
  readonly #serialized = Semaphore.makeUnsafe(1).withPermits(1)
  #refreshing: Deferred.Deferred<Tokens | undefined, OAuthError.OAuthError> | undefined = undefined
  #isSaving = false

  constructor(options: Options) {
    const { key, lease = 10_000 } = options
    const store = ContainedStore.of(options.store)
    this.key = key
    this.#options = options
    this.#margin = options.margin ?? StoredTokens.defaultMargin
    this.#deadline = options.deadline ?? 30_000
    this.#fibers = Scope.makeUnsafe()
    this.#known = new KnownTokens(store, key)
    const onLost = Effect.suspend(() => this.#emit({ _tag: "LeaseLost", key }))
    this.#lease = new HeldLease({ store, key, millis: lease, fibers: this.#fibers, onLost })
  }

  freshAt(now: number): Tokens | undefined {
    const { tokens } = this.#known
    return tokens === undefined || this.#isDue(tokens, now) || isExpired(tokens, now) ? undefined : tokens
  }

  get current(): Refreshed {
    return Effect.suspend(() =>
      this.#known.tokens === undefined
        ? Effect.map(this.#serialized(Effect.mapError(this.#known.reread, storeFailed)), () => this.#known.tokens)
        : Effect.succeed(this.#known.tokens)
    )
  }

  get refreshIfNeeded(): Refreshed {
    return Effect.flatMap(Effect.all([this.current, Clock.currentTimeMillis]), ([tokens, now]) => {
      if (tokens === undefined || !this.#isDue(tokens, now)) return Effect.succeed(tokens)
      const refreshed = this.#refreshOnce(undefined)
      if (isExpired(tokens, now)) return refreshed
      // These tokens are still good. The refresh goes on without the caller.
      const newer = Effect.map(
        Effect.timeoutOption(refreshed, patience),
        Option.getOrElse((): Tokens | undefined => tokens)
      )
      return Effect.catch(newer, (error) =>
        Effect.flatMap(
          Clock.currentTimeMillis,
          (later) => isExpired(tokens, later) ? Effect.fail(error) : Effect.succeed(tokens)
        ))
    })
  }

  refreshAfter(rejected: Redacted.Redacted<string>): Refreshed {
    const isOther = (tokens: Tokens | undefined) =>
      tokens === undefined || !StoredTokens.hasAccessToken(tokens, rejected)
    return Effect.suspend(() => {
      // Another caller has renewed them already.
      if (this.#known.tokens !== undefined && isOther(this.#known.tokens)) return this.refreshIfNeeded
      const refreshed = this.#refreshOnce(rejected)
      // A refresh that began before the rejection may have found the tokens good.
      return Effect.flatMap(refreshed, (tokens) => isOther(tokens) ? Effect.succeed(tokens) : refreshed)
    })
  }

  save(
    response: StoredTokens.TokenResponse,
    { scopes, sentAt }: { readonly sentAt: number; readonly scopes: ReadonlyArray<string> | undefined }
  ): Effect.Effect<Tokens> {
    return Effect.uninterruptible(this.#serialized(Effect.gen({ self: this }, function*() {
      // Without it, the write would conflict with the entry that it replaces. A store that fails now is written later.
      yield* Effect.ignore(this.#known.reread)
      const tokens = StoredTokens.ofResponse(response, sentAt, { scopes })
      this.#known.replace(tokens, { prevails: true })
      this.#backoff.reset()
      yield* this.#saved
      return tokens
    })))
  }

  get remove(): Refreshed {
    return this.#serialized(Effect.tap(Effect.mapError(this.#known.remove, storeFailed), () => {
      this.#backoff.reset()
      return this.#lease.release
    }))
  }

  /** Lets a refresh end, writes tokens that are not saved, and ends everything else. */
  get close(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const refreshing = this.#refreshing
      if (refreshing !== undefined) {
        yield* Effect.timeoutOption(Effect.exit(Deferred.await(refreshing)), graceMillis)
      }
      yield* Scope.close(this.#fibers, Exit.void)
      yield* Effect.ignore(this.#known.save)
      yield* this.#lease.release
    })
  }

  #isDue(tokens: Tokens, now: number): boolean {
    const dueAt = StoredTokens.dueAt(tokens, this.#margin)
    return dueAt !== undefined && dueAt <= now
  }

  #emit(event: CredentialsEvent): Effect.Effect<void> {
    return Effect.ignoreCause(Effect.suspend(() => (this.#options.onEvent ?? CredentialsLog.log)(event)))
  }

  /** Joins the refresh that runs, or starts one. It goes on if the caller is interrupted. */
  #refreshOnce(rejected: Redacted.Redacted<string> | undefined): Refreshed {
    return Effect.suspend(() => {
      if (this.#refreshing !== undefined) return Deferred.await(this.#refreshing)
      const refreshing = Deferred.makeUnsafe<Tokens | undefined, OAuthError.OAuthError>()
      this.#refreshing = refreshing
      const finish = (exit: Exit.Exit<Tokens | undefined, OAuthError.OAuthError>) => {
        this.#refreshing = undefined
        Deferred.doneUnsafe(refreshing, Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) ? this.#closed : exit)
      }
      return Effect.flatMap(
        Effect.forkIn(this.#serialized(this.#refresh(rejected)), this.#fibers),
        (fiber) => {
          // An observer sees the end of a fiber that is interrupted before it has begun.
          fiber.addObserver(finish)
          return Deferred.await(refreshing)
        }
      )
    })
  }

  get #closed(): Exit.Exit<never, OAuthError.OAuthError> {
    return Exit.fail(this.#unavailable("the program closed the credentials during the refresh"))
  }

  #unavailable(problem: string): OAuthError.OAuthError {
    return OAuthError.make({ _tag: "Unavailable", url: this.key.issuer, problem })
  }

  /** lease → read again → newer? use it → refresh → write → release. */
  #refresh(rejected: Redacted.Redacted<string> | undefined): Refreshed {
    return Effect.gen({ self: this }, function*() {
      const before = yield* this.#find(rejected)
      if (before._tag === "Done") return before.tokens
      const error = this.#backoff.errorAt(yield* Clock.currentTimeMillis)
      if (error !== undefined) return yield* Effect.fail(error)
      return yield* Effect.ensuring(
        Effect.catch(this.#refreshLeased(rejected), (error) => this.#failed(error)),
        // Other processes would use the refresh token of the store, which is no longer good, while the newer one is not
        // saved.
        Effect.suspend(() => this.#isSaving ? Effect.void : this.#lease.release)
      )
    })
  }

  #failed(error: OAuthError.OAuthError): Effect.Effect<never, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      const retryInMillis = yield* this.#backoff.failed(error, yield* Clock.currentTimeMillis)
      yield* this.#emit({ _tag: "RefreshFailed", key: this.key, error, retryInMillis })
      return yield* Effect.fail(error)
    })
  }

  /** Reads the store. Tokens that are saved nowhere else are good without it. */
  #find(rejected: Redacted.Redacted<string> | undefined): Effect.Effect<Found, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      yield* this.#known.isSaved
        ? Effect.mapError(this.#known.reread, storeFailed)
        : Effect.ignore(this.#known.reread)
      const { tokens } = this.#known
      if (tokens === undefined) return { _tag: "Done", tokens }
      const now = yield* Clock.currentTimeMillis
      const isRejected = rejected !== undefined && StoredTokens.hasAccessToken(tokens, rejected)
      if (!isRejected && !this.#isDue(tokens, now)) return { _tag: "Done", tokens }
      if (isRefreshable(tokens)) return { _tag: "Due", tokens }
      return { _tag: "Done", tokens: isRejected || isExpired(tokens, now) ? undefined : tokens }
    })
  }

  #refreshLeased(rejected: Redacted.Redacted<string> | undefined): Refreshed {
    return Effect.gen({ self: this }, function*() {
      for (let attempt = 1;; attempt++) {
        const found = yield* this.#findLeased(rejected)
        if (found._tag === "Done") return found.tokens
        const response = yield* Effect.result(this.#request(found.tokens))
        if (Result.isSuccess(response)) {
          yield* this.#saved
          yield* this.#emit({ _tag: "Refreshed", key: this.key })
          return response.success
        }
        const error = response.failure
        if (!isInvalidGrant(error)) return yield* Effect.fail(error)
        // The refresh token is revoked, or another process without this lease has used it: then the store has a newer.
        yield* Effect.mapError(this.#known.reread, storeFailed)
        if (StoredTokens.isSame(this.#known.tokens, found.tokens)) yield* this.#known.revoke
        if (this.#known.tokens === undefined) {
          yield* this.#emit({ _tag: "Revoked", key: this.key, error })
          return undefined
        }
        if (attempt >= maxRefreshTokens) return yield* Effect.fail(error)
      }
    })
  }

  /** Waits until this process has the lease, or until another one has renewed the tokens. */
  #findLeased(rejected: Redacted.Redacted<string> | undefined): Effect.Effect<Found, OAuthError.OAuthError> {
    return Effect.gen({ self: this }, function*() {
      const since = yield* Clock.currentTimeMillis
      while (true) {
        const acquired = yield* Effect.result(this.#lease.acquire)
        // While the store fails, the newer tokens are only here, and no other process can renew them.
        const isAlone = Result.isFailure(acquired) && !this.#known.isSaved
        if (Result.isFailure(acquired) && !isAlone) return yield* Effect.fail(storeFailed(acquired.failure))
        const found = yield* this.#find(rejected)
        if (found._tag === "Done" || isAlone || (yield* this.#lease.isHeld)) return found
        if ((yield* Clock.currentTimeMillis) - since >= this.#deadline) {
          return yield* Effect.fail(
            this.#unavailable(`another process has not ended its refresh in ${this.#deadline} ms`)
          )
        }
        yield* Effect.sleep(pollMillis * (0.5 + (yield* Random.next)))
      }
    })
  }

  /** Requests tokens, and has them in memory when the response has arrived, whatever interrupts it after that. */
  #request(tokens: RefreshableTokens): Effect.Effect<Tokens, OAuthError.OAuthError> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Clock.currentTimeMillis, (sentAt) => {
        const requested = Effect.timeoutOrElse(Effect.suspend(() => this.#options.refresh(tokens)), {
          duration: this.#deadline,
          orElse: () => Effect.fail(this.#unavailable(`the token endpoint has not answered in ${this.#deadline} ms`))
        })
        const contained = Effect.catchDefect(requested, () =>
          // The text of a defect may have parts of the response.
          Effect.fail(this.#unavailable("the token request failed with a defect")))
        return Effect.map(restore(contained), (response) => {
          const newer = StoredTokens.ofResponse(response, sentAt, tokens)
          this.#known.replace(newer, { prevails: false })
          this.#backoff.reset()
          return newer
        })
      })
    )
  }

  /** Writes the tokens of the memory. If that fails, they are written later. */
  get #saved(): Effect.Effect<void> {
    return Effect.catch(this.#known.save, (error) =>
      Effect.gen({ self: this }, function*() {
        if (this.#isSaving) return
        this.#isSaving = true
        yield* this.#emit({ _tag: "NotSaved", key: this.key, error })
        yield* Effect.forkIn(this.#saveLater, this.#fibers)
      }))
  }

  get #saveLater(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      for (let delay = firstSave;; delay = Math.min(longestSave, 2 * delay)) {
        yield* Effect.sleep(delay * (0.5 + (yield* Random.next) / 2))
        const isSaved = yield* this.#serialized(Effect.gen({ self: this }, function*() {
          yield* Effect.ignore(this.#known.save)
          if (!this.#known.isSaved) return false
          this.#isSaving = false
          yield* this.#lease.release
          return true
        }))
        if (isSaved) return yield* this.#emit({ _tag: "Saved", key: this.key })
      }
    })
  }
}

/** Makes the credentials of a key. When the scope closes, a refresh that runs has five seconds to end. */
export const make = (options: Options): Effect.Effect<Credentials, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.sync(() => new SharedCredentials(options)), (credentials) => credentials.close)

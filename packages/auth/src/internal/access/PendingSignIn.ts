/** A sign-in that waits for a person, or a grant that is requested. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { OAuthError } from "../../OAuthError.ts"
import { failed } from "./failures.ts"

/** The state of a sign-in. Requests wait for it, also while a person begins it anew. */
export class PendingSignIn {
  readonly server: string
  readonly since: number
  readonly #done = Deferred.makeUnsafe<void, OAuthError>()
  #shown = Deferred.makeUnsafe<void>()
  #changed = Deferred.makeUnsafe<void>()
  #isQueued = false
  /** The URL that the person visits. */
  url: string | undefined = undefined
  /** The code that the person enters there. */
  code: string | undefined = undefined
  /** The id of a client that was registered before this sign-in. The issuer may not know it any more. */
  rememberedClient: string | undefined = undefined
  /** The fiber of the flow. */
  fiber: Fiber.Fiber<void> | undefined = undefined

  constructor(server: string, since: number) {
    this.server = server
    this.since = since
  }

  /** Completes when the person has signed in. */
  readonly authorized: Effect.Effect<void, OAuthError> = Deferred.await(this.#done)

  /** Completes when the URL is known, or the question to the person has been asked, or the sign-in has ended. */
  get isShown(): Effect.Effect<void, OAuthError> {
    return Effect.suspend(() => Effect.raceFirst(Deferred.await(this.#shown), this.authorized))
  }

  /** Whether the sign-in at another server is shown first. */
  get isQueued(): boolean {
    return this.#isQueued
  }

  /** Shows what the person has to do. Without a URL, the person is asked whether to open one. */
  show(url: string | undefined, code?: string): Effect.Effect<void> {
    return Effect.sync(() => this.#show(url, code, false))
  }

  /** Shows that the sign-in waits for the one at another server. */
  readonly wait: Effect.Effect<void> = Effect.sync(() => this.#show(undefined, undefined, true))

  #show(url: string | undefined, code: string | undefined, isQueued: boolean): void {
    this.url = url
    this.code = code
    this.#isQueued = isQueued
    const changed = this.#changed
    this.#changed = Deferred.makeUnsafe<void>()
    Deferred.doneUnsafe(this.#shown, Effect.void)
    Deferred.doneUnsafe(changed, Effect.void)
  }

  /** Begins anew: another URL will be shown. */
  restart(): void {
    this.url = undefined
    this.code = undefined
    this.#isQueued = false
    this.#shown = Deferred.makeUnsafe<void>()
  }

  end(exit: Effect.Effect<void, OAuthError>): void {
    Deferred.doneUnsafe(this.#done, exit)
  }

  /** Returns the failure of a request that needs it. */
  get required(): TransportError.TransportError {
    return TransportError.make(this.#reason())
  }

  #reason(): TransportError.AuthorizationRequired {
    return {
      _tag: "AuthorizationRequired",
      target: this.server,
      ...(this.url === undefined ? {} : { url: this.url }),
      ...(this.code === undefined ? {} : { code: this.code }),
      since: this.since,
      ...(this.#isQueued ? { isQueued: true } : {}),
      authorized: Effect.mapError(this.authorized, (error) => failed(this.server, error)),
      changed: Effect.map(Deferred.await(this.#changed), () => this.#reason())
    }
  }
}

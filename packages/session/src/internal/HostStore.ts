import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type SessionStore, SessionStoreError, type StoredSession } from "../SessionStore.ts"
import type { HostedSession } from "./HostedSession.ts"

/** How long a store may take that is told something, or asked. */
const patienceMillis = 5000

/** How many sessions the store is told of at a time. */
const concurrency = 16

/** How often it is told that sessions are in use, at most. */
export const tellingMillis = 60_000

/** What it needs of its host. */
export interface Options {
  readonly sessions: ReadonlyMap<string, HostedSession>
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** What the store has to be told, whether it listens or not. */
const told = (what: string, effect: Effect.Effect<void, SessionStoreError>): Effect.Effect<void> =>
  Effect.timeout(effect, patienceMillis).pipe(
    Effect.catchCause((cause) => Effect.logWarning(`the session store failed to ${what} a session`, cause))
  )

/**
 * A store as its host talks to it: patiently, but not for ever. What it fails to be told is logged, and the sessions go on without it.
 */
export class HostStore {
  readonly #store: SessionStore["Service"]
  readonly #options: Options
  #tellAt = Number.NEGATIVE_INFINITY
  #telling: Fiber.Fiber<void> | undefined

  constructor(store: SessionStore["Service"], options: Options) {
    this.#store = store
    this.#options = options
  }

  load(id: string): Effect.Effect<StoredSession | undefined, SessionStoreError> {
    return Effect.timeoutOrElse(this.#store.load(id), {
      duration: patienceMillis,
      // Everybody who asks for this session waits for the same.
      orElse: () =>
        Effect.fail(
          new SessionStoreError({ cause: new Error(`the store has not answered within ${patienceMillis} ms`) })
        )
    })
  }

  save(hosted: HostedSession, opening: StoredSession["opening"]): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { id, openedAt, principal, usedAt } = hosted
      hosted.toldAt = usedAt
      return told("save", this.#store.save({ id, principal: principal?.id, opening, openedAt, usedAt }))
    })
  }

  remove(id: string): Effect.Effect<void> {
    return told("remove", this.#store.remove(id))
  }

  /** Has it told which sessions are in use, if it is time to. Returns when it will be again. */
  tellWhenDue(time: number): number {
    if (time >= this.#tellAt && (this.#telling === undefined || this.#telling.pollUnsafe() !== undefined)) {
      this.#tellAt = time + tellingMillis
      this.#telling = this.#options.fork(this.#tell())
    }
    return this.#tellAt
  }

  /** Tells it once more, after all else. */
  finish(): Effect.Effect<void> {
    const before = Effect.suspend(() => this.#telling === undefined ? Effect.void : Fiber.await(this.#telling))
    return Effect.asVoid(Effect.timeoutOption(Effect.andThen(before, this.#tell()), patienceMillis))
  }

  /** Says no more, whatever it was about to say. */
  abandon(): Effect.Effect<void> {
    return Effect.suspend(() => this.#telling === undefined ? Effect.void : Fiber.interrupt(this.#telling))
  }

  /** Tells which sessions have been used since it was told last. */
  #tell(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        Array.from(this.#options.sessions.values()).filter(({ phase, toldAt, usedAt }) =>
          phase === "Live" && toldAt !== undefined && usedAt > toldAt
        ),
        (hosted) => {
          hosted.toldAt = hosted.usedAt
          return told("touch", this.#store.touch(hosted.id, hosted.usedAt))
        },
        { concurrency, discard: true }
      )
    )
  }
}

/** A list of a server that is read when it is needed, and again after it has changed. */

import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { ServerUnavailable } from "../../ServerUnavailable.ts"

type Session = ClientSession.ClientSessionShape

/** The error of a list that cannot be read. */
export type ListError = RequestError.RequestError | ServerUnavailable

/** The number of times that a list is read again because it has changed meanwhile. Then callers get what was read. */
const maxReadings = 3

/** The client of a list. */
export interface CachedListDependencies<A> {
  /** Sends the requests of a reading: waits for the server, and sends them again if needed. */
  readonly send: (
    read: (session: Session) => Effect.Effect<ReadonlyArray<A>, RequestError.RequestError>
  ) => Effect.Effect<ReadonlyArray<A>, ListError>
  readonly pages: (session: Session) => Stream.Stream<A, RequestError.RequestError>
  /** Forks a reading in the scope of the client, so that it does not end with the caller that started it. */
  readonly fork: <B, E>(effect: Effect.Effect<B, E>) => Fiber.Fiber<B, E>
}

/** One list of one server. All callers that ask at the same time share a reading. */
export class CachedList<A> {
  readonly #dependencies: CachedListDependencies<A>
  #kept: ReadonlyArray<A> | undefined
  #reading: Deferred.Deferred<ReadonlyArray<A>, ListError> | undefined
  #changes = 0

  constructor(dependencies: CachedListDependencies<A>) {
    this.#dependencies = dependencies
  }

  /** The list that was read last, unless it has changed since then. */
  get kept(): ReadonlyArray<A> | undefined {
    return this.#kept
  }

  /** Drops the list, because it has changed or may have changed. */
  invalidate(): void {
    this.#changes++
    this.#kept = undefined
  }

  /** Returns the list. A caller never gets one that had changed before it asked. */
  get all(): Effect.Effect<ReadonlyArray<A>, ListError> {
    return Effect.suspend(() => {
      if (this.#kept !== undefined) return Effect.succeed(this.#kept)
      return Deferred.await(this.#reading ?? this.#start())
    })
  }

  #start(): Deferred.Deferred<ReadonlyArray<A>, ListError> {
    const reading = this.#reading = Deferred.makeUnsafe<ReadonlyArray<A>, ListError>()
    this.#dependencies.fork(
      Effect.onExit(this.#read(1), (exit) =>
        Effect.sync(() => {
          this.#reading = undefined
          Deferred.doneUnsafe(reading, exit)
        }))
    )
    return reading
  }

  #read(readings: number): Effect.Effect<ReadonlyArray<A>, ListError> {
    return Effect.suspend(() => {
      const { pages, send } = this.#dependencies
      let changes = this.#changes
      const read = (session: Session) =>
        Effect.suspend(() => {
          // What has changed before the list is requested is in it, such as by the opening of the session.
          changes = this.#changes
          return Stream.runCollect(pages(session))
        })
      return Effect.flatMap(send(read), (all) => {
        if (changes !== this.#changes) return readings < maxReadings ? this.#read(readings + 1) : Effect.succeed(all)
        this.#kept = all
        return Effect.succeed(all)
      })
    })
  }
}

/** Treats a list that the server does not have as an empty one. */
export const orNone = <A>(
  stream: Stream.Stream<A, RequestError.RequestError>
): Stream.Stream<A, RequestError.RequestError> =>
  Stream.catchIf(stream, ({ reason }) => reason._tag === "MissingCapability", () => Stream.empty)

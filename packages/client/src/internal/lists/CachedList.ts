/** A list of a server that is read when it is needed, and again after it has changed. */

import { ErrorCode } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { ServerUnavailableError } from "../../ServerUnavailableError.ts"
import * as ListReading from "./ListReading.ts"

type Session = ClientSession.ClientSessionShape

/** The error of a list that cannot be read. */
export type ListError = RequestError.RequestError | ServerUnavailableError

/** The number of times that a list is read from its first page again, because the server rejects a cursor of it. */
const maxRestarts = 2

/** The client of a list. */
export interface CachedListDependencies<A> {
  /** Sends the requests of a reading: waits for the server, and sends them again if needed. */
  readonly send: (
    read: (session: Session) => Effect.Effect<ReadonlyArray<A>, RequestError.RequestError>
  ) => Effect.Effect<ReadonlyArray<A>, ListError>
  readonly pages: (session: Session) => Stream.Stream<A, RequestError.RequestError>
  readonly bounds: ListReading.Bounds
  /** Reports that members of the list are missing. */
  readonly cut: (members: number, problem: string) => Effect.Effect<void>
  /** Returns whether the list stays as it is until the client is notified of a change. If not, it is not kept. */
  readonly isSteady: (session: Session) => boolean
  /** Forks a reading in the scope of the client, so that it does not end with the caller that started it. */
  readonly fork: <B, E>(effect: Effect.Effect<B, E>) => Fiber.Fiber<B, E>
}

/** A reading of a list, which all callers that ask meanwhile share. */
interface Reading<A> {
  readonly done: Deferred.Deferred<ReadonlyArray<A>, ListError>
  /** The number of changes at the time when its first page was requested. */
  changes: number
}

/** Returns whether the server rejects a cursor, because the list has changed between two pages. */
const isBadCursor = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "ErrorResponse" && reason.error.code === ErrorCode.InvalidParams

/** One list of one server. */
export class CachedList<A> {
  readonly #dependencies: CachedListDependencies<A>
  #kept: ReadonlyArray<A> | undefined
  #last: { readonly session: Session; readonly all: ReadonlyArray<A> } | undefined
  #reading: Reading<A> | undefined
  #problem: string | undefined
  #changes = 0

  constructor(dependencies: CachedListDependencies<A>) {
    this.#dependencies = dependencies
  }

  /** The number of times that the list may have changed. */
  get changes(): number {
    return this.#changes
  }

  /** Returns the list that was read last in a session. It may have changed since then. */
  lastIn(session: Session): ReadonlyArray<A> | undefined {
    return this.#last?.session === session ? this.#last.all : undefined
  }

  /** Drops the list, because it has changed or may have changed. */
  invalidate(): void {
    this.#changes++
    this.#kept = undefined
  }

  /** Returns the list. A caller never gets one that had changed before it asked. */
  get all(): Effect.Effect<ReadonlyArray<A>, ListError> {
    return Effect.suspend(() => this.#kept === undefined ? this.#readSince(this.#changes) : Effect.succeed(this.#kept))
  }

  /** Reads the list of the server that is connected now or next. Keeps the present one for other callers until then. */
  get fresh(): Effect.Effect<ReadonlyArray<A>, ListError> {
    return Effect.suspend(() => this.#readSince(++this.#changes))
  }

  /** Reads the list as it is after this number of changes. Waits for two readings at most. */
  #readSince(changes: number): Effect.Effect<ReadonlyArray<A>, ListError> {
    const reading = this.#reading ?? this.#start()
    return Effect.flatMap(Deferred.await(reading.done), (all) =>
      // Otherwise the caller has joined a reading that began before a change.
      reading.changes >= changes ? Effect.succeed(all) : Effect.suspend(() => this.#readSince(changes)))
  }

  #start(): Reading<A> {
    const reading: Reading<A> = { done: Deferred.makeUnsafe(), changes: this.#changes }
    this.#reading = reading
    const fiber = this.#dependencies.fork(this.#read(reading))
    // Not a finalizer of the reading: it would not run if the client has ended before the reading begins.
    fiber.addObserver((exit) => {
      this.#reading = undefined
      const isStopped = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      // The callers are not interrupted with the client: they read themselves, and fail as any call does then.
      Deferred.doneUnsafe(reading.done, isStopped ? this.#read(reading) : exit)
    })
    return reading
  }

  #read(reading: Reading<A>): Effect.Effect<ReadonlyArray<A>, ListError> {
    const { bounds, isSteady, pages, send } = this.#dependencies
    return send((session) => {
      const read = Effect.suspend(() => {
        reading.changes = this.#changes
        return ListReading.read(pages(session), bounds)
      })
      return Effect.flatMap(Effect.retry(read, { times: maxRestarts, while: isBadCursor }), ({ members, problem }) => {
        this.#last = { session, all: members }
        if (reading.changes === this.#changes && isSteady(session)) this.#kept = members
        return Effect.as(this.#report(members.length, problem), members)
      })
    })
  }

  /** Reports members that are missing. The same problem is reported once, however often a server changes the list. */
  #report(members: number, problem: string | undefined): Effect.Effect<void> {
    const isNew = problem !== this.#problem
    this.#problem = problem
    return isNew && problem !== undefined ? this.#dependencies.cut(members, problem) : Effect.void
  }
}

/** Returns whether a server does not have a list: it has not declared it, or does not know the method. */
const isAbsent = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "MissingCapability" ||
  // No capability says whether a server with resources has templates, too.
  (reason._tag === "ErrorResponse" && reason.error.code === ErrorCode.MethodNotFound)

/** Treats a list that the server does not have as an empty one. */
export const orNone = <A>(
  stream: Stream.Stream<A, RequestError.RequestError>
): Stream.Stream<A, RequestError.RequestError> => Stream.catchIf(stream, isAbsent, () => Stream.empty)

/** One list of one server of a group, which never delays the lists of the other servers for long. */

import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { ServerStatus } from "../../ServerStatus.ts"
import type { ListError } from "./CachedList.ts"

/** The reason why a list is missing. */
export type Absence =
  | { readonly _tag: "Down" }
  | { readonly _tag: "Slow"; readonly withinMillis: number }
  | { readonly _tag: "Failed"; readonly error: ListError }

/** A reading of the list, which callers share. */
interface Reading<A> {
  readonly done: Deferred.Deferred<void>
  /** The number of changes at its beginning. */
  changes: number
  exit: Exit.Exit<ReadonlyArray<A>, ListError> | undefined
}

/** The parts of a group that a list uses. */
export interface BoundedListDependencies<A> {
  readonly status: Effect.Effect<ServerStatus>
  readonly list: Effect.Effect<ReadonlyArray<A>, ListError>
  /** The time that a caller waits for the list. */
  readonly withinMillis: number
  readonly scope: Scope.Scope
  /** Reports that callers no longer wait for the list. */
  readonly late: Effect.Effect<void>
  /** Reports a list that was read after its callers had stopped waiting. */
  readonly arrived: () => void
}

/** The time before a late list is read once more, because a server may change it before it returns each list. */
const pauseMillis = 1_000

/** Returns whether the server is not there, and has been tried. */
const isDown = (status: ServerStatus): boolean =>
  status._tag === "Connecting" ? status.attempt > 1 : status._tag !== "Ready"

/** A list that callers wait for only up to a time. The reading goes on without them. */
export class BoundedList<A> {
  readonly #dependencies: BoundedListDependencies<A>
  #reading: Reading<A> | undefined
  #changes = 0
  #isLate = false
  #absence: Absence | undefined
  /** The list that was read last, for callers that do not wait for a newer one. */
  #last: ReadonlyArray<A> | undefined

  constructor(dependencies: BoundedListDependencies<A>) {
    this.#dependencies = dependencies
  }

  /** The reason why the last caller did not get the list, if there is one. */
  get absence(): Absence | undefined {
    return this.#absence
  }

  /** Lets the next callers wait for a reading that begins from now on, because the list may have changed. */
  changed(): void {
    this.#changes++
  }

  /** Lets the next callers wait again, because the server is there again. */
  expect(): void {
    this.#isLate = false
  }

  /**
   * Returns the list, as it was when the caller asked or later. If the server is down or fails, there is none. If the
   * server is slow, it is the last one. In both cases there is an `absence`. After a list was late, callers do not wait
   * for it again.
   */
  get all(): Effect.Effect<ReadonlyArray<A> | undefined> {
    return Effect.gen({ self: this }, function*() {
      const { status, withinMillis } = this.#dependencies
      // A server that is tried again is down until it is ready.
      if (isDown(yield* status)) return this.#omit({ _tag: "Down" })
      const read = this.#readSince(this.#changes)
      const exit = this.#isLate
        ? yield* this.#readAtOnce
        : Option.getOrUndefined(yield* Effect.timeoutOption(read, withinMillis))
      if (exit === undefined) {
        if (!this.#isLate) yield* this.#dependencies.late
        this.#isLate = true
        this.#absence = { _tag: "Slow", withinMillis }
        return this.#last
      }
      if (Exit.isSuccess(exit)) {
        this.#isLate = false
        this.#absence = undefined
        return this.#last
      }
      const error = Cause.findErrorOption(exit.cause)
      return this.#omit(Option.isSome(error) ? { _tag: "Failed", error: error.value } : { _tag: "Down" })
    })
  }

  #omit(absence: Absence): undefined {
    this.#absence = absence
    this.#last = undefined
  }

  /** Waits for a reading that began after this number of changes. */
  #readSince(changes: number): Effect.Effect<Reading<A>["exit"]> {
    return Effect.gen({ self: this }, function*() {
      while (true) {
        const reading = this.#reading ?? (yield* this.#start())
        yield* Deferred.await(reading.done)
        if (reading.changes >= changes) return reading.exit
      }
    })
  }

  /** Returns the end of a reading that needs no time, because the client has the list. */
  get #readAtOnce(): Effect.Effect<Reading<A>["exit"]> {
    return Effect.suspend(() =>
      // A reading that is still in flight is not joined by another: a server that is slow would get more and more.
      this.#reading === undefined ? Effect.map(this.#start(), ({ exit }) => exit) : Effect.undefined
    )
  }

  #start(pause = 0): Effect.Effect<Reading<A>> {
    return Effect.suspend(() => {
      const { arrived, list, scope } = this.#dependencies
      const reading: Reading<A> = { done: Deferred.makeUnsafe<void>(), changes: this.#changes, exit: undefined }
      this.#reading = reading
      const begin = Effect.suspend(() => {
        reading.changes = this.#changes
        return list
      })
      const read = Effect.onExit(pause === 0 ? begin : Effect.delay(begin, pause), (exit) =>
        Effect.suspend(() => {
          reading.exit = exit
          this.#reading = undefined
          if (Exit.isSuccess(exit)) this.#last = exit.value
          Deferred.doneUnsafe(reading.done, Exit.void)
          if (!this.#isLate || Exit.isFailure(exit)) return Effect.void
          // No caller waits for the newer list.
          if (reading.changes < this.#changes) return Effect.asVoid(this.#start(pauseMillis))
          return Effect.sync(arrived)
        }))
      // The list of a server that has not changed is there at once.
      return Effect.as(Effect.forkIn(Effect.ignoreCause(read), scope, { startImmediately: true }), reading)
    })
  }
}

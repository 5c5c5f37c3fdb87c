/** One list of one server of a group, which never delays the lists of the other servers for long. */

import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { ServerStatus } from "../../ServerStatus.ts"
import type { ListError } from "../lists/CachedList.ts"

/** The reason why a list is missing. */
export type Absence =
  | { readonly _tag: "Down" }
  | { readonly _tag: "Slow"; readonly withinMillis: number }
  | { readonly _tag: "Failed"; readonly error: ListError }

interface Reading<A> {
  readonly done: Deferred.Deferred<void>
  exit: Exit.Exit<ReadonlyArray<A>, ListError> | undefined
}

/** The parts of a group that a list uses. */
export interface BoundedListDependencies<A> {
  readonly status: Effect.Effect<ServerStatus>
  readonly list: Effect.Effect<ReadonlyArray<A>, ListError>
  /** The time that a caller waits for the list. */
  readonly withinMillis: number
  readonly scope: Scope.Scope
  /** Reports a list that was read after its callers had stopped to wait. */
  readonly arrived: () => void
}

/** A list that callers wait for only up to a time. The reading goes on without them. */
export class BoundedList<A> {
  readonly #dependencies: BoundedListDependencies<A>
  #reading: Reading<A> | undefined
  #isLate = false
  #absence: Absence | undefined
  /** The list that was read last, for callers that do not wait for a newer one. */
  #last: ReadonlyArray<A> = []

  constructor(dependencies: BoundedListDependencies<A>) {
    this.#dependencies = dependencies
  }

  /** The reason why the last caller did not get the list, if there is one. */
  get absence(): Absence | undefined {
    return this.#absence
  }

  /** Lets the next callers wait again, because the server is there again. */
  expect(): void {
    this.#isLate = false
  }

  /**
   * Returns the list. If the server is down, the list is empty; if the server is slow, the list is the last one. Then
   * there is an `absence`. After a list was late, callers do not wait for it again.
   */
  get all(): Effect.Effect<ReadonlyArray<A>> {
    return Effect.gen({ self: this }, function*() {
      const { status, withinMillis } = this.#dependencies
      if ((yield* status)._tag === "Down") return this.#omit({ _tag: "Down" })
      const reading = this.#reading ?? (yield* this.#start())
      if (reading.exit === undefined && !this.#isLate) {
        yield* Effect.timeoutOption(Deferred.await(reading.done), withinMillis)
      }
      if (reading.exit === undefined) {
        this.#isLate = true
        this.#absence = { _tag: "Slow", withinMillis }
        return this.#last
      }
      if (Exit.isSuccess(reading.exit)) {
        this.#isLate = false
        this.#absence = undefined
        return this.#last
      }
      const error = Cause.findErrorOption(reading.exit.cause)
      return this.#omit(Option.isSome(error) ? { _tag: "Failed", error: error.value } : { _tag: "Down" })
    })
  }

  #omit(absence: Absence): ReadonlyArray<A> {
    this.#absence = absence
    this.#last = []
    return this.#last
  }

  #start(): Effect.Effect<Reading<A>> {
    return Effect.suspend(() => {
      const { arrived, list, scope } = this.#dependencies
      const reading: Reading<A> = { done: Deferred.makeUnsafe<void>(), exit: undefined }
      this.#reading = reading
      const read = Effect.onExit(list, (exit) =>
        Effect.sync(() => {
          reading.exit = exit
          this.#reading = undefined
          if (Exit.isSuccess(exit)) this.#last = exit.value
          Deferred.doneUnsafe(reading.done, Exit.void)
          if (this.#isLate && Exit.isSuccess(exit)) arrived()
        }))
      // The list of a server that has not changed is there at once.
      return Effect.as(Effect.forkIn(Effect.ignoreCause(read), scope, { startImmediately: true }), reading)
    })
  }
}

/** The owners of sessions in memory, for several processes of one program. */

import type * as Clock from "effect/Clock"
import * as Exit from "effect/Exit"
import { monotonicMillis } from "../monotonicMillis.ts"
import type { OwnerStore } from "./SessionOwnersShape.ts"

interface Process {
  readonly address: string
  /** The time since which its lease has stood unbroken. */
  readonly since: number
  readonly expiresAt: number
}

interface Row {
  readonly epoch: number
  readonly owner: string | undefined
}

/** A table of processes, and one of sessions. All operations are `Exit`s. */
export class OwnersInMemory implements OwnerStore {
  readonly #clock: Clock.Clock
  readonly #processes = new Map<string, Process>()
  readonly #sessions = new Map<string, Row>()

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  readonly renew: OwnerStore["renew"] = ({ address, millis, process }) => {
    const now = monotonicMillis(this.#clock)
    // Sessions without a living owner count as free, so a process whose lease is over is not needed any more.
    for (const [name, { expiresAt }] of this.#processes) {
      if (expiresAt <= now && name !== process) this.#processes.delete(name)
    }
    const standing = this.#standing(process)
    this.#processes.set(process, { address, since: standing?.since ?? now, expiresAt: now + millis })
    return Exit.succeed(standing !== undefined)
  }

  readonly retire: OwnerStore["retire"] = (process) => {
    this.#processes.delete(process)
    return Exit.void
  }

  readonly locate: OwnerStore["locate"] = (session) => {
    const row = this.#sessions.get(session)
    if (row === undefined) return Exit.succeed({ _tag: "Unknown" })
    const { epoch, owner } = row
    const standing = owner === undefined ? undefined : this.#standing(owner)
    return Exit.succeed(
      owner === undefined || standing === undefined
        ? { _tag: "Free", epoch }
        : { _tag: "Owned", epoch, process: owner, address: standing.address }
    )
  }

  readonly claim: OwnerStore["claim"] = (session, epoch, { millis, process }) => {
    const row = this.#sessions.get(session)
    const claimer = this.#standing(process)
    if (claimer === undefined || (row?.epoch ?? 0) !== epoch) return Exit.succeed(undefined)
    const other = row?.owner === process ? undefined : row?.owner
    if (other !== undefined) {
      const hasStood = claimer.since + millis <= monotonicMillis(this.#clock)
      if (this.#standing(other) !== undefined || !hasStood) return Exit.succeed(undefined)
    }
    this.#sessions.set(session, { epoch: epoch + 1, owner: process })
    return Exit.succeed(epoch + 1)
  }

  readonly release: OwnerStore["release"] = (session, epoch) => {
    if (this.#sessions.get(session)?.epoch === epoch) this.#sessions.set(session, { epoch, owner: undefined })
    return Exit.void
  }

  readonly remove: OwnerStore["remove"] = (session, epoch) => {
    if (this.#sessions.get(session)?.epoch === epoch) this.#sessions.delete(session)
    return Exit.void
  }

  readonly lost: OwnerStore["lost"] = (process, sessions) =>
    Exit.succeed(
      sessions.filter(({ epoch, session }) => {
        const row = this.#sessions.get(session)
        return row?.owner !== process || row.epoch !== epoch
      }).map(({ session }) => session)
    )

  /** Returns a process whose lease stands. */
  #standing(process: string): Process | undefined {
    const known = this.#processes.get(process)
    return known === undefined || known.expiresAt <= monotonicMillis(this.#clock) ? undefined : known
  }
}

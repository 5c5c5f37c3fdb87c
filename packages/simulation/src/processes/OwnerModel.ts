/** A model of the rules of owners and of epochs, which judges each operation of the stores of a history. */
import type { Event, ProcessEvent, Write } from "./History.ts"

/** The lease of a process. */
interface Lease {
  readonly since: number
  readonly expiresAt: number
}

/** The row of a session. */
export interface Row {
  readonly epoch: number
  readonly owner: number | undefined
}

/** The leases and the rows that the operations so far have made. */
export class OwnerModel {
  readonly #leases = new Map<number, Lease>()
  readonly #rows = new Map<string, Row>()

  row(session: string): Row | undefined {
    return this.#rows.get(session)
  }

  /** Whether the lease of a process stands. */
  stands(process: number, at: number): boolean {
    return (this.#leases.get(process)?.expiresAt ?? Number.NEGATIVE_INFINITY) > at
  }

  /** Applies an operation. Returns the problem of one that the rules do not permit. */
  apply(event: Event): string | undefined {
    if (!("process" in event)) return undefined
    const { at, process } = event
    switch (event._tag) {
      case "Renewed": {
        const stood = this.stands(process, at)
        const since = stood ? this.#leases.get(process)?.since ?? at : at
        this.#leases.set(process, { since, expiresAt: at + event.millis })
        return stood === event.stood ? undefined : `a renewal of process ${process} returns ${event.stood}`
      }
      case "Retired":
        this.#leases.delete(process)
        return undefined
      case "Located": {
        const row = this.#rows.get(event.session)
        const owner = row?.owner !== undefined && this.stands(row.owner, at) ? row.owner : undefined
        const expected = row === undefined ? "Unknown" : owner ?? "Free"
        return expected === event.place ? undefined : `${event.session} is found at ${event.place}, not at ${expected}`
      }
      case "Claimed": {
        const expected = this.#claimable(process, event, at) ? event.epoch + 1 : undefined
        if (event.claimed !== undefined) this.#rows.set(event.session, { epoch: event.claimed, owner: process })
        return expected === event.claimed
          ? undefined
          : `a claim of process ${process} of ${event.session} in epoch ${event.epoch} returns ${event.claimed}`
      }
      case "Released":
        if (this.#rows.get(event.session)?.epoch !== event.epoch) return undefined
        this.#rows.set(event.session, { epoch: event.epoch, owner: undefined })
        return undefined
      case "Removed":
        if (this.#rows.get(event.session)?.epoch === event.epoch) this.#rows.delete(event.session)
        return undefined
      default:
        return undefined
    }
  }

  #claimable(
    process: number,
    { epoch, millis, session }: Extract<ProcessEvent, { readonly _tag: "Claimed" }>,
    at: number
  ): boolean {
    const row = this.#rows.get(session)
    if (!this.stands(process, at) || (row?.epoch ?? 0) !== epoch) return false
    if (row?.owner === undefined || row.owner === process) return true
    const stoodFor = at - (this.#leases.get(process)?.since ?? at)
    return !this.stands(row.owner, at) && stoodFor >= millis
  }
}

/** The epochs that the stores of sessions and of events know, and the streams that have ended. */
export class EpochModel {
  readonly #stored = new Map<string, number>()
  readonly #takenOver = new Map<string, number>()
  readonly #ended = new Map<string, Set<string>>()

  /** Applies a write. Returns the problem of one with another outcome than the rules say. */
  apply(event: Event): string | undefined {
    switch (event._tag) {
      case "Stored": {
        const { epoch, operation, outcome, session } = event
        const known = this.#stored.get(session)
        if (outcome === "Done" && operation === "create") this.#stored.set(session, epoch)
        if (outcome === "Done" && operation === "save" && known !== undefined) this.#stored.set(session, epoch)
        if (outcome === "Done" && operation === "remove") this.#stored.delete(session)
        return problemOf(event, known)
      }
      case "TookOver": {
        const known = this.#takenOver.get(event.session)
        if (event.outcome === "Done") this.#takenOver.set(event.session, event.epoch)
        return problemOf(event, known)
      }
      case "Appended": {
        const hasEnded = this.#ended.get(event.session)?.has(event.stream)
        return problemOf(event, this.#takenOver.get(event.session), hasEnded)
      }
      case "StreamEnded": {
        const ended = this.#ended.get(event.session) ?? new Set()
        if (event.outcome === "Done") this.#ended.set(event.session, ended.add(event.stream))
        return problemOf(event, this.#takenOver.get(event.session))
      }
      case "Dropped":
        if (event.outcome === "Done") this.#ended.delete(event.session)
        return problemOf(event, this.#takenOver.get(event.session))
      default:
        return undefined
    }
  }
}

type EpochWrite = Extract<ProcessEvent, { readonly outcome: Write }> & { readonly process: number }

const problemOf = (
  { _tag, epoch, outcome, process, session }: EpochWrite,
  known: number | undefined,
  hasEnded: boolean = false
) => {
  const expected: Write = known !== undefined && known > epoch ? "Superseded" : hasEnded ? "Ended" : "Done"
  return expected === outcome
    ? undefined
    : `${_tag} of process ${process} in epoch ${epoch} of ${session}, whose epoch is ${known}, is ${outcome}`
}

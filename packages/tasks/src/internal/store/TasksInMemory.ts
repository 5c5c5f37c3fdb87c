/** The tasks of a store in memory, by id, in the lists of their owners, and by the time at which they are due. */

import type { Position, TaskLease } from "../../StoredTask.ts"

/** A task in the table. It is kept as JSON, which takes less memory than the value, and which no caller can change. */
export interface TaskRow extends Position {
  readonly owner: string | undefined
  readonly version: number
  /** The lease, if the task has not ended. */
  readonly lease: TaskLease | undefined
  /** The time at which the task may be deleted, in milliseconds since the epoch, or `Infinity`. */
  readonly endsAt: number
  /** The bytes that the task counts. */
  readonly bytes: number
  /** The part of the task that clients see. It is newer than `text`. */
  readonly state: string
  readonly text: string
}

/** The greatest number of tasks and of their bytes: those of one owner, or those of all. */
export interface TaskLimits {
  readonly maxTasks: number
  readonly maxBytes: number
}

/** The tasks of one owner, in the order of their lists. */
interface OwnRows {
  readonly rows: Array<TaskRow>
  bytes: number
}

/** A caller that waits for the change of a task. */
interface Waiter {
  readonly version: number
  readonly notify: () => void
}

/** Returns the time at which a task is due: when it may be deleted, or its lease expires. */
const dueAt = ({ endsAt, lease }: TaskRow): number => Math.min(endsAt, lease?.expiresAt ?? Number.POSITIVE_INFINITY)

const isBefore = (one: Position, other: Position): boolean =>
  one.createdAt < other.createdAt || (one.createdAt === other.createdAt && one.id < other.id)

/** Returns the index of the first row that is not before this position. */
const indexOf = (rows: ReadonlyArray<TaskRow>, position: Position): number => {
  let from = 0
  let to = rows.length
  while (from < to) {
    const middle = (from + to) >>> 1
    const row = rows[middle]
    if (row !== undefined && isBefore(row, position)) from = middle + 1
    else to = middle
  }
  return from
}

/** The tasks of a store in memory, within limits. It drops no task, and an owner without tasks takes no memory. */
export class TasksInMemory {
  readonly #limits: TaskLimits
  readonly #rows = new Map<string, TaskRow>()
  readonly #owners = new Map<string | undefined, OwnRows>()
  readonly #waiters = new Map<string, Set<Waiter>>()
  #bytes = 0

  constructor(limits: TaskLimits) {
    this.#limits = limits
  }

  get(id: string): TaskRow | undefined {
    return this.#rows.get(id)
  }

  insert(row: TaskRow, limits: TaskLimits): "Stored" | "TooMany" | "TooLarge" | "Taken" {
    if (this.#rows.has(row.id)) return "Taken"
    const own = this.#owners.get(row.owner)
    if (this.#rows.size >= this.#limits.maxTasks || (own?.rows.length ?? 0) >= limits.maxTasks) return "TooMany"
    if (this.#isOver(own, row.bytes, limits)) return "TooLarge"
    const grown = own ?? { rows: [], bytes: 0 }
    this.#owners.set(row.owner, grown)
    this.#rows.set(row.id, row)
    grown.rows.splice(indexOf(grown.rows, row), 0, row)
    this.#add(grown, row.bytes)
    return "Stored"
  }

  /** Replaces a row of the table by one with the same id, owner and time of creation. */
  replace(row: TaskRow, limits: TaskLimits): "Stored" | "TooLarge" {
    const own = this.#owners.get(row.owner)
    const more = row.bytes - (this.#rows.get(row.id)?.bytes ?? 0)
    if (own === undefined || (more > 0 && this.#isOver(own, more, limits))) return "TooLarge"
    this.#add(own, more)
    this.update(row)
    return "Stored"
  }

  /** Replaces a row of the table by a later version with the same bytes. */
  update(row: TaskRow): void {
    this.#put(row)
    this.#changed(row.id, row.version)
  }

  /** Sets a lease in place of one of the same owner. Returns whether there was one. */
  renew(id: string, lease: TaskLease): boolean {
    const row = this.#rows.get(id)
    if (row?.lease?.owner !== lease.owner) return false
    this.#put({ ...row, lease: { owner: lease.owner, expiresAt: lease.expiresAt } })
    return true
  }

  delete(id: string): void {
    const row = this.#rows.get(id)
    if (row === undefined) return
    this.#rows.delete(id)
    const own = this.#owners.get(row.owner)
    if (own !== undefined) {
      own.rows.splice(indexOf(own.rows, row), 1)
      this.#add(own, -row.bytes)
      if (own.rows.length === 0) this.#owners.delete(row.owner)
    }
    this.#changed(id, Number.POSITIVE_INFINITY)
  }

  /** Returns the rows of an owner after a position, and whether there are more of them. */
  page(
    owner: string | undefined,
    after: Position | undefined,
    limit: number
  ): { readonly rows: ReadonlyArray<TaskRow>; readonly hasMore: boolean } {
    const rows = this.#owners.get(owner)?.rows ?? []
    const index = after === undefined ? 0 : indexOf(rows, after)
    const row = rows[index]
    const from = row !== undefined && after !== undefined && !isBefore(after, row) ? index + 1 : index
    return { rows: rows.slice(from, from + limit), hasMore: rows.length > from + limit }
  }

  /** Returns the ids of the tasks that are due, those that are due for longest first. */
  due(now: number, limit: number): ReadonlyArray<string> {
    return Array.from(this.#rows.values()).filter((row) => dueAt(row) <= now)
      .toSorted((one, other) => dueAt(one) - dueAt(other)).slice(0, limit).map(({ id }) => id)
  }

  /** Returns whether a task is absent, or has a later version. */
  isPast(id: string, version: number): boolean {
    const row = this.#rows.get(id)
    return row === undefined || row.version > version
  }

  /** Calls `notify` once, when a task has a later version or is deleted. The result stops the wait. */
  watch(id: string, version: number, notify: () => void): () => void {
    const waiter = { version, notify }
    const waiters = this.#waiters.get(id) ?? new Set()
    this.#waiters.set(id, waiters.add(waiter))
    return () => {
      waiters.delete(waiter)
      if (waiters.size === 0 && this.#waiters.get(id) === waiters) this.#waiters.delete(id)
    }
  }

  #put(row: TaskRow): void {
    this.#rows.set(row.id, row)
    const own = this.#owners.get(row.owner)
    if (own !== undefined) own.rows[indexOf(own.rows, row)] = row
  }

  #isOver(own: OwnRows | undefined, more: number, limits: TaskLimits): boolean {
    return (own?.bytes ?? 0) + more > limits.maxBytes || this.#bytes + more > this.#limits.maxBytes
  }

  #add(own: OwnRows, bytes: number): void {
    own.bytes += bytes
    this.#bytes += bytes
  }

  #changed(id: string, version: number): void {
    for (const waiter of this.#waiters.get(id) ?? []) if (waiter.version < version) waiter.notify()
  }
}

/**
 * The stores as a simulated process reaches them: over a network that delays and loses, and only while it lives.
 *
 * An operation that was sent takes effect, whatever happens to its process meanwhile.
 */
import { EventStore, SessionOwners, SessionStore, SupersededError } from "@effect-mcp/session"
import { type StoredTask, TaskStore } from "@effect-mcp/tasks"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ProcessEvent, StoreKind, Write } from "./History.ts"
import type { Lifeline } from "./Lifeline.ts"
import { finalIdIn } from "./Messages.ts"
import type { Command } from "./Script.ts"
import * as StoredCall from "./StoredCall.ts"
import type { Stores, World } from "./World.ts"

type StoreCommand = Extract<Command, { readonly _tag: "Store" }>

/** The fault of the next operations of a process. */
export type StoreFault = Pick<StoreCommand, "fault" | "kind"> & { undisturbed: number; operations: number }

/** The delays of late operations, in milliseconds: longer than a lease, and longer than the deadline of a call. */
const lateMillis = [2500, 6000] as const

/** The cause of a disturbed operation. */
const cause = new Error("the store is disturbed")

/** The stores of one process. */
export class ProcessStores implements Stores {
  readonly owners: SessionOwners.OwnerStore
  readonly sessions: SessionStore.SessionStore["Service"]
  readonly events: EventStore.EventStore["Service"]
  readonly tasks: TaskStore.TaskStore["Service"]
  fault: StoreFault | undefined = undefined
  /** The number of operations without an answer. */
  waiting = 0
  readonly #world: World
  readonly #process: number
  readonly #lifeline: Lifeline
  readonly #record: (event: ProcessEvent) => void

  constructor(world: World, process: number, lifeline: Lifeline, record: (event: ProcessEvent) => void) {
    this.#world = world
    this.#process = process
    this.#lifeline = lifeline
    this.#record = record
    this.owners = this.#makeOwners()
    this.sessions = this.#makeSessions()
    this.events = this.#makeEvents()
    this.tasks = this.#makeTasks()
  }

  #makeOwners(): SessionOwners.OwnerStore {
    const { owners } = this.#world.stores
    const failure = new SessionOwners.SessionOwnersError({ cause })
    const call = <A>(
      operation: string,
      effect: () => Effect.Effect<A, SessionOwners.SessionOwnersError>,
      event?: (value: A) => ProcessEvent
    ) =>
      this.#call("owners", operation, failure, effect, (exit) => Exit.isSuccess(exit) ? event?.(exit.value) : undefined)
    return {
      renew: (lease) =>
        call("renew", () => {
          this.#world.processes.set(lease.process, this.#process)
          return owners.renew(lease)
        }, (stood) => ({ _tag: "Renewed", millis: lease.millis, stood })),
      retire: (process) => call("retire", () => owners.retire(process), () => ({ _tag: "Retired" })),
      locate: (session) =>
        call("locate", () => owners.locate(session), (location) => ({
          _tag: "Located",
          session: this.#session(session),
          place: location._tag === "Owned" ? this.#world.processes.get(location.process) : location._tag
        })),
      claim: (session, epoch, lease) =>
        call("claim", () => owners.claim(session, epoch, lease), (claimed) => ({
          _tag: "Claimed",
          session: this.#session(session),
          epoch,
          millis: lease.millis,
          claimed
        })),
      release: (session, epoch) =>
        call("release", () => owners.release(session, epoch), () => ({
          _tag: "Released",
          session: this.#session(session),
          epoch
        })),
      remove: (session, epoch) =>
        call("remove", () => owners.remove(session, epoch), () => ({
          _tag: "Removed",
          session: this.#session(session),
          epoch
        })),
      lost: (process, sessions) => call("lost", () => owners.lost(process, sessions))
    }
  }

  #makeSessions(): SessionStore.SessionStore["Service"] {
    const { sessions } = this.#world.stores
    const failure = new SessionStore.SessionStoreError({ cause })
    const write = <E>(
      operation: "create" | "save" | "touch" | "remove",
      session: string,
      epoch: number,
      effect: () => Effect.Effect<void, E>
    ) =>
      this.#call("sessions", operation, failure, effect, (exit) => ({
        _tag: "Stored",
        operation,
        session: this.#session(session),
        epoch,
        outcome: outcomeOf(exit)
      }))
    return {
      create: (session) => write("create", session.id, session.epoch, () => sessions.create(session)),
      save: (session) => write("save", session.id, session.epoch, () => sessions.save(session)),
      load: (id) => this.#call("sessions", "load", failure, () => sessions.load(id), () => undefined),
      touch: (id, epoch, usedAt) => write("touch", id, epoch, () => sessions.touch(id, epoch, usedAt)),
      remove: (id, epoch) => write("remove", id, epoch, () => sessions.remove(id, epoch))
    }
  }

  #makeEvents(): EventStore.EventStore["Service"] {
    const { events } = this.#world.stores
    const failure = new EventStore.EventStoreError({ cause })
    const named = ({ session, stream }: EventStore.StreamKey) => ({
      session: this.#session(session),
      stream: this.#world.nameOf("stream", stream)
    })
    return {
      append: (stream, data) =>
        this.#call("events", "append", failure, () => events.append(stream, data), (exit) => ({
          _tag: "Appended",
          ...named(stream),
          epoch: stream.epoch,
          event: Exit.isSuccess(exit) ? this.#world.nameOf("event", exit.value) : undefined,
          answers: finalIdIn(data),
          outcome: outcomeOf(exit)
        })),
      replay: (session, after) =>
        this.#call("events", "replay", failure, () => events.replay(session, after), () => undefined),
      end: (stream) =>
        this.#call("events", "end", failure, () => events.end(stream), (exit) => ({
          _tag: "StreamEnded",
          ...named(stream),
          epoch: stream.epoch,
          outcome: outcomeOf(exit)
        })),
      takeOver: (session, epoch) =>
        this.#call("events", "takeOver", failure, () => events.takeOver(session, epoch), (exit) => ({
          _tag: "TookOver",
          session: this.#session(session),
          epoch,
          outcome: outcomeOf(exit)
        })),
      drop: (session, epoch) =>
        this.#call("events", "drop", failure, () => events.drop(session, epoch), (exit) => ({
          _tag: "Dropped",
          session: this.#session(session),
          epoch,
          outcome: outcomeOf(exit)
        }))
    }
  }

  #makeTasks(): TaskStore.TaskStore["Service"] {
    const { tasks } = this.#world.stores
    const failure = new TaskStore.TaskStoreError({ cause })
    const call = <A>(
      operation: string,
      effect: () => Effect.Effect<A, TaskStore.TaskStoreError>,
      event: (exit: Exit.Exit<A, TaskStore.TaskStoreError>) => ProcessEvent | undefined = () => undefined
    ) => this.#call("tasks", operation, failure, effect, event)
    const load = (id: string) => this.#world.value(tasks.load(id))
    const written = (
      operation: "create" | "replace" | "remove",
      before: StoredTask.StoredTask | undefined,
      after: StoredTask.StoredTask | undefined
    ): ProcessEvent | undefined => {
      const task = after ?? before
      return task && {
        _tag: "TaskStored",
        operation,
        nonce: this.#world.calls.get(task.id) ?? Number.NaN,
        before: before && StoredCall.epochOf(before),
        epoch: after && StoredCall.epochOf(after),
        isEnded: task.outcome !== undefined,
        runs: task.resumption?.runs ?? 0,
        hasCharge: task.steps.length > 0,
        answers: task.questions.filter(({ answer }) => answer !== undefined).length
      }
    }
    return {
      create: (task, limits) =>
        call("create", () => {
          this.#world.calls.set(task.id, StoredCall.nonceOf(task))
          return tasks.create(task, limits)
        }, (exit) => isStored(exit) ? written("create", undefined, task) : undefined),
      replace: (task, limits) => {
        let before: StoredTask.StoredTask | undefined
        return call("replace", () => {
          before = load(task.id)
          return tasks.replace(task, limits)
        }, (exit) => isStored(exit) ? written("replace", before, task) : undefined)
      },
      remove: (id) => {
        let before: StoredTask.StoredTask | undefined
        return call("remove", () => {
          before = load(id)
          return tasks.remove(id)
        }, () => written("remove", before, undefined))
      },
      load: (id) => call("load", () => tasks.load(id)),
      loadState: (id) => call("loadState", () => tasks.loadState(id)),
      renew: (id, lease) => call("renew", () => tasks.renew(id, lease)),
      setMessage: (id, owner, message, updatedAt) =>
        call("setMessage", () => tasks.setMessage(id, owner, message, updatedAt)),
      list: (principal, page) => call("list", () => tasks.list(principal, page)),
      due: (now, limit) => call("due", () => tasks.due(now, limit)),
      awaitChange: (id, version) => this.#awaitChange(tasks.awaitChange(id, version))
    }
  }

  /** Waits for a change. It begins as any other operation, and takes as long as there is no change. */
  #awaitChange(changed: Effect.Effect<void, TaskStore.TaskStoreError>): Effect.Effect<void, TaskStore.TaskStoreError> {
    const waiting = Effect.callback<void>((resume) => {
      const fiber = Effect.runForkWith(this.#world.context)(changed)
      fiber.addObserver(() => {
        this.#world.after(this.#millis(), () => this.#lifeline.enter(() => resume(Effect.void)))
      })
      return Effect.sync(() => fiber.interruptUnsafe())
    })
    const begun = this.#call(
      "tasks",
      "awaitChange",
      new TaskStore.TaskStoreError({ cause }),
      () => Effect.void,
      () => undefined
    )
    return Effect.andThen(begun, waiting)
  }

  #session(id: string): string {
    return this.#world.nameOf("session", id)
  }

  /** Returns the fault of the next operation. */
  #takeFault(kind: StoreKind): StoreCommand["fault"] | undefined {
    const { outage } = this.#world
    if (outage !== undefined) return outage.isSilent ? "Silent" : "Fails"
    const next = this.fault
    if (next === undefined || (next.kind !== "any" && next.kind !== kind)) return undefined
    if (next.undisturbed-- > 0) return undefined
    if (--next.operations <= 0) this.fault = undefined
    return next.fault
  }

  /** Runs an operation of a store. `event` makes the record of its effect. */
  #call<A, E, F>(
    kind: StoreKind,
    operation: string,
    failure: F,
    effect: () => Effect.Effect<A, E>,
    event: (exit: Exit.Exit<A, E>) => ProcessEvent | undefined
  ): Effect.Effect<A, E | F> {
    const run = (): Exit.Exit<A, E> => {
      const exit = this.#world.stored(effect())
      const happened = event(exit)
      if (happened !== undefined) this.#record(happened)
      return exit
    }
    const taken = this.#takeFault(kind)
    // The library does not limit the time of a wait, so that the port permits no silence.
    const fault = operation === "awaitChange" && taken !== undefined ? "Fails" : taken
    if (fault !== undefined) {
      this.#record({ _tag: "StoreFailed", kind, operation, isOutage: this.#world.outage !== undefined })
    }
    const { storeMillis } = this.#world
    // The port permits operations that complete at once, and the library then needs no fiber for them.
    if (storeMillis === 0 && fault === undefined && !this.#lifeline.isStruck && this.#lifeline.isRunning) return run()
    return Effect.callback<A, E | F>((resume) => {
      this.waiting++
      this.#lifeline.operation(() => {
        const late = fault === "Late" ? lateMillis[this.#world.below(lateMillis.length)] ?? 0 : 0
        const isAnswerLate = late > 0 && this.#world.below(2) === 0
        const reply = (exit: Exit.Exit<A, E | F>) => {
          const millis = this.#millis() + (isAnswerLate ? late : 0)
          this.#world.after(millis, () =>
            this.#lifeline.enter(() => {
              this.waiting--
              resume(exit)
            }))
        }
        this.#world.after(this.#millis() + (isAnswerLate ? 0 : late), () => {
          // An outage has no effect. A fault of one process loses only the answer.
          const isLost = fault === "Fails" || (fault === "Silent" && this.#world.outage !== undefined)
          const exit = isLost ? Exit.fail(failure) : run()
          if (fault !== "Silent") reply(fault === "Lost" ? Exit.fail(failure) : exit)
        })
      })
    })
  }

  #millis(): number {
    const { storeMillis } = this.#world
    return storeMillis === 0 ? 1 : this.#world.below(storeMillis)
  }
}

/** Returns whether a write of the store of tasks has changed it. */
const isStored = (exit: Exit.Exit<unknown, unknown>): boolean => Exit.isSuccess(exit) && exit.value === "Stored"

/** Returns the outcome of a write. A store in memory fails for no other reason. */
const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Write => {
  if (Exit.isSuccess(exit)) return "Done"
  return Cause.squash(exit.cause) instanceof SupersededError.SupersededError ? "Superseded" : "Ended"
}

/** The world of a simulation of a fleet: its clock, the contents of the stores, the outages, and the record. */
import { EventStore, SessionOwners, SessionStore } from "@effect-mcp/session"
import { TaskStore } from "@effect-mcp/tasks"
import { VirtualRuntime } from "@effect-mcp/testing"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import type { Event, Left, WorldEvent } from "./History.ts"
import { principals } from "./principals.ts"
import type { Command, Script } from "./Script.ts"

/** The longest time of a message over the network, in milliseconds. */
const latencyMillis = 8

/** The faults of one request. */
export type NetworkFault = Extract<Command, { readonly _tag: "Network" }>["fault"]

/** The sender of a request: a client or a process. */
export type SenderKind = Extract<Command, { readonly _tag: "Network" }>["of"]

type EventStoreService = EventStore.EventStore["Service"]
type SessionStoreService = SessionStore.SessionStore["Service"]

/** The contents of the stores. */
export interface Stores {
  readonly owners: SessionOwners.OwnerStore
  readonly sessions: SessionStoreService
  readonly events: EventStoreService
  readonly tasks: TaskStore.TaskStore["Service"]
}

export class World {
  readonly runtime: VirtualRuntime.VirtualRuntime
  readonly events: Array<Event> = []
  readonly stores: Stores
  /** The services of the programs of the world, whose clock and scheduler the processes share. */
  readonly context: Context.Context<never>
  readonly storeMillis: number
  readonly sleeps: boolean
  /** The outage of the stores, if there is one. */
  outage: { readonly isSilent: boolean } | undefined = undefined
  /** The numbers of the processes, by the ids of their leases. */
  readonly processes = new Map<string, number>()
  /** The numbers of the calls that were stored, by the ids of their tasks. */
  readonly calls = new Map<string, number>()
  /** The number of requests that processes serve. They alone wait for promises. */
  served = 0
  readonly #outages: Array<() => void> = []
  readonly #networkFaults = new Map<SenderKind, NetworkFault>()
  readonly #scope = Scope.makeUnsafe()
  readonly #random: typeof Random.Random["Service"]
  readonly #names = new Map<string, string>()
  #exchanges = 0
  #nonces = 0

  constructor({ interleaving, seed, sleeps, storeMillis }: Script) {
    this.runtime = VirtualRuntime.make({ interleaving, seed })
    this.storeMillis = storeMillis
    this.sleeps = sleeps
    this.context = this.now(Effect.context<never>())
    this.#random = this.now(Effect.service(Random.Random))
    this.stores = {
      owners: this.now(SessionOwners.makeStoreInMemory),
      sessions: this.now(SessionStore.makeMemory()),
      events: this.now(
        Effect.provideService(EventStore.makeMemory({ endedStreamTimeout: "1 hour" }), Scope.Scope, this.#scope)
      ),
      tasks: this.now(TaskStore.makeMemory())
    }
  }

  get clock(): Clock.Clock {
    return this.runtime.clock
  }

  record(event: WorldEvent): void {
    this.events.push({ at: this.runtime.now(), ...event })
  }

  nextExchange(): number {
    return ++this.#exchanges
  }

  nextNonce(): number {
    return ++this.#nonces
  }

  /** Returns a name for a random id, which does not change from run to run. */
  nameOf(kind: "session" | "process" | "stream" | "event", id: string): string {
    const known = this.#names.get(`${kind} ${id}`)
    if (known !== undefined) return known
    const name = `${kind}-${this.#names.size}`
    this.#names.set(`${kind} ${id}`, name)
    return name
  }

  /** Returns a random whole number from 0 to one below this limit. */
  below(limit: number): number {
    return Math.floor(this.#random.nextDoubleUnsafe() * limit)
  }

  /** Returns the time of a message over the network. */
  latency(): number {
    return 1 + this.below(latencyMillis)
  }

  /** Calls a function after a time, unless it is cancelled before. */
  after(millis: number, action: () => void): () => void {
    const fiber = Effect.runForkWith(this.context)(Effect.andThen(Effect.sleep(millis), Effect.sync(action)))
    return () => fiber.interruptUnsafe()
  }

  /** Begins an outage of the stores, which ends after a time. */
  beginOutage(isSilent: boolean, millis: number): void {
    this.endOutage()
    this.outage = { isSilent }
    this.record({ _tag: "OutageBegan" })
    this.#outages.push(this.after(millis, () => this.endOutage()))
  }

  endOutage(): void {
    for (const cancel of this.#outages.splice(0)) cancel()
    if (this.outage === undefined) return
    this.outage = undefined
    this.record({ _tag: "OutageEnded" })
  }

  /** Disturbs the next request of a sender. */
  disturb(of: SenderKind, fault: NetworkFault): void {
    this.#networkFaults.set(of, fault)
  }

  /** Returns the fault of the next request of a sender, which has no other one then. */
  takeNetworkFault(of: SenderKind): NetworkFault | undefined {
    const fault = this.#networkFaults.get(of)
    this.#networkFaults.delete(of)
    return fault
  }

  endNetworkFaults(): void {
    this.#networkFaults.clear()
  }

  /** Runs an effect that takes no time. */
  now<A, E>(effect: Effect.Effect<A, E>): A {
    const exit = this.runtime.start(effect).pollUnsafe()
    if (exit === undefined || Exit.isFailure(exit)) throw new Error("the effect takes time, or fails")
    return exit.value
  }

  /** Runs an operation of a store in memory, which completes at once. */
  stored<A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> {
    const exit = Effect.runForkWith(this.context)(effect).pollUnsafe()
    if (exit === undefined) throw new Error("an operation of a store in memory takes time")
    return exit
  }

  /** Returns the result of an operation of a store in memory. */
  value<A>(effect: Effect.Effect<A, unknown>): A | undefined {
    return valueOf(this.stored(effect))
  }

  /** Returns what the stores have of sessions. */
  left(): ReadonlyArray<Left> {
    const { events, owners, sessions } = this.stores
    return Array.from(this.#names).flatMap(([key, session]): ReadonlyArray<Left> => {
      const id = /^session (.*)$/.exec(key)?.[1]
      if (id === undefined) return []
      const isOwned = valueOf(this.stored(owners.locate(id)))?._tag !== "Unknown"
      const isStored = valueOf(this.stored(sessions.load(id))) !== undefined
      const streams = valueOf(this.stored(events.takeOver(id, Number.MAX_SAFE_INTEGER)))
      return [
        ...isOwned ? [{ session, what: "an owner" as const }] : [],
        ...isStored ? [{ session, what: "the entry" as const }] : [],
        ...(streams ?? []).length > 0 ? [{ session, what: "a stream" as const }] : []
      ]
    })
  }

  /** Returns the numbers of the calls that are stored. */
  storedCalls(): ReadonlyArray<number> {
    const { tasks } = this.stores
    return Array.from(principals.values()).flatMap(({ id }) => {
      const listed = valueOf(this.stored(tasks.list(id, { limit: 1000 })))
      return listed?._tag !== "Page" ? [] : listed.tasks.map(({ id }) => this.calls.get(id) ?? Number.NaN)
    })
  }

  /** Ends the stores. */
  close(): void {
    this.runtime.start(Scope.close(this.#scope, Exit.void))
  }
}

const valueOf = <A>(exit: Exit.Exit<A, unknown>): A | undefined => Exit.isSuccess(exit) ? exit.value : undefined

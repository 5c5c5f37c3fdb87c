/** Fleets with resumable tools, whose processes share the stores of sessions, events and tasks, and their faults. */
import { McpError } from "@effect-mcp/protocol"
import { EventStore, RequestContext, SessionOwners, type SessionStore } from "@effect-mcp/session"
import { ServerTasks, type StoredTask, TaskStore } from "@effect-mcp/tasks"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { makeStores, startProcess } from "../../../transport/test/support/fleet.ts"
import {
  type Client,
  type ClientOptions,
  connect,
  type ReceivedResponse
} from "../../../transport/test/support/httpClient.ts"
import { until } from "../../../transport/test/support/process.ts"
import { type Settings, text, tools } from "../../../transport/test/support/server.ts"

// =====================================================================================================================
// Faults of stores
// =====================================================================================================================

/** A fault of one call of an operation. `E` is the error of the store. */
export type Fault<E> = <A, E1>(operation: Effect.Effect<A, E1>, error: E) => Effect.Effect<A, E | E1>

/** No fault. */
export const passed: Fault<unknown> = (operation) => operation

/** The operation fails and has no effect. */
export const failed: Fault<unknown> = (_, error) => Effect.fail(error)

/** The operation has its effect, and its reply is lost. */
export const replyLost: Fault<unknown> = (operation, error) => Effect.andThen(operation, Effect.fail(error))

/** The operation begins after a time in milliseconds. */
export const delayed = (millis: number): Fault<unknown> => (operation) => Effect.delay(operation, millis)

/** The operation never ends, and has no effect. */
export const hung: Fault<unknown> = () => Effect.never

/** A fault of which each call waits until the test lets it go on. */
export interface Gate {
  readonly fault: Fault<unknown>
  /** Waits until a call waits. */
  readonly reached: Effect.Effect<void>
  readonly open: Effect.Effect<void>
}

/** Makes a gate. `after`: the operation has its effect before it waits. */
export const makeGate = (isAfter = false): Gate => {
  const opened = Deferred.makeUnsafe<void>()
  const reached = Deferred.makeUnsafe<void>()
  const wait = Effect.suspend(() => {
    Deferred.doneUnsafe(reached, Exit.void)
    return Deferred.await(opened)
  })
  return {
    fault: (operation) => isAfter ? Effect.tap(operation, wait) : Effect.andThen(wait, operation),
    reached: Deferred.await(reached),
    open: Effect.sync(() => Deferred.doneUnsafe(opened, Exit.void))
  }
}

/** The faults of a store, as one process uses it. */
export class Faults<Name extends string, E> {
  readonly #next = new Map<Name, Array<Fault<E>>>()
  readonly #always = new Map<Name, Fault<E>>()
  readonly #makeError: () => E
  readonly #millis: number

  constructor(makeError: () => E, millis: number) {
    this.#makeError = makeError
    this.#millis = millis
  }

  /** Gives the next calls of an operation these faults, one each. */
  next(name: Name, ...faults: ReadonlyArray<Fault<E>>): void {
    this.#next.set(name, [...this.#next.get(name) ?? [], ...faults])
  }

  /** Gives each call of these operations a fault, unless `next` has one for it. */
  always(fault: Fault<E>, ...names: ReadonlyArray<Name>): void {
    for (const name of names) this.#always.set(name, fault)
  }

  /** Returns an operation that has the faults with this name. */
  of<Args extends ReadonlyArray<unknown>, A, E1>(
    name: Name,
    operation: (...args: Args) => Effect.Effect<A, E1>
  ): (...args: Args) => Effect.Effect<A, E | E1> {
    return (...args) => {
      const fault = this.#next.get(name)?.shift() ?? this.#always.get(name)
      if (fault === undefined && this.#millis === 0) return operation(...args)
      const slow = Effect.delay(Effect.suspend(() => operation(...args)), this.#millis)
      return fault === undefined ? slow : fault(slow, this.#makeError())
    }
  }
}

type TaskOperation = Exclude<keyof TaskStore.TaskStore["Service"], "awaitChange">

/** The operations of a store of tasks. A fault of all of them makes the store one that hangs, or is away. */
export const taskOperations: ReadonlyArray<TaskOperation> = [
  "create",
  "load",
  "loadState",
  "replace",
  "renew",
  "setMessage",
  "list",
  "remove",
  "due"
]

const faultyTasks = (
  store: TaskStore.TaskStore["Service"],
  faults: Faults<TaskOperation, TaskStore.TaskStoreError>
): TaskStore.TaskStore["Service"] => ({
  create: faults.of("create", store.create),
  load: faults.of("load", store.load),
  loadState: faults.of("loadState", store.loadState),
  replace: faults.of("replace", store.replace),
  renew: faults.of("renew", store.renew),
  setMessage: faults.of("setMessage", store.setMessage),
  list: faults.of("list", store.list),
  remove: faults.of("remove", store.remove),
  awaitChange: store.awaitChange,
  due: faults.of("due", store.due)
})

const faultyEvents = (
  store: EventStore.EventStore["Service"],
  faults: Faults<keyof EventStore.EventStore["Service"], EventStore.EventStoreError>
): EventStore.EventStore["Service"] => ({
  append: faults.of("append", store.append),
  replay: faults.of("replay", store.replay),
  end: faults.of("end", store.end),
  takeOver: faults.of("takeOver", store.takeOver),
  drop: faults.of("drop", store.drop)
})

/** The stores of sessions have a delay, and no faults: no test of durable calls needs one. */
const slowSessions = (store: SessionStore.SessionStore["Service"], millis: number) => {
  const faults = new Faults<keyof SessionStore.SessionStore["Service"], never>(() => {
    throw new Error("a store of sessions has no faults")
  }, millis)
  return {
    create: faults.of("create", store.create),
    save: faults.of("save", store.save),
    load: faults.of("load", store.load),
    touch: faults.of("touch", store.touch),
    remove: faults.of("remove", store.remove)
  }
}

// =====================================================================================================================
// Fleets
// =====================================================================================================================

const question = { message: "Book it?", requestedSchema: { type: "object", properties: {} } } as const

const asked = Effect.mapError(RequestContext.elicit(question), () => McpError.invalidRequest("not answered"))

const sampled = Effect.mapError(
  RequestContext.createMessage({ messages: [], maxTokens: 1 }),
  () => McpError.invalidRequest("not answered")
)

/** The tools of a fleet, and what it counts of them. `standing` holds up the tools that stand. */
const makeTools = (standing: Effect.Effect<void>) => {
  const counts = { answered: 0, charged: 0, crashed: 0, looked: 0, started: 0 }
  const handedOn = new Array<boolean>()
  const charge = RequestContext.once("charge", { success: Schema.Number }, Effect.sync(() => ++counts.charged))
  const quick = Effect.as(Effect.sleep("400 millis"), text("quick"))
  const waits = Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never)
  const booking = (answer: Effect.Effect<string, McpError.McpError, RequestContext.RequestContext>) =>
    Effect.gen(function*() {
      counts.started++
      yield* RequestContext.progress({ progress: 1 })
      const number = yield* charge
      yield* RequestContext.progress({ progress: 2 })
      return text(`${number} ${yield* answer}`)
    })
  return {
    counts,
    handedOn,
    handlers: tools({
      book: booking(Effect.map(asked, ({ action }) => action)),
      /** Asks as revision 2025-03-26 can as well. */
      sample: booking(Effect.map(sampled, ({ model }) => model)),
      /** Asks, and reports progress while its client has the question. */
      chatty: Effect.gen(function*() {
        const reports = Effect.forEach(
          [1, 2, 3, 4],
          (progress) => Effect.delay(RequestContext.progress({ progress }), "50 millis")
        )
        const [{ action }] = yield* Effect.all([asked, reports], { concurrency: "unbounded" })
        return text(action)
      }),
      /** Asks in two branches by one key, one of which waits for a short time. */
      shared: Effect.gen(function*() {
        const ask = (options: RequestContext.QuestionOptions) =>
          Effect.result(RequestContext.elicit(question, { key: "book", ...options }))
        const branches = yield* Effect.all([ask({ timeout: "300 millis" }), ask({})], { concurrency: "unbounded" })
        return text(branches.map(({ _tag }) => _tag).join())
      }),
      /** Asks for a short time, stands, and asks again by the same key. */
      rejoined: Effect.gen(function*() {
        const ask = (options: RequestContext.QuestionOptions) =>
          Effect.result(RequestContext.elicit(question, { key: "book", ...options }))
        const first = yield* Effect.forkChild(ask({ timeout: "300 millis" }))
        yield* standing
        const results = [yield* ask({}), yield* Fiber.join(first)]
        return text(results.map(({ _tag }) => _tag).join())
      }),
      crash: Effect.andThen(Effect.sync(() => void counts.crashed++), waits),
      quick,
      /** Reads, and ends in its second run. */
      look: Effect.suspend(() => ++counts.looked === 1 ? waits : Effect.succeed(text("seen"))),
      /** Reads, and asks. */
      lookAndAsk: Effect.map(asked, ({ action }) => text(action)),
      /** Reads in its first run. Asks in its second one, and reports progress before and after that. */
      lookThenAsk: Effect.suspend(() =>
        ++counts.looked === 1 ? waits : Effect.gen(function*() {
          yield* RequestContext.progress({ progress: 2 })
          const { action } = yield* asked
          for (const progress of [2, 3]) yield* RequestContext.progress({ progress })
          return text(action)
        })
      ),
      /** Takes a step after some time. */
      step: Effect.map(Effect.andThen(Effect.sleep("400 millis"), charge), (number) => text(String(number))),
      /** Stands before its step in its first run. */
      late: Effect.gen(function*() {
        const run = ++counts.started
        yield* RequestContext.progress({ progress: 1 })
        if (run === 1) yield* standing
        return text(String(yield* charge))
      }),
      /** Stands before its question in its first run, and records whether it is handed on when it is interrupted. */
      outside: Effect.gen(function*() {
        const run = ++counts.started
        yield* RequestContext.progress({ progress: 1 })
        if (run === 1) yield* standing
        const { action } = yield* asked
        counts.answered++
        return text(action)
      }).pipe(
        Effect.onInterrupt(() => Effect.map(RequestContext.isHandedOn, (isHandedOn) => handedOn.push(isHandedOn)))
      ),
      /** Ends with a defect when it is cancelled. */
      stubborn: Effect.ensuring(waits, Effect.die("a finalizer that fails")),
      plain: waits
    })
  }
}

const resumable = { support: "forbidden", resumable: true } as const

const repeatable = { support: "forbidden", resumable: "untilAsked" } as const

/** Options for a process of a fleet. */
export interface ProcessOptions {
  readonly http?: Settings["http"]
  readonly limits?: NonNullable<Settings["session"]>["limits"]
  readonly tasks?: ServerTasks.TaskOptions
  /** Runs when a client subscribes, and when its session is restored. */
  readonly onSubscribe?: Effect.Effect<void>
}

/** Options for a fleet. */
export interface FleetOptions {
  /** The time that each operation of a store takes, in milliseconds. Default 0: the stores answer at once. */
  readonly millis?: number
  readonly events?: EventStore.MemoryOptions
}

/** Makes a fleet, whose processes count what the tools do. */
export const makeFleet = Effect.fnUntraced(function*({ events: eventOptions, millis = 0 }: FleetOptions = {}) {
  const { ownerStore, sessionStore, store: defaultStore } = yield* makeStores
  const store = eventOptions === undefined ? defaultStore : yield* EventStore.makeMemory(eventOptions)
  const memory = yield* TaskStore.makeMemory()
  const gate = yield* Deferred.make<void>()
  const { counts, handedOn, handlers } = makeTools(Deferred.await(gate))

  const start = Effect.fnUntraced(function*({ http, limits, tasks: options, ...more }: ProcessOptions = {}) {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const tasks = new Faults<TaskOperation, TaskStore.TaskStoreError>(
      () => new TaskStore.TaskStoreError({ cause: "a fault" }),
      millis
    )
    const events = new Faults<keyof EventStore.EventStore["Service"], EventStore.EventStoreError>(
      () => new EventStore.EventStoreError({ cause: "a fault" }),
      millis
    )
    const made = yield* ServerTasks.make({
      tools: {
        book: resumable,
        chatty: resumable,
        crash: resumable,
        late: resumable,
        look: repeatable,
        outside: resumable,
        lookAndAsk: repeatable,
        lookThenAsk: repeatable,
        quick: resumable,
        rejoined: resumable,
        sample: resumable,
        shared: resumable,
        step: resumable,
        stubborn: resumable
      },
      ...options
    }).pipe(Effect.provideService(TaskStore.TaskStore, faultyTasks(memory, tasks)), Scope.provide(scope))
    let isCutOff = false
    const renew: SessionOwners.OwnerStore["renew"] = (lease) =>
      isCutOff ? Effect.fail(new SessionOwners.SessionOwnersError({ cause: "cut off" })) : ownerStore.renew(lease)
    const process = yield* startProcess(
      {
        store: faultyEvents(store, events),
        sessionStore: slowSessions(sessionStore, millis),
        ownerStore: { ...ownerStore, renew }
      },
      {
        ...handlers,
        "resources/list": () => Effect.succeed({ resources: [] }),
        "resources/subscribe": () => Effect.as(more.onSubscribe ?? Effect.void, {}),
        "resources/unsubscribe": () => Effect.succeed({})
      },
      {
        session: { tasks: made, limits: { gracefulTimeout: "30 seconds", ...limits } },
        http: { responseMode: "stream", ...http },
        authentication: { identify: () => Effect.succeed({ id: "ada" }) }
      }
    )
    /** Ends the lease of the process. It runs on, as one that was paused does. */
    const cutOff = Effect.suspend(() => {
      isCutOff = true
      return ownerStore.retire(process.owners.process)
    })
    /** Sets whether the process can renew its lease. */
    const setRenewing = (isRenewing: boolean) =>
      Effect.sync(() => {
        isCutOff = !isRenewing
      })
    /** Stops the process, and then its tasks. */
    const end = Effect.andThen(process.stop, Scope.close(scope, Exit.void))
    return { ...process, cutOff, end, setRenewing, faults: { tasks, events } }
  })

  /** The stored tasks, which no fault hides. */
  const stored = Effect.flatMap(
    Effect.suspend(() => memory.list("ada", { limit: 100 })),
    (listed) => Effect.forEach(listed._tag === "Page" ? listed.tasks : [], ({ id }) => memory.load(id))
  ).pipe(Effect.map((tasks) => tasks.filter((task) => task !== undefined)), Effect.orDie)

  return {
    counts,
    /** Whether each interrupted run of the tool `outside` was handed on. */
    handedOn,
    start,
    /** Lets the tools that stand go on. */
    goOn: Deferred.succeed(gate, undefined),
    tasks: memory,
    stored,
    storedCount: Effect.map(stored, ({ length }) => length),
    /** Waits until the stored tasks are like this. */
    awaitStored: (isSo: (tasks: ReadonlyArray<StoredTask.StoredTask>) => boolean) =>
      until(() => isSo(Effect.runSync(stored)))
  }
})

/** A fleet. */
export type Fleet = Effect.Success<ReturnType<typeof makeFleet>>

/** A process of a fleet. */
export type FleetProcess = Effect.Success<ReturnType<Fleet["start"]>>

/** Opens a session of a client that answers questions. */
export const open = (process: { readonly port: number }, revision?: ClientOptions["revision"]) =>
  connect(process, {
    capabilities: { elicitation: {}, sampling: {} },
    ...(revision === undefined ? undefined : { revision })
  })

/** Calls a tool under the id "c". */
export const call = (client: Client, tool = "book") => client.call("c", tool)

/** Returns what the messages of a response are: steps of progress, methods, codes of errors, and texts of results. */
export const methods = ({ messages }: ReceivedResponse) =>
  messages.map(({ error, method, params, result }) =>
    method === "notifications/progress"
      ? params?.["progress"]
      : method ?? error?.code ?? Object(Object(result)["content"])[0]?.text
  )

/** Returns the id of the first question in a response. */
export const questionIn = ({ messages }: ReceivedResponse) =>
  messages.find(({ id, method }) => method !== undefined && id !== undefined)?.id

/** A client whose call has asked its question. */
export interface Booking {
  readonly client: Client
  readonly response: ReceivedResponse
  readonly question: unknown
}

/** Opens a session at a process, calls a tool, and waits for its question, and until the store knows of that. */
export const book = Effect.fnUntraced(function*(
  fleet: Fleet,
  process: FleetProcess,
  { revision, tool }: { readonly revision?: ClientOptions["revision"]; readonly tool?: string } = {}
) {
  const client = yield* open(process, revision)
  const response = yield* call(client, tool)
  yield* until(() => questionIn(response) !== undefined || response.isClosed)
  yield* fleet.awaitStored((tasks) => tasks.some(({ questions }) => questions.some(({ isSent }) => isSent)))
  return { client, response, question: questionIn(response) }
})

/** The answer of a client that accepts an elicitation. */
export const accepted = { action: "accept", content: {} }

/** The answer to the question of the tool `sample`. */
export const sampledAnswer = { role: "assistant", content: { type: "text", text: "" }, model: "accept" }

/** Accepts the question of a call. */
export const accept = (client: Client, question: unknown) => client.respond(question, accepted)

/** The cancellation of a call. */
export const cancellation = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c" } }

/** Cancels a call. */
export const cancel = (client: Client) => client.exchange({ body: cancellation })

/** Cancels a call, and does not wait for the response. */
export const sendCancel = (client: Client) => client.send({ body: cancellation })

/** Accepts the question of a call, and does not wait for the response. */
export const sendAccept = (client: Client, id: unknown) =>
  client.send({ body: { jsonrpc: "2.0", id, result: accepted } })

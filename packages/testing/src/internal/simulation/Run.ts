/**
 * The execution of one conversation in virtual time, and its judgement by the model and by the laws of every server.
 */
import { type ClientSession, RequestError, type SessionEvent, type Transport } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Faults from "../../Faults.ts"
import * as VirtualRuntime from "../../VirtualRuntime.ts"
import type { Outcome, Returned } from "./Action.ts"
import type { Entry } from "./Journal.ts"
import * as Linearization from "./Linearization.ts"
import * as ProtocolLaws from "./ProtocolLaws.ts"
import * as Report from "./Report.ts"
import { everyRequestEnds, nothingLeft, unended, type Violation } from "./Search.ts"
import * as Served from "./Served.ts"
import { type Conversation, type Revisions, type Step, textOf, titleOf } from "./Steps.ts"
import { type Connection, World } from "./World.ts"

/** Serves one connection. `observe` receives the events of the session, if it is a session of this library. */
export type Serve<R> = (
  observe: (event: SessionEvent.SessionEvent) => void
) => Effect.Effect<unknown, unknown, Transport.Transport | Scope.Scope | R>

/** The programs of a simulation. Each conversation runs all of them anew. */
export interface Programs<Model, R> {
  /** The model before the first command. */
  readonly model: Model
  /** Creates the server of one conversation. */
  readonly server: Effect.Effect<Serve<R>, unknown, Scope.Scope | R>
  /** Opens the session of one client, which supports these revisions. */
  readonly client: (
    revisions: Revisions
  ) => Effect.Effect<ClientSession.ClientSessionShape, unknown, Transport.Transport | Scope.Scope | R>
  /** The services that all programs of one conversation share. */
  readonly services: Layer.Layer<R, unknown>
  /** The greatest number of commands in flight. */
  readonly concurrency: number
  /** Whether a command has a precondition. */
  readonly hasPreconditions: boolean
}

/** The reason why a program cannot be simulated: something outside resumed it. */
export interface RealIo {
  /** The command, the handshake or the services that were waiting. */
  readonly activity: string
}

/** A conversation after its end. */
export interface ConversationResult {
  readonly violations: ReadonlyArray<Violation>
  /** Everything that happened to the clients, line by line. */
  readonly transcript: string
  /** The names of the commands that were started. */
  readonly started: ReadonlyArray<string>
}

/** The greatest virtual time that a command takes after the last step, in milliseconds. */
const commandTimeout = 600_000

/** The virtual time that all sessions have to close, in milliseconds. */
const closeTimeout = 120_000

/** The virtual time after which an activity is suspected to wait for real I/O, in milliseconds. */
const suspectAfter = 1000

/** The real time in which real I/O may show, in milliseconds. */
const realPause = 100

/** Waits in real time, whatever clock the caller has. */
const pause: Effect.Effect<void> = Effect.callback((resume) => {
  const timer = setTimeout(() => resume(Effect.void), realPause)
  return Effect.sync(() => clearTimeout(timer))
})

/** Something that is waited for: a command, a handshake, or the services. */
interface Activity {
  readonly name: string
  readonly startedAt: number
  /** Whether a fault explains that it takes long. */
  readonly isHindered: () => boolean
}

/** A command that was started. */
interface Operation<Model> extends Linearization.Operation<Model>, Activity {
  ended: number | undefined
  returned: Returned<Model> | undefined
  readonly title: string
  readonly client: number
  readonly overlaps: boolean
  isInterrupted: boolean
  fiber: Fiber.Fiber<unknown, unknown> | undefined
}

/** A session of a client, and its connection. */
interface Session {
  readonly client: number
  readonly connection: Connection
  readonly opened: Deferred.Deferred<ClientSession.ClientSessionShape, unknown>
  /** Whether a fault may have kept a message from its receiver, or may have ended the session. */
  isDisturbed: boolean
  isStalled: boolean
}

/** Reasons that a disturbed connection explains; the others need a lossy one. */
const ofConnection: ReadonlySet<RequestError.RequestErrorReason["_tag"]> = new Set([
  "Closed",
  "ExchangeEnded",
  "WrongState",
  "OutcomeUnknown",
  "SendFailed",
  "Timeout"
])

const errorOf = (cause: Cause.Cause<unknown>): unknown => Option.getOrUndefined(Cause.findErrorOption(cause))

const describe = (cause: Cause.Cause<unknown>): string => {
  const error = errorOf(cause)
  return error instanceof Error ? error.message : error === undefined ? Cause.pretty(cause) : textOf(error)
}

/** One conversation while it runs. */
class Run<Model, R> {
  readonly #programs: Programs<Model, R>
  readonly #conversation: Conversation<Model, R>
  readonly #suspected: Set<string>
  readonly #world: World
  readonly #runtime: VirtualRuntime.VirtualRuntime
  readonly #scope = Scope.makeUnsafe()
  readonly #services = Deferred.makeUnsafe<Context.Context<R>, unknown>()
  readonly #server = Deferred.makeUnsafe<Serve<R>, unknown>()
  /** All sessions, in the order in which they were opened, and that of each client. */
  readonly #sessions: Array<Session> = []
  readonly #current = new Map<number, Session>()
  readonly #operations: Array<Operation<Model>> = []
  readonly #activities = new Set<Activity>()
  readonly #violations: Array<Violation> = []
  readonly #isLossy: boolean
  #order = 0

  constructor(programs: Programs<Model, R>, conversation: Conversation<Model, R>, suspected: Set<string>) {
    this.#programs = programs
    this.#conversation = conversation
    this.#suspected = suspected
    this.#world = new World(conversation)
    this.#runtime = this.#world.runtime
    this.#isLossy = Faults.isLossy(conversation.faults)
  }

  *run(): Generator<Effect.Effect<void, RealIo>, ConversationResult, void> {
    this.#build()
    yield* this.#idle(0)
    for (const step of this.#conversation.steps) {
      if (this.#violations.length > 0) break
      yield* this.#take(step)
    }
    this.#world.recover()
    yield* this.#idle(0)
    for (const { name } of this.#activities) {
      this.#violate(
        everyRequestEnds,
        `${name} did not end within ${commandTimeout / 1000} s of virtual time. It waits for something that does not ` +
          "happen there, such as a Deferred that nothing completes, or real I/O (a timer of the platform, a promise, " +
          "a socket)"
      )
    }
    this.#judge()
    this.#close()
    return {
      violations: this.#violations,
      transcript: this.#transcript(),
      started: this.#operations.map(({ name }) => name)
    }
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Programs
  // ---------------------------------------------------------------------------------------------------------------

  /** Runs a program with the services of the conversation. */
  #provide<A, E>(program: Effect.Effect<A, E, R>): Effect.Effect<A, unknown> {
    return Effect.flatMap(Deferred.await(this.#services), (services) => Effect.provideContext(program, services))
  }

  #build(): void {
    this.#await(
      "the services of the simulation",
      Layer.buildWithScope(this.#programs.services, this.#scope),
      this.#services
    )
    this.#await("the server", this.#provide(Scope.provide(this.#programs.server, this.#scope)), this.#server)
  }

  /** Starts a program on which the conversation depends. Its failure is a violation, unless a fault explains it. */
  #await<A>(
    name: string,
    program: Effect.Effect<A, unknown>,
    into: Deferred.Deferred<A, unknown>,
    isHindered = () => false
  ): void {
    const activity: Activity = { name, startedAt: this.#runtime.now(), isHindered }
    this.#activities.add(activity)
    this.#runtime.start(program.pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          this.#activities.delete(activity)
          if (Exit.isSuccess(exit)) return
          this.#note(undefined, `${name} failed: ${describe(exit.cause)}`)
          if (!isHindered()) this.#violate("law 1: every session opens", `${name} failed: ${describe(exit.cause)}`)
        })
      ),
      Deferred.into(into)
    ))
  }

  /** Returns the session of a client. It opens one if the client has none. */
  #session(client: number): Session {
    const current = this.#current.get(client)
    if (current !== undefined) return current
    const connection = this.#world.connect()
    const session: Session = {
      client,
      connection,
      opened: Deferred.makeUnsafe(),
      isDisturbed: false,
      isStalled: false
    }
    this.#sessions.push(session)
    this.#current.set(client, session)
    const isHindered = () => session.isDisturbed || this.#isLossy
    const observe = (event: SessionEvent.SessionEvent) => {
      if (event._tag !== "HandlerFailed") return
      this.#note(client, `the handler of ${event.method} died: ${Cause.pretty(event.cause)}`)
    }
    this.#await(
      `the server of client ${client}`,
      Effect.flatMap(
        Deferred.await(this.#server),
        (serve) => this.#provide(this.#world.attach(connection, "server", serve(observe)))
      ),
      Deferred.makeUnsafe<unknown, unknown>(),
      isHindered
    )
    this.#await(
      `the handshake of client ${client}`,
      this.#provide(this.#world.attach(connection, "client", this.#programs.client(this.#conversation.revisions))),
      session.opened,
      isHindered
    )
    return session
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Steps
  // ---------------------------------------------------------------------------------------------------------------

  *#take(step: Step<Model, R>): Generator<Effect.Effect<void, RealIo>, void, void> {
    switch (step._tag) {
      case "Command": {
        yield* this.#idle(step.overlaps ? this.#programs.concurrency - 1 : 0)
        if (this.#violations.length === 0) this.#start(step)
        return
      }
      case "Advance":
        return yield* this.#pass(this.#runtime.now() + step.millis, () => false)
      case "Interrupt": {
        const operation = this.#inFlight().find(({ client }) => client === step.client)
        if (operation === undefined) return
        this.#note(step.client, `gives up ${operation.title}`)
        operation.isInterrupted = true
        return this.#runtime.act(() => operation.fiber?.interruptUnsafe())
      }
      case "Stall":
      case "Recover": {
        const session = this.#session(step.client)
        session.isDisturbed ||= step._tag === "Stall"
        session.isStalled ||= step._tag === "Stall"
        this.#note(step.client, `the wire towards the ${step.towards} ${step._tag.toLowerCase()}s`)
        return this.#world.disturb(session.connection, step)
      }
      case "Cut": {
        const session = this.#current.get(step.client)
        if (session === undefined) return
        session.isDisturbed = true
        this.#note(step.client, "the connection breaks")
        // The next command of this client opens another session.
        this.#current.delete(step.client)
        return this.#world.disturb(session.connection, step)
      }
    }
  }

  #inFlight(): ReadonlyArray<Operation<Model>> {
    return this.#operations.filter((operation) => this.#activities.has(operation))
  }

  #start(step: Extract<Step<Model, R>, { readonly _tag: "Command" }>): void {
    const { action, client, name, overlaps } = step
    const session = this.#session(client)
    const title = titleOf(step)
    const operation: Operation<Model> = {
      action,
      name,
      title,
      client,
      overlaps: overlaps && this.#inFlight().length > 0,
      started: this.#order++,
      startedAt: this.#runtime.now(),
      isHindered: () => session.isDisturbed || this.#isLossy,
      ended: undefined,
      returned: undefined,
      isInterrupted: false,
      fiber: undefined
    }
    if (this.#programs.hasPreconditions) {
      const { allowed, explained } = Linearization.search(this.#programs.model, [...this.#operations, operation])
      if (!allowed || !explained) return
    }
    this.#operations.push(operation)
    this.#activities.add(operation)
    this.#note(client, `starts ${title}`)
    operation.fiber = this.#runtime.start(
      Effect.flatMap(Deferred.await(session.opened), (opened) => this.#provide(action.run(opened))).pipe(
        Effect.onExit((exit) => Effect.sync(() => this.#end(operation, exit)))
      )
    )
  }

  #end(operation: Operation<Model>, exit: Exit.Exit<Outcome<Model>, unknown>): void {
    this.#activities.delete(operation)
    const { client, title } = operation
    if (Exit.isSuccess(exit) && exit.value._tag === "Returned") {
      operation.ended = this.#order++
      operation.returned = exit.value
      return this.#note(client, `${title} returns ${textOf(exit.value.result)}`)
    }
    if (operation.isInterrupted) return
    // The failure of the handshake has been noted.
    if (Exit.isFailure(exit)) return this.#note(client, `${title} was not sent`)
    if (exit.value._tag === "Returned") return
    const { cause } = exit.value
    const problem = `${title} failed: ${describe(cause)}`
    this.#note(client, problem)
    if (this.#isExplained(operation, cause)) return
    const error = errorOf(cause)
    const isTimeout = error instanceof RequestError.RequestError && error.reason._tag === "Timeout"
    this.#violate(
      "every command succeeds unless a fault explains its failure",
      isTimeout
        ? `${problem}, and no fault explains it. Its handler waits for something that does not happen in virtual ` +
          "time, such as a Deferred that nothing completes, or real I/O (a timer of the platform, a promise, a socket)"
        : problem
    )
  }

  /** Returns whether a fault explains the failure of a command, so that its outcome is unknown. */
  #isExplained({ isHindered }: Operation<Model>, cause: Cause.Cause<unknown>): boolean {
    const error = errorOf(cause)
    if (!(error instanceof RequestError.RequestError)) return false
    return this.#isLossy || (ofConnection.has(error.reason._tag) && isHindered())
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Time
  // ---------------------------------------------------------------------------------------------------------------

  /** Lets time pass until no more than this number of commands is in flight, and nothing else is waited for. */
  *#idle(commands: number): Generator<Effect.Effect<void, RealIo>, void, void> {
    const isIdle = () => this.#inFlight().length <= commands && (commands > 0 || this.#activities.size === 0)
    yield* this.#pass(this.#runtime.now() + commandTimeout, isIdle)
  }

  /** Lets time pass until this time, or until it is enough, or until nothing can happen any more. */
  *#pass(until: number, isEnough: () => boolean): Generator<Effect.Effect<void, RealIo>, void, void> {
    while (!isEnough()) {
      const due = this.#runtime.nextDue()
      const suspect = this.#suspect(due)
      if (suspect !== undefined) {
        yield* this.#examine(suspect)
      } else if (due === undefined || due > until) {
        return this.#runtime.advance(Math.max(0, until - this.#runtime.now()))
      } else {
        this.#runtime.advance(due - this.#runtime.now())
      }
    }
  }

  /** Returns an activity that no fault hinders, and that would wait suspiciously long until this time. */
  #suspect(due = Number.POSITIVE_INFINITY): Activity | undefined {
    for (const activity of this.#activities) {
      const { isHindered, name, startedAt } = activity
      if (!this.#suspected.has(name) && !isHindered() && due - startedAt > suspectAfter) return activity
    }
    return undefined
  }

  /** Gives the real runtime some time. If it resumes a program, the simulation is none. */
  *#examine({ name }: Activity): Generator<Effect.Effect<void, RealIo>, void, void> {
    this.#suspected.add(name)
    yield pause
    if (!this.#runtime.isResumedFromOutside()) return
    this.#close()
    yield Effect.fail({ activity: name })
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Judgement
  // ---------------------------------------------------------------------------------------------------------------

  #judge(): void {
    const { explained, obstacle } = Linearization.search(this.#programs.model, this.#operations)
    if (!explained && obstacle !== undefined) {
      const { model, operation, problem } = obstacle
      const { returned } = operation
      const title = this.#operations.find((one) => one === operation)?.title
      const overlap = this.#operations.some(({ overlaps }) => overlaps)
        ? "; no order of the commands that overlap explains all results"
        : ""
      this.#violate(
        "the model explains every result",
        `${title} returned ${textOf(returned?.result)}: ${problem} (model: ${textOf(model)})${overlap}`
      )
    }
    const placed = this.#world.journal.entries.map((entry, place): Served.Placed => ({ ...entry, place }))
    const { form } = this.#conversation
    const sides = this.#sessions.flatMap(({ connection: { id }, isDisturbed, isStalled }) =>
      (["server", "client"] as const).map((side) =>
        Served.sideOf(id, side, placed.filter((entry) => entry.session === id && entry.side === side), {
          form,
          isStalled,
          recordsHandlers: false,
          quietAt: isDisturbed || this.#isLossy ? undefined : placed.length
        })
      )
    )
    this.#violations.push(...ProtocolLaws.violations(ProtocolLaws.laws, sides, undefined, this.#isLossy))
  }

  #close(): void {
    this.#world.close(closeTimeout, this.#scope)
    const left = this.#runtime.living()
    if (left === 0) return
    this.#violate(
      nothingLeft,
      `${left} fibers are alive after all sessions have closed. Fork them in the scope of the handler or the Layer ` +
        "that needs them"
    )
  }

  #violate(law: string, problem: string): void {
    this.#violations.push({ law, problem })
  }

  #note(client: number | undefined, text: string): void {
    const { entries } = this.#world.journal
    entries.push({ at: this.#runtime.now(), session: -1, side: "client", event: { _tag: "Noted", client, text } })
  }

  #transcript(): string {
    const clientOf = ({ event, session }: Entry) =>
      event._tag === "Noted" ? event.client : this.#sessions[session]?.client
    return Report.transcript(this.#world.journal.entries.filter(({ side }) => side === "client"), (entry) => {
      const client = clientOf(entry)
      return client === undefined ? "" : `client ${client}`
    })
  }
}

/**
 * Runs one conversation. `suspected` contains the activities that were given real time, and it grows: each of them
 * costs a tenth of a second once.
 */
export const runConversation = <Model, R>(
  programs: Programs<Model, R>,
  conversation: Conversation<Model, R>,
  suspected: Set<string>
): Effect.Effect<ConversationResult, RealIo> =>
  Effect.gen(() => new Run(programs, conversation, suspected).run()).pipe(
    Effect.catchDefect((defect) =>
      defect instanceof VirtualRuntime.NotSettledError
        ? Effect.succeed({ violations: unended(defect), transcript: "", started: [] })
        : Effect.die(defect)
    )
  )

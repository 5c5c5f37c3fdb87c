/**
 * A process of a fleet: a real host and a real HTTP server, with a clock, a scheduler, stores and a network that it
 * reaches only while it lives.
 */
import { EventStore, SessionHost, SessionOwners, SessionStore } from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { FiberCount } from "@effect-mcp/testing"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import { Forwarder } from "@effect-mcp/transport/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { exchangeHeader } from "./exchangeHeader.ts"
import * as fleetTools from "./fleetTools.ts"
import type { ProcessEvent } from "./History.ts"
import { Lifeline, type Strike } from "./Lifeline.ts"
import type { HttpRequest, Network, Receiver, Server } from "./Network.ts"
import { principals } from "./principals.ts"
import * as ProcessForwarder from "./ProcessForwarder.ts"
import { ProcessStores } from "./ProcessStores.ts"
import type { World } from "./World.ts"

const authentication = Authentication.layerBearer({
  verify: (token) => Effect.succeed(principals.get(Redacted.value(token)))
})

type Handler = Effect.Success<ReturnType<typeof StreamableHttpServer.makeHandler>>

/** The time that responses have to end after the host is drained, in milliseconds. */
const responseMillis = 2000

/** The difference of two times that counts as none, in milliseconds. */
const slackMillis = 0.001

/** Returns a scheduler whose tasks run only while the process does. */
const schedulerOf = (lifeline: Lifeline, below: Scheduler.Scheduler): Scheduler.Scheduler => {
  const dispatcher = below.makeDispatcher()
  return {
    executionMode: below.executionMode,
    // A fiber that is hit in the middle of its work stops here.
    shouldYield: (fiber) => below.shouldYield(fiber) || !lifeline.isRunning,
    makeDispatcher: () => ({
      scheduleTask: (task, priority) => dispatcher.scheduleTask(() => lifeline.enter(task), priority),
      flush: () => dispatcher.flush()
    })
  }
}

export class SimulatedProcess implements Server {
  readonly id: number
  readonly address: string
  readonly lifeline: Lifeline
  readonly stores: ProcessStores
  readonly #world: World
  readonly #network: Network
  readonly #fibers = FiberCount.make()
  readonly #scope = Scope.makeUnsafe()
  /** The requests that are served. */
  readonly #requests = new Set<Fiber.Fiber<void>>()
  readonly #context: Context.Context<never>
  #handler: Handler | undefined = undefined
  #host: SessionHost.SessionHostShape | undefined = undefined
  #isClosing = false
  #isClosed = false
  /** The difference between the wall clock and the clock of the world, in milliseconds. */
  #wallOffset = 0
  /** The time for which the monotonic clock has stood, and since when it stands. */
  #stoodFor = 0
  #standsSince: number | undefined = undefined

  constructor(id: number, world: World, network: Network) {
    this.id = id
    this.address = `http://process-${id}.internal`
    this.#world = world
    this.#network = network
    this.lifeline = new Lifeline((_tag) => {
      this.#record({ _tag })
      if (_tag === "Paused" && world.sleeps) this.#standsSince = world.runtime.now()
      if (_tag === "Resumed") this.#wake()
    })
    this.stores = new ProcessStores(world, id, this.lifeline, this.#record)
    this.#context = this.#makeContext()
    network.add(this)
    this.lifeline.onKilled(() => {
      world.served -= this.#requests.size
    })
  }

  /** Whether the process has neither ended nor been killed. */
  get isAlive(): boolean {
    return !this.#isClosed && !this.lifeline.isDead
  }

  get isListening(): boolean {
    return this.#handler !== undefined && this.isAlive
  }

  /** Starts the process. */
  start(): void {
    this.#record({ _tag: "Started" })
    this.#run(this.#built())
  }

  strike(strike: Strike): void {
    if (this.isAlive) this.lifeline.strike(strike)
  }

  setClock(by: number): void {
    // If both clocks are late, no process can know that its lease is over.
    if (this.#world.sleeps && by < 0) return
    this.#record({ _tag: "ClockSet" })
    this.#wallOffset += by
  }

  /** Lets the monotonic clock run again. */
  #wake(): void {
    if (this.#standsSince === undefined) return
    this.#stoodFor += this.#world.runtime.now() - this.#standsSince
    this.#standsSince = undefined
  }

  /** Ends the process in order. One that is paused continues. */
  stop(): void {
    if (!this.isAlive || this.#isClosing) return
    this.#isClosing = true
    this.lifeline.resume()
    this.#record({ _tag: "Stopping" })
    this.#run(Effect.gen({ self: this }, function*() {
      if (this.#host !== undefined) yield* this.#host.drain
      this.#isClosed = true
      // The platform waits for the responses that are being sent, and then closes their connections.
      yield* Effect.timeoutOption(Fiber.awaitAll(this.#requests), responseMillis)
      yield* Fiber.interruptAll(this.#requests)
      this.#network.disconnect(this)
      yield* Scope.close(this.#scope, Exit.void)
      // The fiber that runs this ends now.
      this.#world.after(0, () => {
        // The library leaves a call alone that its store does not answer.
        const living = Math.max(this.#fibers.living() - this.stores.waiting, 0)
        this.#record({ _tag: "Closed", living })
      })
    }))
  }

  serve(request: HttpRequest, receiver: Receiver): () => void {
    const handler = this.#handler
    if (handler === undefined) {
      receiver.broken(true)
      return () => {}
    }
    this.#record({ _tag: "Served", exchange: Number(request.headers[exchangeHeader]), hop: hopOf(request) })
    const { body, headers, method } = request
    const received = HttpServerRequest.fromWeb(
      new Request("http://fleet.example/mcp", { method, headers, ...(body === undefined ? {} : { body }) })
    )
    const served = Effect.flatMap(handler(received), (response) => sendResponse(response, receiver)).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) receiver.broken(false)
        })
      )
    )
    const fiber = Effect.runForkWith(this.#context)(served)
    this.#requests.add(fiber)
    this.#world.served++
    fiber.addObserver(() => {
      this.#requests.delete(fiber)
      this.#world.served--
    })
    return () => fiber.interruptUnsafe()
  }

  readonly #record = (event: ProcessEvent): void => {
    this.#world.events.push({ at: this.#world.runtime.now(), process: this.id, ...event })
  }

  #run(effect: Effect.Effect<unknown>): void {
    this.lifeline.enter(() => void Effect.runForkWith(this.#context)(effect))
  }

  #makeContext(): Context.Context<never> {
    const world = this.#world.context
    const logger = Logger.make(({ cause, logLevel, message }) => {
      if (logLevel === "Debug" || logLevel === "Trace") return
      this.#record({ _tag: "Logged", text: `${JSON.stringify(message)} ${Cause.pretty(cause)}` })
    })
    return world.pipe(
      Context.add(Clock.Clock, this.#makeClock()),
      Context.add(Scheduler.Scheduler, schedulerOf(this.lifeline, Context.get(world, Scheduler.Scheduler))),
      Context.add(Metric.FiberRuntimeMetrics, this.#fibers.metrics),
      Context.add(References.MinimumLogLevel, "Info"),
      Context.add(Logger.CurrentLoggers, new Set([logger]))
    )
  }

  /** Makes the clock of the process. Its sleeps end when the process runs. */
  #makeClock(): Clock.Clock {
    const { clock } = this.#world
    const wall = () => clock.currentTimeMillisUnsafe() + this.#wallOffset
    const steady = () => (this.#standsSince ?? clock.currentTimeMillisUnsafe()) - this.#stoodFor
    const nanosOf = (millis: number) => BigInt(Math.round(millis * 1_000_000))
    return {
      ...clock,
      currentTimeMillisUnsafe: wall,
      currentTimeNanosUnsafe: () => nanosOf(wall()),
      currentTimeMillis: Effect.sync(wall),
      currentTimeNanos: Effect.sync(() => nanosOf(wall())),
      monotonicTimeNanosUnsafe: () => nanosOf(steady()),
      monotonicTimeNanos: Effect.sync(() => nanosOf(steady())),
      sleep: (duration) =>
        Effect.callback<void>((resume) => {
          const until = steady() + Duration.toMillis(duration)
          let cancel = () => {}
          const wait = (): void => {
            cancel = this.#world.after(until - steady(), () =>
              this.lifeline.enter(() => {
                // The clock has stood meanwhile. Sums of fractions differ a little.
                if (steady() < until - slackMillis) wait()
                else resume(Effect.void)
              }))
          }
          wait()
          return Effect.sync(() => cancel())
        })
    }
  }

  #makeForwarder(): Forwarder["Service"] {
    return ProcessForwarder.make({
      network: this.#network,
      server: this,
      record: this.#record,
      after: (millis, action) => this.#world.after(millis, () => this.lifeline.enter(action))
    })
  }

  #built(): Effect.Effect<void> {
    const handlers = fleetTools.make({
      started: (nonce) => this.#record({ _tag: "Ran", nonce }),
      ended: (nonce, exit) => this.#record({ _tag: "RanEnded", nonce, outcome: outcomeOf(exit) }),
      charged: (nonce) => this.#record({ _tag: "Charged", nonce }),
      settled: (nonce) => this.#record({ _tag: "Settled", nonce })
    })
    return Effect.gen({ self: this }, function*() {
      const owners = yield* SessionOwners.make(this.stores.owners, { address: this.address })
      const stores = Context.make(SessionOwners.SessionOwners, owners).pipe(
        Context.add(SessionStore.SessionStore, this.stores.sessions),
        Context.add(EventStore.EventStore, this.stores.events)
      )
      const tasks = yield* Effect.provideContext(
        ServerTasks.make({ tools: { book: { support: "forbidden", resumable: true } } }),
        Context.add(this.#context, TaskStore.TaskStore, this.stores.tasks)
      )
      const host = yield* Effect.provideContext(
        SessionHost.make(handlers, { info: { name: "fleet", version: "1.0.0" }, tasks }),
        Context.merge(this.#context, stores)
      )
      const authenticated = yield* Layer.build(authentication)
      const handler = yield* Effect.provideContext(
        StreamableHttpServer.makeHandler({ adaptiveTimeout: 200 }),
        Context.mergeAll(
          this.#context,
          stores,
          authenticated,
          Context.make(SessionHost.SessionHost, host),
          Context.make(Forwarder, this.#makeForwarder())
        )
      )
      this.#host = host
      this.#handler = handler
    }).pipe(Effect.provideService(Scope.Scope, this.#scope))
  }
}

const outcomeOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isSuccess(exit) ? "done" : Cause.hasInterrupts(exit.cause) ? "interrupted" : "failed"

/** Returns the number of processes that a request has passed. */
const hopOf = ({ headers }: HttpRequest): number => headers["mcp-forwarded"] === undefined ? 0 : 1

const encoder = new TextEncoder()

/** Sends a response as an HTTP server does. */
const sendResponse = (
  { body, headers, status }: HttpServerResponse.HttpServerResponse,
  receiver: Receiver
): Effect.Effect<void> =>
  Effect.gen(function*() {
    receiver.head(status, { ...headers })
    if (body._tag === "Stream") {
      // A stream that fails breaks the connection.
      yield* Effect.orDie(Stream.runForEach(body.stream, (chunk) => Effect.sync(() => receiver.data(chunk))))
    }
    if (body._tag === "Uint8Array") receiver.data(body.body)
    if (body._tag === "Raw") receiver.data(encoder.encode(String(body.body)))
    receiver.end()
  })

/**
 * A process: one `OAuth` of the library, with a token store and a network that it reaches only while it lives. The
 * model in it is only its transport, which sends a request again as the transports of the library do, and its person.
 */
import { OAuth, type UserAgent } from "@effect-mcp/auth"
import type { TransportError } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { AuthenticationChallenge } from "@effect-mcp/transport"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type { ProcessEvent } from "./History.ts"
import { Lifeline, type Strike } from "./Lifeline.ts"
import * as Network from "./Network.ts"
import * as ProcessStore from "./ProcessStore.ts"
import type { Script } from "./Script.ts"
import { elsewhere, server, type World } from "./World.ts"

/** The times that a transport sends a request again. */
const maxRepetitions = 5

/** The time for which a call waits for a person, in milliseconds. */
const patience = 60_000

/** The time that the person takes at least to look at a window, in milliseconds. */
const glance = 2000

const redirectUri = "https://app.example/callback"

/** The acts of a process that end with an outcome. */
export type Act = "read" | "write" | "elsewhere" | "login" | "logout"

/** Returns a logger and a tracer that record what is said. */
const saying = (say: (text: string) => void) => {
  const logger = Logger.make(({ cause, message }) => say(`${JSON.stringify(message)} ${Cause.pretty(cause)}`))
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      say(span.name)
      const attribute = span.attribute.bind(span)
      span.attribute = (key, value) => {
        say(`${key}=${String(value)}`)
        attribute(key, value)
      }
      return span
    }
  })
  return { logger, tracer }
}

export class SimulatedProcess {
  readonly id: number
  readonly #world: World
  readonly #lifeline: Lifeline
  readonly #fibers = FiberCount.make()
  readonly #scope = Scope.makeUnsafe()
  readonly #acts = Scope.makeUnsafe()
  readonly #userAgent: UserAgent.UserAgent
  #oauth: OAuth.OAuth["Service"] | undefined = undefined
  #isClosed = false
  #windows = 0

  constructor(id: number, world: World, { confirms }: Script) {
    this.id = id
    this.#world = world
    this.#lifeline = new Lifeline((_tag) => this.#record({ _tag }))
    this.#userAgent = {
      _tag: "Redirect",
      open: () =>
        Effect.succeed({ uri: redirectUri, applicationType: "web" as const, visit: (url) => this.#window(url) }),
      ...(confirms ? { confirm: () => this.#confirmed } : {})
    }
  }

  /** Whether the process has neither ended nor been killed. */
  get isAlive(): boolean {
    return !this.#isClosed && !this.#lifeline.isDead
  }

  /** Starts the process. */
  start(): void {
    this.#record({ _tag: "Started" })
    const layer = OAuth.layer({
      httpClient: Network.makeClient(this.#world, this.#lifeline, this.#record),
      store: ProcessStore.make(this.#world, this.#lifeline, this.#record),
      userAgent: this.#userAgent,
      clientName: "Simulation"
    })
    this.#run(Effect.map(Layer.buildWithScope(layer, this.#scope), (context) => {
      this.#oauth = Context.get(context, OAuth.OAuth)
    }))
  }

  strike(strike: Strike): void {
    this.#lifeline.strike(strike)
  }

  resume(): void {
    this.#lifeline.resume()
  }

  /** Ends the process in order: its acts first, and then its authorization. A process that is suspended continues. */
  close(): void {
    if (!this.isAlive) return
    this.#isClosed = true
    this.#lifeline.resume()
    const ended = Effect.andThen(Scope.close(this.#acts, Exit.void), Scope.close(this.#scope, Exit.void))
    this.#world.runtime.start(
      Effect.andThen(
        this.#within(ended),
        Effect.sync(() => this.#record({ _tag: "Closed", living: this.#fibers.living() }))
      )
    )
  }

  /** Lets the process act. Its outcome is recorded. */
  act(name: Act): void {
    const oauth = this.#oauth
    if (!this.isAlive || oauth === undefined) return
    const act = this.#world.nextAct()
    this.#record({ _tag: "ActStarted", act, name })
    if (name === "login") this.#record({ _tag: "LoggedIn" })
    if (name === "logout") this.#record({ _tag: "LoggedOut" })
    const ended = (outcome: string) => this.#record({ _tag: "ActEnded", act, name, outcome })
    const effect = Effect.onExit(this.#effectOf(name, oauth), (exit) => Effect.sync(() => ended(this.#outcomeOf(exit))))
    this.#run(Effect.asVoid(Effect.forkIn(Effect.exit(effect), this.#acts, { startImmediately: true })))
  }

  readonly #record = (event: ProcessEvent): void => {
    this.#world.events.push({ at: this.#world.runtime.now(), process: this.id, ...event })
  }

  #run(effect: Effect.Effect<void>): void {
    this.#world.runtime.start(this.#within(effect))
  }

  /** Provides what belongs to the process: the count of its fibers, and the record of what it says. */
  #within<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const { logger, tracer } = saying((text) => this.#record({ _tag: "Said", text }))
    return effect.pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.provideService(Logger.CurrentLoggers, new Set([logger])),
      this.#fibers.count
    )
  }

  #effectOf(name: Act, oauth: OAuth.OAuth["Service"]): Effect.Effect<string, unknown> {
    switch (name) {
      case "login":
        return Effect.as(oauth.login(server), "done")
      case "logout":
        return Effect.as(oauth.logout(server), "done")
      case "elsewhere":
        return this.#redirected(oauth)
      default:
        return Effect.map(this.#callAndWait(oauth, name), String)
    }
  }

  /** Returns the status or the tag of the error. The text of an error is recorded. */
  #outcomeOf(exit: Exit.Exit<string, unknown>): string {
    if (Exit.isSuccess(exit)) return exit.value
    this.#record({ _tag: "Said", text: Cause.pretty(exit.cause) })
    if (Cause.hasInterrupts(exit.cause)) return "interrupted"
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    this.#record({ _tag: "Said", text: JSON.stringify(error) })
    return reasonOf(error) ?? "defect"
  }

  /** Calls the server, and waits for a person. */
  #callAndWait(oauth: OAuth.OAuth["Service"], operation: "read" | "write") {
    const attempt: Effect.Effect<number, TransportError.TransportError> = Effect.catch(
      this.#call(oauth, operation),
      (error) =>
        error.reason._tag === "AuthorizationRequired"
          ? Effect.andThen(error.reason.authorized, Effect.suspend(() => attempt))
          : Effect.fail(error)
    )
    return Effect.map(Effect.timeoutOption(attempt, patience), Option.getOrElse(() => "AuthorizationRequired"))
  }

  #call(oauth: OAuth.OAuth["Service"], operation: "read" | "write") {
    return Effect.gen({ self: this }, function*() {
      const url = new URL(server)
      const authorization = yield* oauth.authorization.of(url)
      const request = { method: "POST", url } as const
      for (let repetitions = 0;; repetitions++) {
        const values = yield* authorization.headers(request)
        const response = yield* Network.call(this.#world, this.#lifeline, this.#record, {
          url,
          authorization: textOf(values["authorization"]),
          body: operation
        })
        const { headers, status } = response
        const header = (name: string) => headers?.[name]
        if (status !== 401 && status !== 403) {
          authorization.responded?.({ ...request, sentWith: values }, header)
          return status
        }
        const next = yield* authorization.rejected({
          ...request,
          status,
          challenges: AuthenticationChallenge.parse(header("www-authenticate") ?? ""),
          sentWith: values,
          operation,
          repetitions,
          header
        })
        if (next === "Final" || repetitions === maxRepetitions) return status
      }
    })
  }

  /** Calls a server that redirects the request to another origin. */
  #redirected(oauth: OAuth.OAuth["Service"]): Effect.Effect<string, TransportError.TransportError> {
    return Effect.gen({ self: this }, function*() {
      const authorization = yield* oauth.authorization.of(new URL(server))
      const url = new URL(elsewhere)
      const values = yield* authorization.headers({ method: "GET", url })
      const sent = { url, authorization: textOf(values["authorization"]), body: "" }
      Network.present(this.#world, this.#record, sent)
      return "done"
    })
  }

  /** Opens a window, and waits until the person has answered it. */
  #window(url: URL): Effect.Effect<URLSearchParams> {
    return this.#lifeline.operation(Effect.suspend(() => {
      const window = this.#windows++
      this.#record({ _tag: "WindowOpened", window })
      return Effect.onExit(
        this.#answerTo(url),
        () => Effect.sync(() => this.#record({ _tag: "WindowClosed", window }))
      )
    }))
  }

  #answerTo(url: URL): Effect.Effect<URLSearchParams> {
    return Effect.gen({ self: this }, function*() {
      while (true) {
        yield* Effect.sleep(glance)
        const issuer = this.#world.issuers.find((one) => one.url === url.origin)
        if (issuer === undefined || this.#world.person === "Ignores") continue
        return this.#world.person === "Approves" ? issuer.approve(url.searchParams) : issuer.deny(url.searchParams)
      }
    })
  }

  /** Asks the person whether to open another window. */
  get #confirmed(): Effect.Effect<boolean> {
    return this.#lifeline.operation(Effect.map(Effect.sleep(glance), () => {
      if (this.#world.person !== "Approves") return false
      this.#record({ _tag: "Confirmed" })
      return true
    }))
  }
}

const textOf = (value: string | Redacted.Redacted<string> | undefined): string | undefined =>
  value === undefined || typeof value === "string" ? value : Redacted.value(value)

/** Returns the tag of the reason of an error. That of an authorization is in its cause. */
const reasonOf = (error: unknown): string | undefined => {
  if (!Predicate.hasProperty(error, "reason") || !Predicate.isTagged(error.reason, "AuthorizationFailed")) {
    return Predicate.hasProperty(error, "reason") && Predicate.hasProperty(error.reason, "_tag")
      ? String(error.reason._tag)
      : undefined
  }
  return Predicate.hasProperty(error.reason, "cause") ? reasonOf(error.reason.cause) : undefined
}

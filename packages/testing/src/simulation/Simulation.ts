/**
 * Random conversations with a server of your own, in virtual time, judged by a model of your own and by the laws that
 * every server keeps.
 *
 * A simulation consists of a server, a model and commands. A conversation is a random list of commands, with time that
 * passes and faults between them. Its clients and its wires are simulated; the sessions and the framing are the real
 * ones. A failing conversation is shrunk to few steps, and reported with the seed that reproduces it.
 *
 * @stability unstable
 */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, type Handlers, ServerSession, type Transport } from "@effect-mcp/session"
import type * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Report from "../internal/simulation/Report.ts"
import * as Run from "../internal/simulation/Run.ts"
import * as Search from "../internal/simulation/Search.ts"
import * as Steps from "../internal/simulation/Steps.ts"
import { trust } from "../internal/trust.ts"
import * as Command from "./Command.ts"
import { ConversationFailedError, RealIoUsedError } from "./SimulationError.ts"

/**
 * A fault that a conversation can have.
 *
 * Under these, each command still succeeds or fails as usual:
 *
 * - `delay`: each piece takes up to 40 milliseconds.
 * - `split`: messages arrive in pieces. `merge`: data of the same 20 milliseconds arrives in one chunk.
 *
 * These can make the outcome of a command unknown:
 *
 * - `interrupt`: the caller of a command gives up, so that the request is cancelled.
 * - `stall`: a wire carries nothing until it recovers.
 * - `cut`: the connection breaks; the next command of this client opens another session.
 * - `drop`: a message in ten never arrives. `truncate`: its end is missing.
 * - `reorder`: with a stream for each request, streams overtake each other.
 * - `duplicate`: a message in ten arrives twice. The server then executes a request twice, which a model must expect.
 *
 * @category models
 */
export type FaultName = Steps.FaultName

/**
 * The faults of a simulation that names none: all except `duplicate`.
 *
 * @category constants
 */
export const faults: ReadonlyArray<FaultName> = [
  "delay",
  "split",
  "merge",
  "interrupt",
  "stall",
  "cut",
  "drop",
  "truncate",
  "reorder"
]

type AnyHandlers = Handlers.Handlers<"client", unknown>

/**
 * A server to simulate:
 *
 * - a record of handlers, which must not keep state between conversations;
 * - an effect that creates the handlers, with the state that all sessions of one conversation share;
 * - a Layer that serves one client over a `Transport`. Each session builds it anew.
 *
 * @category models
 */
export type Server =
  | AnyHandlers
  | Effect.Effect<AnyHandlers, unknown, unknown>
  | Layer.Layer<never, unknown, unknown>

/**
 * The services that a server needs, those left out that the simulation provides.
 *
 * @category models
 */
export type ServicesOfServer<S> = S extends Layer.Layer<infer _A, infer _E, infer R>
  ? Exclude<R, Transport.Transport | Scope.Scope>
  : S extends Effect.Effect<infer H, infer _E, infer R>
    ? Exclude<R, Scope.Scope> | Exclude<Handlers.ServicesOf<H, "client">, Scope.Scope>
  : Exclude<Handlers.ServicesOf<S, "client">, Scope.Scope>

type ServicesOfCommands<Commands> = {
  [Name in keyof Commands]: Commands[Name] extends Command.Command<infer _Model, infer R> ? Exclude<R, Scope.Scope>
    : never
}[keyof Commands]

/**
 * The parts of a simulation.
 *
 * @category models
 */
export interface Definition<S, Model, Commands, H, RClient> {
  readonly server: S
  /** The model before the first command. Commands must not mutate it. Default: `undefined`. */
  readonly model?: Model
  /** The commands by name. The function receives {@link Command.make} with the type of the model. */
  readonly commands: (command: ReturnType<typeof Command.make<Model>>) => Commands
  /**
   * Options of each client; its handlers serve the requests of the server. Without `revisions`, one conversation in two
   * has clients with a handshake, and the other has clients of all revisions, which prefer 2026-07-28.
   */
  readonly client?: Partial<ClientSession.Options<H & Handlers.Only<H, "server">, RClient>>
  /** The number of clients that share the server. Default: 1. */
  readonly clients?: number
  /**
   * The greatest number of commands in flight. Default: 1. With more, commands overlap, and some order of them has to
   * explain all results: each takes effect at one moment between its start and its end.
   */
  readonly concurrency?: number
  /** The faults that conversations can have. Default: {@link faults}. */
  readonly faults?: ReadonlyArray<FaultName>
  /** The greatest number of steps of a conversation. Default: 20. */
  readonly maxSteps?: number
}

/**
 * The services of a simulation, created anew for each conversation and shared by its sessions. They are required if the
 * server, a client or a command needs any.
 *
 * @category models
 */
export type Services<R> = [R] extends [never] ? { readonly services?: never } : {
  readonly services: Layer.Layer<R, unknown>
}

const TypeId = "~@effect-mcp/testing/Simulation"

/**
 * A simulation, to be checked.
 *
 * @category models
 */
export interface Simulation {
  readonly [TypeId]: typeof TypeId
  /** Checks the conversation of one seed, and shrinks it if it fails. */
  readonly checkOne: (
    seed: number,
    maxShrinks: number
  ) => Effect.Effect<ReadonlyArray<string>, ConversationFailedError | RealIoUsedError>
}

/**
 * Options of {@link check}.
 *
 * @category models
 */
export interface Options {
  /** The number of conversations. Default: 200. */
  readonly runs?: number | undefined
  /** The seed of the first conversation. Each further conversation has the next seed. Default: 1. */
  readonly seed?: number | undefined
  /** The greatest number of conversations to try in order to shrink a failing one. Default: 2,000. */
  readonly maxShrinks?: number | undefined
}

/**
 * The number of conversations that passed, and how often they started each command.
 *
 * @category models
 */
export interface Passed {
  readonly conversations: number
  readonly commands: { readonly [name: string]: number }
}

const info = { name: "simulated", version: "0.0.0" }

const isLayer = (server: Server): server is Layer.Layer<never, unknown, unknown> => Layer.isLayer(server)

/** Returns the effect that creates the server of a conversation. */
const serverOf = <R>(server: Server): Run.Programs<unknown, R>["server"] => {
  if (isLayer(server)) {
    // Every session has a server of its own, also if the Layer is a constant.
    const build = Layer.build(Layer.fresh(server))
    // The types of the definition derive R from this Layer.
    return Effect.succeed(() => trust(build))
  }
  const handlers: Effect.Effect<AnyHandlers, unknown, unknown> = Effect.isEffect(server)
    ? server
    : Effect.succeed(server)
  // They derive R from these handlers, too.
  return trust(
    Effect.map(
      handlers,
      (handlers): Run.Serve<R> => (observe) => trust(ServerSession.make(handlers, { info, observe }))
    )
  )
}

/** The revisions of the clients, in a report. */
const clients = { Handshake: "clients with a handshake", All: "clients of all revisions", Given: undefined }

/** Runs the conversation of a seed, and returns the names of its commands. */
const checkOne = <Model, R>(
  programs: Run.Programs<Model, R>,
  conversations: Arbitrary.Arbitrary<Steps.Conversation<Model, R>>,
  size: number
): Simulation["checkOne"] => {
  // Activities that took long without real I/O are slow in virtual time; they are examined once.
  const suspected = new Set<string>()
  const run = (conversation: Steps.Conversation<Model, R>) =>
    Run.runConversation(programs, conversation, suspected).pipe(
      Effect.mapError((waiting) => new RealIoUsedError(waiting))
    )
  return Effect.fnUntraced(function*(seed, maxShrinks) {
    let started: ReadonlyArray<string> = []
    const judge = (conversation: Steps.Conversation<Model, R>) =>
      Effect.map(run(conversation), (result) => {
        started = result.started
        return result.violations
      })
    const found = yield* Search.run(conversations, judge, { runs: 1, size, seed, maxShrinks })
    if (found === undefined) return started
    const { input: conversation, violations } = found
    const { transcript } = yield* run(conversation)
    const isReproducible = transcript === (yield* run(conversation)).transcript
    const steps = conversation.steps.map(Steps.describe)
    return yield* new ConversationFailedError({
      law: violations[0]?.law ?? "",
      problem: violations[0]?.problem ?? "",
      seed,
      steps,
      report: Report.describe({
        violations,
        setting: conversation,
        clients: clients[conversation.revisions],
        steps,
        paragraphs: [
          `what happened (→ sent by the client, ← received by it):\n${transcript}`,
          isReproducible
            ? `to reproduce it, pass { seed: ${seed}, runs: 1 } to Simulation.check`
            : "this conversation takes another course when it is repeated: a program uses the clock or the random " +
              "numbers of the platform, or keeps state between conversations. Use Effect's Clock and Random, and " +
              `create all state in the effect or Layer of the server. The seed is ${seed}`
        ]
      })
    })
  })
}

/**
 * Creates a simulation of a server.
 *
 * A server that keeps a balance. It does not notice a withdrawal of more than there is:
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import { Simulation } from "@effect-mcp/testing/simulation"
 * import * as Effect from "effect/Effect"
 * import * as Ref from "effect/Ref"
 * import * as Schema from "effect/Schema"
 *
 * const Amount = Schema.Struct({ amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })) })
 *
 * const server = Effect.gen(function*() {
 *   const balance = yield* Ref.make(0)
 *   return ServerSession.handlers({
 *     "tools/call": ({ arguments: input, name }) =>
 *       Effect.gen(function*() {
 *         const { amount } = yield* Effect.orDie(Schema.decodeUnknownEffect(Amount)(input))
 *         const after = yield* Ref.updateAndGet(balance, (now) => name === "deposit" ? now + amount : now - amount)
 *         return { content: [], structuredContent: { after } }
 *       })
 *   })
 * })
 *
 * const wallet = Simulation.make({
 *   server,
 *   model: 0,
 *   commands: (command) => ({
 *     deposit: command({
 *       input: Amount,
 *       run: ({ client, input }) => client.callTool("deposit", input),
 *       next: ({ input, model }) => model + input.amount
 *     }),
 *     withdraw: command({
 *       input: Amount,
 *       run: ({ client, input }) => client.callTool("withdraw", input),
 *       check: ({ input, model, result }) => model >= input.amount || result.isError === true,
 *       next: ({ input, model }) => model >= input.amount ? model - input.amount : model
 *     })
 *   })
 * })
 *
 * export const shortest = Simulation.check(wallet, { runs: 100 }).pipe(
 *   Effect.flip,
 *   Effect.map((error) => error._tag === "ConversationFailedError" ? error.steps : [])
 * ) // => ["client 0: withdraw {\"amount\":1}"]
 * ```
 *
 * @category constructors
 */
export const make = <
  const S extends Server,
  Model,
  const Commands extends { readonly [name: string]: Command.AnyCommand },
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  RClient = never
>(
  definition:
    & Definition<S, Model, Commands, H, RClient>
    & Services<
      | ServicesOfServer<S>
      | ServicesOfCommands<Commands>
      | Exclude<Handlers.ServicesOf<H, "server"> | RClient, Scope.Scope>
    >
): Simulation => {
  const { client, clients = 1, commands, concurrency = 1, maxSteps = 20, server, services } = definition
  const named = Object.entries(commands(Command.make<Model>())).map(([name, command]) => ({
    name,
    // Only the function that was passed creates commands, so that each has this model.
    command: trust<Command.Command<Model, unknown>>(command)
  }))
  const [first, ...others] = named
  if (first === undefined) throw new Error("a simulation needs at least one command")
  const programs: Run.Programs<Model, unknown> = {
    // The model of a definition without one is of type unknown.
    model: trust(definition.model),
    server: serverOf(server),
    client: (revisions) => {
      const options = { info, ...(revisions === "Handshake" ? { revisions: Revision.legacy } : undefined), ...client }
      // The type of the definition derives all services from these options, and demands a Layer of them.
      return trust(ClientSession.make<Handlers.Handlers<"server">>(trust(options)))
    },
    services: trust(services ?? Layer.empty),
    concurrency,
    hasPreconditions: named.some(({ command }) => command.hasPrecondition)
  }
  const conversations = Steps.conversations([first, ...others], {
    clients,
    maxSteps,
    overlaps: concurrency > 1,
    faults: new Set(definition.faults ?? faults),
    hasRevisions: client?.revisions !== undefined
  })
  return { [TypeId]: TypeId, checkOne: checkOne(programs, conversations, maxSteps) }
}

/**
 * Checks a simulation: runs conversations until one fails, and shrinks that one. Fails with a
 * {@link ConversationFailedError}, whose message is a report, or with a {@link RealIoUsedError}.
 *
 * The same options lead to the same conversations, message for message. `{ seed, runs: 1 }` with the seed of a failure
 * reproduces it.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Simulation } from "@effect-mcp/testing/simulation"
 * import * as Effect from "effect/Effect"
 *
 * const greeter = Simulation.make({
 *   server: { "tools/call": () => Effect.succeed({ content: [Content.text("hello")] }) },
 *   commands: (command) => ({
 *     greet: command({
 *       run: ({ client }) => client.callTool("greet"),
 *       check: ({ result }) => result.content.length === 1
 *     })
 *   })
 * })
 *
 * export const conversations = Simulation.check(greeter, { runs: 20 }).pipe(
 *   Effect.map(({ conversations }) => conversations)
 * ) // => 20
 * ```
 *
 * @category running
 */
export const check = Effect.fnUntraced(function*(
  { checkOne }: Simulation,
  { maxShrinks = 2000, runs = 200, seed = 1 }: Options = {}
): Effect.fn.Return<Passed, ConversationFailedError | RealIoUsedError> {
  const commands = new Map<string, number>()
  for (let run = 0; run < runs; run++) {
    for (const name of yield* checkOne(seed + run, maxShrinks)) commands.set(name, (commands.get(name) ?? 0) + 1)
  }
  return { conversations: runs, commands: Object.fromEntries(commands) }
})

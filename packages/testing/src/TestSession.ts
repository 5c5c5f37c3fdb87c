/**
 * A client and a server in one process after their handshake, both recorded. Use it to test handlers, or a program that
 * uses a session.
 *
 * @stability unstable
 */
import { type JsonRpc, type MethodDefinition, Revision } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import {
  ClientSession,
  type Handlers,
  type HandshakeError,
  MemoryTransport,
  type Principal,
  Recording,
  ServerSession,
  Transport,
  type TransportError
} from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { thisPackage } from "./internal/thisPackage.ts"
import * as Transcript from "./Transcript.ts"

/**
 * Options for both sides. Each has a default. The sides are named `client` and `server`, version 0.0.0. Handlers get no
 * time to finish when their session ends (`gracefulTimeout: 0`), because no test advances the clock after its end.
 *
 * @category models
 */
export interface Options<H = Handlers.Handlers<"server">, RClient = never, RServer = never> {
  /**
   * Options of the client. Its handlers answer the requests of the server. Its default `revisions` are those with a
   * handshake. With `revisions: Revision.modern` the client speaks 2026-07-28, and `server` sends it no requests.
   */
  readonly client?: Partial<ClientSession.Options<H, RClient>>
  /** Options of the server. */
  readonly server?: Partial<ServerSession.Options<RServer>>
  /**
   * The form of the connection in memory: `OneStream` (the default) has one stream for all messages, like stdio.
   * `StreamPerRequest` has a stream for each request and a standalone stream, like Streamable HTTP.
   */
  readonly form?: "OneStream" | "StreamPerRequest" | undefined
  /** The principal of the client, as if a transport had authenticated it. Default: an anonymous client. */
  readonly principal?: Principal.Principal | undefined
  /**
   * Both ends of a connection of your own, such as a `SimulatedTransport`. They carry one session. `form` and
   * `principal` do not apply to them. Default: ends in memory.
   */
  readonly transports?: MemoryTransport.Pair | undefined
}

/**
 * Both sides of a session, and their messages.
 *
 * @category models
 */
export interface TestSessionShape {
  readonly client: ClientSession.ClientSessionShape
  readonly server: ServerSession.ServerSessionShape
  /** Returns the messages so far as this side recorded them, `initialize` included. */
  readonly entries: (side: MethodDefinition.Role) => Effect.Effect<ReadonlyArray<Recording.Entry>>
  /** Returns the messages that this side has sent so far, in order. */
  readonly sent: (side: MethodDefinition.Role) => Effect.Effect<ReadonlyArray<JsonRpc.Message>>
  /**
   * Returns the conversation so far from the view of this side, to print it, or to play this side by a `ScriptedPeer`.
   */
  readonly transcript: (side: MethodDefinition.Role) => Effect.Effect<Transcript.Transcript>
}

/** The handlers of the server, and the options of both sides. */
type Parts<S extends Handlers.Handlers<"client", unknown>, C, RClient, RServer> = readonly [
  handlers: S & Handlers.Only<S, "client">,
  options?: Options<C & Handlers.Only<C, "server">, RClient, RServer>
]

type Failure = HandshakeError.HandshakeError | TransportError.TransportError

/** The services that the handlers and middleware of both sides need, except for those that a session provides. */
type Services<S, C, RClient, RServer> = Exclude<
  Handlers.ServicesOf<S, "client"> | Handlers.ServicesOf<C, "server"> | RClient | RServer,
  Transport.Transport
>

/**
 * Both sides of a session, for tests.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { TestSession } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const session = TestSession.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("hello")] })
 * })
 *
 * export const methods = Effect.gen(function*() {
 *   const { client, sent } = yield* TestSession.TestSession
 *   yield* client.callTool("greet")
 *   return (yield* sent("client")).map((message) => "method" in message ? message.method : message.id)
 * }).pipe(Effect.provide(session)) // => ["initialize", "notifications/initialized", "tools/call"]
 * ```
 *
 * @category services
 */
export class TestSession extends Context.Service<TestSession, TestSessionShape>()("@effect-mcp/testing/TestSession") {}

const inMemory = ({ form, principal }: Pick<Options, "form" | "principal">): Effect.Effect<MemoryTransport.Pair> =>
  form === "StreamPerRequest"
    ? MemoryTransport.makeMultiStream({ standalone: true, principal })
    : MemoryTransport.make({ principal })

/** Wraps one end of a connection with a recording. */
const recorded = Effect.fnUntraced(function*(end: Transport.Transport["Service"]) {
  const entries: Array<Recording.Entry> = []
  const recording = Recording.layer((entry) => entries.push(entry))
  const context = yield* Layer.build(Layer.provide(recording, MemoryTransport.layer(end)))
  return { entries, transport: Context.get(context, Transport.Transport) }
})

/**
 * Waits until the server has received `notifications/initialized`. The client's session exists before that; in memory
 * the message arrives at once.
 */
const untilInitialized = (server: ServerSession.ServerSessionShape): Effect.Effect<void> =>
  Effect.asVoid(Effect.repeat(server.state, {
    until: ({ _tag }) => _tag !== "AwaitingInitialize" && _tag !== "Initializing" && _tag !== "Negotiated"
  }))

/**
 * Connects a client to a server with these handlers, and completes the handshake. Both sessions end with the scope.
 * Fails with a `HandshakeError` if the handshake fails, for example because the sides have no common revision.
 *
 * In memory no step takes time, so tests run under `TestClock`, and both sides are operating afterwards. Over
 * `transports` of your own the steps take the time that these need, and the server may not have received
 * `notifications/initialized` yet.
 *
 * A tool that asks its user, who declines:
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { RequestContext, ServerSession } from "@effect-mcp/session"
 * import { TestSession } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const handlers = ServerSession.handlers({
 *   "tools/call": Effect.fnUntraced(function*() {
 *     const { action } = yield* Effect.orDie(
 *       RequestContext.elicit({ message: "Delete all notes?", requestedSchema: { type: "object", properties: {} } })
 *     )
 *     return { content: [Content.text(action === "accept" ? "deleted" : "kept")] }
 *   })
 * })
 *
 * export const answer = Effect.gen(function*() {
 *   const { client } = yield* TestSession.make(handlers, {
 *     client: { handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) } }
 *   })
 *   return yield* client.callTool("delete")
 * }).pipe(Effect.scoped) // => { content: [{ type: "text", text: "kept" }] }
 * ```
 *
 * A deadline of a minute, in no time:
 *
 * @example
 * ```ts
 * import { TestSession } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 * import * as Fiber from "effect/Fiber"
 * import * as TestClock from "effect/testing/TestClock"
 *
 * export const last = Effect.gen(function*() {
 *   const { client, sent } = yield* TestSession.make({ "tools/call": () => Effect.never })
 *   const calling = yield* Effect.forkChild(Effect.flip(client.callTool("think", {}, { timeout: "1 minute" })))
 *   yield* TestClock.adjust("1 minute")
 *   const error = yield* Fiber.join(calling)
 *   const message = (yield* sent("client")).at(-1)
 *   return [error.reason._tag, message !== undefined && "method" in message ? message.method : undefined]
 * }).pipe(Effect.scoped, Effect.provide(TestClock.layer())) // => ["Timeout", "notifications/cancelled"]
 * ```
 *
 * A server over a slow wire that stalls, recovers, and breaks while it is at work:
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Faults, SimulatedTransport, TestSession, VirtualRuntime } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 * import * as Exit from "effect/Exit"
 * import * as Fiber from "effect/Fiber"
 *
 * const program = Effect.gen(function*() {
 *   const wire = yield* SimulatedTransport.make({ seed: 1, faults: { ...Faults.none, delay: 40, split: true } })
 *   const { client } = yield* TestSession.make({
 *     "tools/call": () => Effect.as(Effect.sleep("10 seconds"), { content: [Content.text("slept")] })
 *   }, { transports: wire })
 *
 *   wire.toClient.stall()
 *   const late = yield* Effect.flip(client.callTool("sleep", {}, { timeout: "20 seconds" }))
 *   wire.toClient.recover()
 *   const { content } = yield* client.callTool("sleep")
 *
 *   const calling = yield* Effect.forkChild(Effect.flip(client.callTool("sleep")))
 *   yield* Effect.sleep("5 seconds")
 *   wire.cut()
 *   const lost = yield* Fiber.join(calling)
 *   return [late.reason._tag, content, lost.reason._tag]
 * }).pipe(Effect.scoped)
 *
 * const runtime = VirtualRuntime.make({ seed: 1 })
 * const fiber = runtime.start(program)
 * runtime.advance(60_000)
 * const exit = fiber.pollUnsafe()
 * export const outcome = exit && Exit.isSuccess(exit) && exit.value
 * // => ["Timeout", [{ type: "text", text: "slept" }], "Closed"]
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function*<
  const S extends Handlers.Handlers<"client", unknown>,
  const C extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  RClient = never,
  RServer = never
>(
  ...[handlers, options = {}]: Parts<S, C, RClient, RServer>
): Effect.fn.Return<TestSessionShape, Failure, Scope.Scope | Services<S, C, RClient, RServer>> {
  LoadedPackages.check(thisPackage)
  const { client, server, transports } = options
  const pair = transports ?? (yield* inMemory(options))
  const ends = { client: yield* recorded(pair.client), server: yield* recorded(pair.server) }
  const serving = yield* ServerSession.make<S, RServer>(handlers, {
    info: { name: "server", version: "0.0.0" },
    ...server,
    limits: { gracefulTimeout: 0, ...server?.limits }
  }).pipe(Effect.provideService(Transport.Transport, ends.server.transport))
  const asking = yield* ClientSession.make<C, RClient>({
    info: { name: "client", version: "0.0.0" },
    revisions: Revision.legacy,
    ...client,
    limits: { gracefulTimeout: 0, ...client?.limits }
  }).pipe(Effect.provideService(Transport.Transport, ends.client.transport))
  // Over other transports the message takes time, and may be lost.
  if (transports === undefined && Revision.isLegacy(asking.profile.revision)) yield* untilInitialized(serving)
  return {
    client: asking,
    server: serving,
    entries: (side) => Effect.sync(() => [...ends[side].entries]),
    sent: (side) => Effect.sync(() => Transcript.messages(ends[side].entries, "Sent")),
    transcript: (side) => Effect.sync(() => Transcript.fromRecording(ends[side].entries))
  }
})

/**
 * Provides both sides as services, and the `TestSession`. Each build of this Layer creates two sessions.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession } from "@effect-mcp/session"
 * import { TestSession } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * // A program that knows nothing of tests.
 * const program = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return yield* session.callTool("greet")
 * })
 *
 * export const greeting = program.pipe(Effect.provide(TestSession.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("hello")] })
 * }, { form: "StreamPerRequest" }))) // => { content: [{ type: "text", text: "hello" }] }
 * ```
 *
 * @category layers
 */
export const layer = <
  const S extends Handlers.Handlers<"client", unknown>,
  const C extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  RClient = never,
  RServer = never
>(
  ...parts: Parts<S, C, RClient, RServer>
): Layer.Layer<
  TestSession | ClientSession.ClientSession | ServerSession.ServerSession,
  Failure,
  Exclude<Services<S, C, RClient, RServer>, Scope.Scope>
> =>
  Layer.fresh(
    Layer.effectContext(Effect.map(make<S, C, RClient, RServer>(...parts), (session) =>
      Context.make(TestSession, session).pipe(
        Context.add(ClientSession.ClientSession, session.client),
        Context.add(ServerSession.ServerSession, session.server)
      )))
  )

import { Content, JsonRpc, McpError, Revision, type Tool } from "@effect-mcp/protocol"
import {
  type CallbackContext,
  ClientSession,
  type Handlers,
  type Limits,
  MemoryTransport,
  type RequestContext,
  type RequestError,
  ServerSession,
  type SessionEvent,
  Transport
} from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./Link.ts"
import * as RawServer from "./RawServer.ts"

/** Who both sides say they are. */
export const info = { name: "test", version: "1.0.0" }

/** A transport whose sends take a fiber, as most do. */
const inFibers = (end: Transport.Transport["Service"]): Transport.Transport["Service"] => ({
  connect: Effect.map(end.connect, (connection) => ({
    ...connection,
    send: (outbound) => Effect.suspend(() => connection.send(outbound))
  }))
})

/** The forms of the in-memory transport; what belongs to no request has a route in each. */
export const forms = [
  { form: "one stream", pair: MemoryTransport.make() },
  {
    form: "one stream, with fibers",
    pair: Effect.map(MemoryTransport.make(), ({ client, server }) => ({
      client: inFibers(client),
      server: inFibers(server)
    }))
  },
  { form: "a stream for each request", pair: MemoryTransport.makeMultiStream({ standalone: true }) }
] as const

export type ClientOptions = Partial<ClientSession.Options<Handlers.Handlers<"server", CallbackContext.CallbackContext>>>
export type ServerOptions = Partial<ServerSession.Options>
export type ServerHandlers = Handlers.Handlers<"client", RequestContext.RequestContext>

/** Handlers get no time to finish, unless a test says so: nobody would move its clock at the end of a test. */
const hasty = <Given extends { readonly limits?: Limits.Options }>(options: Given) => ({
  ...options,
  limits: { gracefulCloseTimeout: 0, ...options.limits }
})

/** A client session over this end of a transport. */
export const client = (transport: Transport.Transport["Service"], options: ClientOptions = {}) =>
  ClientSession.make({ info, ...hasty(options) }).pipe(Effect.provideService(Transport.Transport, transport))

/** A server session over this end of a transport. */
export const server = (
  transport: Transport.Transport["Service"],
  handlers: ServerHandlers = {},
  options: ServerOptions = {}
) =>
  ServerSession.make(handlers, { info, ...hasty(options) }).pipe(Effect.provideService(Transport.Transport, transport))

/** Starts an effect, and sees it wait. */
export const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Why a request failed that was started. */
export const reasonOf = <A>(fiber: Fiber.Fiber<A, RequestError.RequestError>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), (error) => error.reason)

/** Lets every fiber that can run do so. */
export const settled: Effect.Effect<void> = Effect.asVoid(Effect.repeat(Effect.yieldNow, { times: 30 }))

/** Should this fail, the clock moves on by itself, so that no session waits for it for ever. */
export const movingOn = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.onError(effect, () => Effect.forkDetach(Effect.repeat(TestClock.adjust("1 hour"), { times: 100 })))

/** Collects events. */
export const recorder = () => {
  const events: Array<SessionEvent.SessionEvent> = []
  return {
    events,
    observe: (event: SessionEvent.SessionEvent) => {
      events.push(event)
    },
    /** The events of one kind. */
    of: <Tag extends SessionEvent.SessionEvent["_tag"]>(tag: Tag) =>
      events.filter((event): event is Extract<SessionEvent.SessionEvent, { readonly _tag: Tag }> => event._tag === tag)
  }
}

type ToolEffect = Effect.Effect<Tool.CallToolResult, McpError.McpError, RequestContext.RequestContext>

/** The handlers of a server that has these tools. */
export const tools = (
  byName: {
    readonly [name: string]: ToolEffect | ((input: { readonly [name: string]: unknown }) => ToolEffect)
  }
): ServerHandlers => ({
  "tools/list": () => Effect.succeed({ tools: [] }),
  "tools/call": (params) => {
    const tool = byName[params.name]
    if (tool === undefined) return Effect.fail(McpError.invalidParams(`Unknown tool: ${params.name}`))
    return typeof tool === "function" ? tool(params.arguments ?? {}) : tool
  }
})

/** A result with this text. */
export const text = (words: string): Tool.CallToolResult => ({ content: [Content.text(words)] })

/** A handler that says whether it was interrupted, and finished. */
export const traced = (work: Effect.Effect<void>) => {
  const seen: Array<string> = []
  const say = (words: string) =>
    Effect.sync(() => {
      seen.push(words)
    })
  const effect = say("began").pipe(
    Effect.andThen(work),
    Effect.andThen(say("finished")),
    Effect.onInterrupt(() => say("interrupted")),
    Effect.as(text("done"))
  )
  return { seen, effect }
}

/** A client session with a server that follows a script; it answers `initialize` by itself. */
export const withRawServer = Effect.fnUntraced(function*(options: {
  readonly client?: ClientOptions
  readonly script?: RawServer.Script
  readonly result?: object
  readonly pair?: Effect.Effect<MemoryTransport.Pair>
} = {}) {
  const pair = yield* options.pair ?? MemoryTransport.make()
  const link = Link.over(pair.client)
  const record = recorder()
  const raw = yield* RawServer.make(pair.server, RawServer.shakesHands(options.script, options.result))
  const session = yield* client(link.transport, { observe: record.observe, ...options.client })
  // The answer woke this fiber while it was being delivered; what is said next shall not be nested in that.
  yield* settled
  return { session, raw, link, record }
})

/** The messages of a handshake, as a scripted client says them. */
export const initialize = (protocolVersion: string = Revision.latest) =>
  JsonRpc.request(0, "initialize", { protocolVersion, capabilities: {}, clientInfo: info })
export const initialized = JsonRpc.notification("notifications/initialized")

/** A call of a tool, as a scripted client says it. */
export const call = (id: number | string, name: string, more: JsonRpc.Params = {}) =>
  JsonRpc.request(id, "tools/call", { name, ...more })

/** A log message, as a scripted server says it. */
export const logMessage = (data: unknown) => JsonRpc.notification("notifications/message", { level: "info", data })

/** A server session with a client that says what it is told to and has not said anything yet. */
export const withRawClient = Effect.fnUntraced(function*(options: {
  readonly handlers?: ServerHandlers
  readonly server?: ServerOptions
  readonly pair?: Effect.Effect<MemoryTransport.Pair>
} = {}) {
  const pair = yield* options.pair ?? MemoryTransport.make()
  const link = Link.over(pair.server)
  const record = recorder()
  const session = yield* server(link.transport, options.handlers, { observe: record.observe, ...options.server })
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
  return { session, raw, link, record }
})

/** Lets the scripted client shake hands. */
export const introduce = Effect.fnUntraced(function*(raw: RawPeer.RawPeer, protocolVersion?: string) {
  yield* raw.send(initialize(protocolVersion))
  const answer = yield* raw.response
  yield* raw.send(initialized)
  return answer
})

/** A client and a server that have come to terms. */
export const connected = Effect.fnUntraced(function*(options: {
  readonly handlers?: ServerHandlers
  readonly client?: ClientOptions
  readonly server?: ServerOptions
  readonly pair?: Effect.Effect<MemoryTransport.Pair>
} = {}) {
  const pair = yield* options.pair ?? MemoryTransport.make()
  const links = { client: Link.over(pair.client), server: Link.over(pair.server) }
  const records = { client: recorder(), server: recorder() }
  const serverSession = yield* server(links.server.transport, options.handlers, {
    observe: records.server.observe,
    capabilities: { logging: {} },
    ...options.server
  })
  const clientSession = yield* client(links.client.transport, { observe: records.client.observe, ...options.client })
  yield* settled
  return { client: clientSession, server: serverSession, links, records }
})

/** The numbers from 1 to this one. */
export const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

/** The error code of a response, if it is one. */
export const codeOf = (response: JsonRpc.Message): number | undefined =>
  "error" in response ? response.error.code : undefined

/** The names of messages: methods, and for responses the id. */
export const names = (messages: ReadonlyArray<JsonRpc.Message>): ReadonlyArray<unknown> =>
  messages.map((message) => "method" in message ? message.method : message.id)

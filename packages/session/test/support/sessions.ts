import { Content, JsonRpc, McpError, Revision, type Tool } from "@effect-mcp/protocol"
import {
  type ClientRequestContext,
  ClientSession,
  type Handlers,
  type Limits,
  MemoryTransport,
  type NotificationContext,
  type RequestContext,
  type RequestError,
  ServerSession,
  type SessionEvent,
  Transport
} from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./Link.ts"
import * as RawServer from "./RawServer.ts"

/** The name and the version of both sides. */
export const info = { name: "test", version: "1.0.0" }

/** Makes a transport whose `send` needs a fiber, as that of most transports. */
const inFibers = (end: Transport.Transport["Service"]): Transport.Transport["Service"] => ({
  connect: Effect.map(end.connect, (connection) => ({
    ...connection,
    send: (outbound) => Effect.suspend(() => connection.send(outbound))
  }))
})

/** The forms of the in-memory transport that have a route for each message. */
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

export type ClientOptions = Partial<
  ClientSession.Options<Handlers.Handlers<"server", ClientRequestContext.ClientRequestContext>>
>
export type ServerOptions = Partial<ServerSession.Options>
export type ServerHandlers = Handlers.Handlers<
  "client",
  NotificationContext.NotificationContext | RequestContext.RequestContext | Scope.Scope
>

/** Sets `gracefulTimeout` to 0 by default, because no test advances its clock after its end. */
const withoutGracefulClose = <Given extends { readonly limits?: Limits.Options }>(options: Given) => ({
  ...options,
  limits: { gracefulTimeout: 0, ...options.limits }
})

/** Makes a client session over this end of a transport. */
export const client = (transport: Transport.Transport["Service"], options: ClientOptions = {}) =>
  ClientSession.make({ info, revisions: Revision.legacy, ...withoutGracefulClose(options) }).pipe(
    Effect.provideService(Transport.Transport, transport)
  )

/** Makes a server session over this end of a transport. */
export const server = (
  transport: Transport.Transport["Service"],
  handlers: ServerHandlers = {},
  options: ServerOptions = {}
) =>
  ServerSession.make(handlers, { info, ...withoutGracefulClose(options) }).pipe(
    Effect.provideService(Transport.Transport, transport)
  )

/** Forks an effect, which runs until it first waits. */
export const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Returns the reason with which a forked request fails. */
export const reasonOf = <A>(fiber: Fiber.Fiber<A, RequestError.RequestError>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), (error) => error.reason)

/** Runs all other fibers until each of them waits. */
export const settled: Effect.Effect<void> = Effect.asVoid(Effect.repeat(Effect.yieldNow, { times: 30 }))

/** Advances the clock if the effect fails. Without this, sessions would wait for the clock and hide the failure. */
export const advancingClockOnError = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.onError(effect, () => Effect.forkDetach(Effect.repeat(TestClock.adjust("1 hour"), { times: 100 })))

/** Makes an observer that collects events. */
export const recorder = () => {
  const events: Array<SessionEvent.SessionEvent> = []
  return {
    events,
    observe: (event: SessionEvent.SessionEvent) => {
      events.push(event)
    },
    /** Returns the events of one kind. */
    of: <Tag extends SessionEvent.SessionEvent["_tag"]>(tag: Tag) =>
      events.filter((event): event is Extract<SessionEvent.SessionEvent, { readonly _tag: Tag }> => event._tag === tag)
  }
}

type ToolEffect = Effect.Effect<Tool.CallToolResult, McpError.McpError, RequestContext.RequestContext>

/** Makes the handlers of a server with these tools. */
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

/** Makes a result with this text. */
export const text = (words: string): Tool.CallToolResult => ({ content: [Content.text(words)] })

/** Makes a handler, and a record of its start, its end and its interruption. */
export const traced = (work: Effect.Effect<void>) => {
  const seen: Array<string> = []
  const record = (words: string) =>
    Effect.sync(() => {
      seen.push(words)
    })
  const effect = record("started").pipe(
    Effect.andThen(work),
    Effect.andThen(record("finished")),
    Effect.onInterrupt(() => record("interrupted")),
    Effect.as(text("done"))
  )
  return { seen, effect }
}

/** Makes a client session with a scripted server, which replies to `initialize` itself. */
export const withRawServer = Effect.fnUntraced(function*(options: {
  readonly client?: ClientOptions
  readonly script?: RawServer.Script
  readonly result?: object
  readonly pair?: Effect.Effect<MemoryTransport.Pair>
} = {}) {
  const pair = yield* options.pair ?? MemoryTransport.make()
  const link = Link.over(pair.client)
  const record = recorder()
  const raw = yield* RawServer.make(pair.server, RawServer.replyToInitialize(options.script, options.result))
  const session = yield* client(link.transport, { observe: record.observe, ...options.client })
  // This fiber resumed within the delivery of the response. Without this, the next delivery would be nested in that
  // one.
  yield* settled
  return { session, raw, link, record }
})

/** The messages of a handshake of a scripted client. */
export const initialize = (protocolVersion: string = Revision.latestLegacy) =>
  JsonRpc.request(0, "initialize", { protocolVersion, capabilities: {}, clientInfo: info })
export const initialized = JsonRpc.notification("notifications/initialized")

/** Makes a call of a tool. */
export const call = (id: number | string, name: string, more: JsonRpc.Params = {}) =>
  JsonRpc.request(id, "tools/call", { name, ...more })

/** Makes a log message. */
export const logMessage = (data: unknown) => JsonRpc.notification("notifications/message", { level: "info", data })

/** Makes a server session with a scripted client, which has sent nothing yet. */
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

/** Performs the handshake of a scripted client. Returns the response to `initialize`. */
export const performHandshake = Effect.fnUntraced(function*(raw: RawPeer.RawPeer, protocolVersion?: string) {
  yield* raw.send(initialize(protocolVersion))
  const answer = yield* raw.response
  yield* raw.send(initialized)
  return answer
})

/** Makes a client session and a server session, after their handshake. */
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

/** Returns the numbers from 1 to this one. */
export const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

/** Returns the error code of a response, if it has one. */
export const codeOf = (response: JsonRpc.Message): number | undefined =>
  "error" in response ? response.error.code : undefined

/** Returns the method of each message, or the id of a response. */
export const names = (messages: ReadonlyArray<JsonRpc.Message>): ReadonlyArray<unknown> =>
  messages.map((message) => "method" in message ? message.method : message.id)

/** A server of Streamable HTTP on a real socket, and a record of its events and logs. */
import { Content, McpError, type Tool } from "@effect-mcp/protocol"
import {
  ChangeBus,
  type EventStore,
  type Handlers,
  type RequestContext,
  type SessionEvent,
  SessionHost,
  SessionOwners,
  type SessionStore
} from "@effect-mcp/session"
import { EventStore as EventStoreTag } from "@effect-mcp/session/EventStore"
import { SessionStore as SessionStoreTag } from "@effect-mcp/session/SessionStore"
import { anonymous, Authentication } from "@effect-mcp/transport/Authentication"
import { StreamableHttpServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"

export const info = { name: "test", version: "1.0.0" }

type ToolEffect = Effect.Effect<Tool.CallToolResult, McpError.McpError, RequestContext.RequestContext | Scope.Scope>
export type Tools = {
  readonly [name: string]: ToolEffect | ((input: { readonly [name: string]: unknown }) => ToolEffect)
}

export type ServerHandlers = Handlers.Handlers<"client", RequestContext.RequestContext | Scope.Scope>

/** Returns the handlers of a server with these tools. */
export const tools = (byName: Tools): ServerHandlers => ({
  "tools/list": () => Effect.succeed({ tools: [] }),
  "tools/call": (params) => {
    const tool = byName[params.name]
    if (tool === undefined) return Effect.fail(McpError.invalidParams(`Unknown tool: ${params.name}`))
    return typeof tool === "function" ? tool(params.arguments ?? {}) : tool
  }
})

/** Returns a result with this text. */
export const text = (value: string): Tool.CallToolResult => ({ content: [Content.text(value)] })

export interface Settings {
  readonly session?: Partial<SessionHost.Options>
  readonly http?: StreamableHttpServer.Options & { readonly hostname?: string }
  readonly store?: EventStore.EventStore["Service"] | undefined
  readonly sessionStore?: SessionStore.SessionStore["Service"] | undefined
  readonly owners?: SessionOwners.SessionOwners["Service"] | undefined
  readonly authentication?: Authentication["Service"] | undefined
  readonly bus?: ChangeBus.ChangeBus["Service"] | undefined
}

/** A server that runs, as a test observes it. */
export interface Served {
  readonly port: number
  readonly host: SessionHost.SessionHostShape
  readonly events: ReadonlyArray<SessionEvent.SessionEvent>
  /** The log entries of the levels warning, error and fatal. */
  readonly logs: ReadonlyArray<string>
  /** Stops the server, and waits until it has stopped. */
  readonly stop: Effect.Effect<void>
}

/** Provides the services that a server finds in its context. */
export const services = (
  { authentication, bus, owners, sessionStore, store }: Settings
): Layer.Layer<Authentication> => {
  let context: Context.Context<never> = Context.empty()
  if (store !== undefined) context = Context.add(context, EventStoreTag, store)
  if (sessionStore !== undefined) context = Context.add(context, SessionStoreTag, sessionStore)
  if (owners !== undefined) context = Context.add(context, SessionOwners.SessionOwners, owners)
  if (bus !== undefined) context = Context.add(context, ChangeBus.ChangeBus, bus)
  return Layer.merge(
    Layer.succeedContext(context),
    authentication === undefined ? anonymous : Layer.succeed(Authentication, authentication)
  )
}

/** Provides a host whose handlers are interrupted at once on shutdown, unless a test sets another limit. */
export const hostOf = (
  handlers: ServerHandlers,
  { session }: Settings,
  events: Array<SessionEvent.SessionEvent> = []
): Layer.Layer<SessionHost.SessionHost> =>
  SessionHost.layer(handlers, {
    info,
    observe: (event) => void events.push(event),
    ...session,
    limits: { gracefulTimeout: 0, ...session?.limits }
  })

/** Collects the log entries of the levels warning, error and fatal. */
export const collectLogs = (logs: Array<string>): Layer.Layer<never> =>
  Logger.layer([
    Logger.make(({ cause, logLevel, message }) => {
      const isSevere = logLevel === "Warn" || logLevel === "Error" || logLevel === "Fatal"
      // `TestClock` warns of tests that take a second of real time, which each does on a crowded machine.
      if (isSevere && !String(message).startsWith("A test is using time")) {
        logs.push(`${logLevel}: ${JSON.stringify(message)} ${cause.reasons.length > 0 ? String(cause) : ""}`)
      }
    })
  ])

/** Runs a server until the scope closes, or until it is stopped. */
export const serveWith = Effect.fnUntraced(function*(
  listener: Layer.Layer<HttpServer, ServeError, Authentication | SessionHost.SessionHost>,
  handlers: ServerHandlers,
  settings: Omit<Settings, "http"> = {}
): Effect.fn.Return<Served, never, Scope.Scope> {
  const events: Array<SessionEvent.SessionEvent> = []
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const layer = listener.pipe(
    Layer.provideMerge(hostOf(handlers, settings, events)),
    Layer.provideMerge(services(settings)),
    Layer.provideMerge(collectLogs(logs))
  )
  const context = yield* Effect.orDie(Layer.buildWithScope(Layer.fresh(layer), scope))
  const { address } = Context.get(context, HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die(new Error("no port"))
  return {
    port: address.port,
    host: Context.get(context, SessionHost.SessionHost),
    events,
    logs,
    stop: Scope.close(scope, Exit.void)
  }
})

/** Runs a server of Streamable HTTP. */
export const serve = (handlers: ServerHandlers, settings: Settings = {}) =>
  serveWith(StreamableHttpServer.layerNode({ port: 0, ...settings.http }), handlers, settings)

/** A server of Streamable HTTP without sessions on a real socket. */
import type { SessionEvent, StatelessServer } from "@effect-mcp/session"
import { StatelessHttpServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { createServer } from "node:http"
import { collectLogs, info, type ServerHandlers, services, type Settings } from "./server.ts"

export interface StatelessSettings extends Pick<Settings, "authentication" | "http"> {
  readonly server?: Partial<StatelessServer.Options>
}

/** A server that runs, as a test observes it. */
export interface StatelessServed {
  readonly port: number
  readonly events: ReadonlyArray<SessionEvent.SessionEvent>
  readonly logs: ReadonlyArray<string>
  readonly stop: Effect.Effect<void>
}

const onItsOwn = (handlers: ServerHandlers, options: StatelessHttpServer.Options) =>
  StatelessHttpServer.layerNode(handlers, { port: 0, ...options })

const inBackend = (handlers: ServerHandlers, options: StatelessHttpServer.Options) =>
  HttpRouter.serve(
    Layer.merge(
      HttpRouter.add("GET", "/health", HttpServerResponse.text("fine")),
      StatelessHttpServer.layer(handlers, options)
    ),
    { disableLogger: true, disableListenLog: true }
  ).pipe(
    Layer.provideMerge(
      NodeHttpServer.layerServer(
        () => createServer(),
        { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "300 millis" }
      )
    )
  )

const behindProxy = (handlers: ServerHandlers, options: StatelessHttpServer.Options) =>
  HttpRouter.serve(StatelessHttpServer.layer(handlers, options), {
    disableLogger: true,
    disableListenLog: true,
    middleware: HttpMiddleware.xForwardedHeaders({ trustedProxies: () => true })
  }).pipe(
    Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port: 0, host: "127.0.0.1" }))
  )

const places = { "on its own": onItsOwn, "in a backend": inBackend, "behind a proxy": behindProxy }

/** Runs the server until the scope closes, or until it is stopped. */
export const serveStateless = Effect.fnUntraced(function*(
  handlers: ServerHandlers,
  settings: StatelessSettings = {},
  place: keyof typeof places = "on its own"
): Effect.fn.Return<StatelessServed, never, Scope.Scope> {
  const events: Array<SessionEvent.SessionEvent> = []
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const layer = places[place](handlers, {
    info,
    capabilities: { logging: {} },
    observe: (event) => void events.push(event),
    ...settings.http,
    ...settings.server,
    limits: { gracefulTimeout: 0, ...settings.server?.limits }
  }).pipe(
    Layer.provideMerge(services(settings)),
    Layer.provideMerge(collectLogs(logs))
  )
  const context = yield* Effect.orDie(Layer.buildWithScope(Layer.fresh(layer), scope))
  const { address } = Context.get(context, HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die(new Error("no port"))
  return { port: address.port, events, logs, stop: Scope.close(scope, Exit.void) }
})

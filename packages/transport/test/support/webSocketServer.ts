/** A server of WebSockets on a real socket, and what it did beside answering. */
import { type SessionEvent, SessionHost } from "@effect-mcp/session"
import { WebSocketServer } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { hostOf, listening, type Served, type ServerHandlers, type Settings, surroundings } from "./server.ts"

export interface WebSocketSettings extends Omit<Settings, "http" | "store"> {
  readonly webSocket?: Partial<WebSocketServer.NodeOptions>
}

/** Serves until the scope closes, or until it is stopped. */
export const serve = Effect.fnUntraced(function*(
  handlers: ServerHandlers,
  settings: WebSocketSettings = {}
): Effect.fn.Return<Served, never, Scope.Scope> {
  const events: Array<SessionEvent.SessionEvent> = []
  const logs: Array<string> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const layer = WebSocketServer.layerNode({ port: 0, ...settings.webSocket }).pipe(
    Layer.provideMerge(hostOf(handlers, settings, events)),
    Layer.provideMerge(surroundings(settings)),
    Layer.provideMerge(listening(logs))
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

/** Why the sessions ended that have. */
export const reasons = ({ events }: Served) => events.flatMap((event) => event._tag === "Closed" ? [event.reason] : [])

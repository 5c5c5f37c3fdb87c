/** A server of WebSockets on a real socket, and what it did beside answering. */
import { WebSocketServer } from "@effect-mcp/transport"
import { type Served, type ServerHandlers, serveWith, type Settings } from "./server.ts"

export interface WebSocketSettings extends Omit<Settings, "http" | "store"> {
  readonly webSocket?: Partial<WebSocketServer.NodeOptions>
}

/** Serves until the scope closes, or until it is stopped. */
export const serve = (handlers: ServerHandlers, settings: WebSocketSettings = {}) =>
  serveWith(WebSocketServer.layerNode({ port: 0, ...settings.webSocket }), handlers, settings)

/** Why the sessions ended that have. */
export const reasons = ({ events }: Served) => events.flatMap((event) => event._tag === "Closed" ? [event.reason] : [])

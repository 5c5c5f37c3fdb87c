/** A WebSocket server on a real socket, and a record of its events and logs. */
import { WebSocketServer } from "@effect-mcp/transport/node"
import { type Served, type ServerHandlers, serveWith, type Settings } from "./server.ts"

export interface WebSocketSettings extends Omit<Settings, "http" | "store"> {
  readonly webSocket?: Partial<WebSocketServer.NodeOptions>
}

/** Runs the server until the scope closes, or until it is stopped. */
export const serve = (handlers: ServerHandlers, settings: WebSocketSettings = {}) =>
  serveWith(WebSocketServer.layerNode({ port: 0, ...settings.webSocket }), handlers, settings)

/** Returns the close reasons of the sessions that have ended. */
export const reasons = ({ events }: Served) => events.flatMap((event) => event._tag === "Closed" ? [event.reason] : [])

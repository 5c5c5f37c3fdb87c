/**
 * The calculator in the process of its client, connected by the in-memory transport.
 */
import { McpServer } from "@effect-mcp/server"
import type { Transport, TransportError } from "@effect-mcp/session"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Tools from "./tools.ts"

/** The transport to the calculator. The server logs to `log`, because the client prints to the console. */
export const layer = (
  log: (line: string) => void
): Layer.Layer<Transport.Transport, TransportError.TransportError> =>
  McpServer.layerMemory(Tools.layer, Tools.options).pipe(
    Layer.provide(Logger.layer([Logger.make(({ message }) => log(String(message)))]))
  )

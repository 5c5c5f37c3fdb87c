/**
 * The calculator in the process of its client, connected by the in-memory transport.
 */
import { ServerSession, type Transport, type TransportError } from "@effect-mcp/session"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Tools from "./tools.ts"

/** The transport to the calculator. The server logs to `log`, because the client prints to the console. */
export const layer = (
  log: (line: string) => void
): Layer.Layer<Transport.Transport, TransportError.TransportError> =>
  ServerSession.layerInProcess(Tools.handlers, Tools.options).pipe(
    Layer.provide(Logger.layer([Logger.make(({ message }) => log(String(message)))]))
  )

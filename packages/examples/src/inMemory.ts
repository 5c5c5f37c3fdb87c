/**
 * The calculator in the same process, as a transport that leads to it.
 */
import { ServerSession, type Transport, type TransportError } from "@effect-mcp/session"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Tools from "./tools.ts"

/** The transport. The server at its other end logs into this function, since the console belongs to the client. */
export const layer = (
  log: (line: string) => void
): Layer.Layer<Transport.Transport, TransportError.TransportError> =>
  ServerSession.layerInProcess(Tools.handlers, Tools.options).pipe(
    Layer.provide(Logger.layer([Logger.make(({ message }) => log(String(message)))]))
  )

/**
 * The calculator in the same process, as a transport that leads to it.
 */
import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Tools from "./tools.ts"

/** The transport. The server at its other end logs into this function, since the console belongs to the client. */
export const layer = (log: (line: string) => void): Layer.Layer<Transport.Transport> =>
  Layer.effect(
    Transport.Transport,
    Effect.gen(function*() {
      const { client, server } = yield* MemoryTransport.make()
      yield* Effect.forkScoped(
        ServerSession.serve(Tools.handlers, Tools.options).pipe(Effect.provide(MemoryTransport.layer(server)))
      )
      return client
    })
  ).pipe(Layer.provide(Logger.layer([Logger.make(({ message }) => log(String(message)))])))

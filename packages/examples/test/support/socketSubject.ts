/** A subject for the laws: a server, a client's end over a TCP socket, and the faults of their connection. */
import { ServerSession, Transport } from "@effect-mcp/session"
import { LawServer, type TransportLaws } from "@effect-mcp/testing/laws"
import { JsonLines } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Net from "node:net"
import * as SocketTransport from "../../src/socketTransport.ts"

/** The client's end, the sockets of both ends, and the server. */
type Served = TransportLaws.ClientEnd & {
  readonly atClient: Net.Socket
  readonly atServer: Net.Socket
  /** The fiber that serves the client. */
  readonly serving: Fiber.Fiber<unknown, unknown>
}

/** Opens two sockets that are connected with each other. */
export const sockets = Effect.acquireRelease(
  Effect.callback<{ readonly atClient: Net.Socket; readonly atServer: Net.Socket }, Error>((resume) => {
    const listener = Net.createServer({ allowHalfOpen: true })
    listener.once("error", (error) => resume(Effect.fail(error)))
    listener.listen(0, "127.0.0.1", () => {
      const address = listener.address()
      if (address === null || typeof address === "string") return
      const atClient = Net.connect({ port: address.port, host: address.address, allowHalfOpen: true })
      listener.once("connection", (atServer) => {
        listener.close()
        resume(Effect.succeed({ atClient, atServer }))
      })
    })
  }),
  ({ atClient, atServer }) =>
    Effect.sync(() => {
      atClient.destroy()
      atServer.destroy()
    })
)

const write = (socket: Net.Socket, bytes: Uint8Array): Effect.Effect<void, Error> =>
  Effect.callback((resume) => {
    socket.write(bytes, (error) => resume(error ? Effect.fail(error) : Effect.void))
  })

/** Waits until a socket is closed. */
const closed = (socket: Net.Socket): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (socket.destroyed) return resume(Effect.void)
    socket.once("close", () => resume(Effect.void))
  })

/** Returns a subject whose client's end is made by `over`. The server's end is that of `socketTransport.ts`. */
export const subject = (
  over: (socket: Net.Socket) => Layer.Layer<Transport.Transport>
): TransportLaws.Subject<Served> => ({
  serve: Effect.gen(function*() {
    const { atClient, atServer } = yield* sockets
    // The end of a client is a half-close, so a handler that never returns would keep the server for the default time.
    const serving = yield* ServerSession.serve(LawServer.make(), {
      ...LawServer.options,
      limits: { gracefulTimeout: "2 seconds" }
    }).pipe(
      // Some laws use handlers that die. Their log messages are expected.
      Effect.provide(Layer.merge(SocketTransport.over(atServer), Logger.layer([]))),
      Effect.forkScoped
    )
    const client = Context.get(yield* Layer.build(over(atClient)), Transport.Transport)
    return { ...client, atClient, atServer, serving }
  }),
  ended: ({ atServer }) => closed(atServer),
  shutDown: ({ serving }) => Fiber.interrupt(serving),
  faults: {
    stall: {
      begin: ({ atServer }) => Effect.sync(() => atServer.pause()),
      end: ({ atServer }) => Effect.sync(() => atServer.resume())
    },
    cut: ({ atClient, atServer }) => Effect.andThen(Effect.sync(() => atServer.resetAndDestroy()), closed(atClient)),
    halfClose: ({ atClient }) => Effect.sync(() => atClient.end()),
    injectToClient: ({ atServer }, bytes) => write(atServer, bytes),
    injectToServer: ({ atClient }, bytes) => write(atClient, bytes),
    maxMessageBytes: JsonLines.defaultMaxMessageBytes
  }
})

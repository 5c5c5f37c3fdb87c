/** A proxy whose connections can fall silent: they stay open, and no byte arrives at either end any more. */
import * as Effect from "effect/Effect"
import * as net from "node:net"

/** The proxy of a server at a port of this machine. */
export interface SilentProxy {
  readonly port: number
  /** Stops forwarding the bytes of the connections that are open now. Later connections work. */
  readonly silence: () => void
}

/** Listens at a port, and forwards everything to another one. */
export const make = (target: number) =>
  Effect.acquireRelease(
    Effect.callback<SilentProxy & { readonly close: () => void }>((resume) => {
      const sockets = new Set<net.Socket>()
      const listener = net.createServer((client) => {
        const server = net.connect({ host: "127.0.0.1", port: target })
        for (const [one, other] of [[client, server], [server, client]] as const) {
          sockets.add(one)
          one.pipe(other)
          one.on("error", () => other.destroy())
          one.on("close", () => sockets.delete(one))
        }
      })
      listener.listen({ host: "127.0.0.1", port: 0 }, () => {
        const address = listener.address()
        resume(Effect.succeed({
          port: typeof address === "object" && address !== null ? address.port : 0,
          silence: () => {
            for (const socket of sockets) socket.unpipe().pause()
          },
          close: () => {
            listener.close()
            for (const socket of sockets) socket.destroy()
          }
        }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** What stands between a client and a server on TCP, and can be made to take nothing for a while. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

export interface TcpProxy {
  readonly port: number
  /** Takes no bytes of clients any more, and gives them none. */
  readonly stall: () => void
  readonly recover: () => void
  /** Breaks off the connections that there are. */
  readonly cut: () => void
  /** How many clients are connected. */
  readonly connections: () => number
}

/** Listens on a port of its own, and passes all on to this one. */
export const make = (target: number): Effect.Effect<TcpProxy, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<TcpProxy & { readonly close: () => void }, Error>((resume) => {
      const pairs = new Set<readonly [Net.Socket, Net.Socket]>()
      let stalled = false
      const listener = Net.createServer((client) => {
        const server = Net.connect(target, "127.0.0.1")
        const pair = [client, server] as const
        pairs.add(pair)
        for (const [one, other] of [[client, server], [server, client]] as const) {
          one.on("error", () => {}).on("close", () => {
            pairs.delete(pair)
            other.destroy()
          })
          one.on("end", () => other.end())
          one.on("data", (bytes) => {
            if (!other.write(bytes)) one.pause()
          })
          other.on("drain", () => {
            if (!stalled) one.resume()
          })
        }
        if (stalled) { for (const socket of pair) socket.pause() }
      })
      const all = (act: (socket: Net.Socket) => void) => {
        for (const pair of pairs) pair.forEach(act)
      }
      listener.once("error", (error) => resume(Effect.fail(error)))
      listener.listen(0, "127.0.0.1", () => {
        const address = listener.address()
        if (address === null || typeof address === "string") return
        resume(Effect.succeed({
          port: address.port,
          stall: () => {
            stalled = true
            all((socket) => socket.pause())
          },
          recover: () => {
            stalled = false
            all((socket) => socket.resume())
          },
          cut: () => all((socket) => socket.destroy()),
          connections: () => pairs.size,
          close: () => {
            listener.close()
            all((socket) => socket.destroy())
          }
        }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** A relay between a client and a server on real sockets, which can break their connections. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

export interface Relay {
  /** The port that the relay listens on; absent for a path. */
  readonly port: number
  /** Closes every connection, as the exit of the process would, and accepts no other. */
  readonly destroy: Effect.Effect<void>
  /** Resets every connection (TCP RST), and accepts no other. */
  readonly reset: Effect.Effect<void>
  /** Discards further data from clients, and signals the end of input to servers. */
  readonly halfClose: Effect.Effect<void>
}

interface Pair {
  readonly client: Net.Socket
  readonly server: Net.Socket
  inputEnded: boolean
}

interface Listening {
  readonly port: number
  /** Applies a function to every socket, and accepts no other connection. */
  readonly breakAll: (apply: (socket: Net.Socket) => void) => void
  readonly halfClose: () => void
}

/** Creates a relay to a server. It listens on a local port or at a path. */
export const make = (
  target: Net.NetConnectOpts,
  at: Net.ListenOptions = { host: "127.0.0.1", port: 0 }
): Effect.Effect<Relay, Error, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<Listening, Error>(
        (resume) => {
          const pairs = new Set<Pair>()
          let rejecting = false
          const listener = Net.createServer({ allowHalfOpen: true }, (client) => {
            // Without a listener an error would end the process. Errors are expected here.
            client.on("error", () => {})
            if (rejecting) {
              client.destroy()
              return
            }
            const server = Net.connect({ ...target, allowHalfOpen: true })
            const pair: Pair = { client, server, inputEnded: false }
            pairs.add(pair)
            for (const [one, other] of [[client, server], [server, client]] as const) {
              one.on("error", () => {}).on("close", () => {
                pairs.delete(pair)
                other.destroy()
              })
              one.on("end", () => other.end())
              one.on("data", (bytes) => {
                if (pair.inputEnded && one === client) return
                if (!other.write(bytes)) one.pause()
              })
              other.on("drain", () => one.resume())
            }
          })
          listener.once("error", (error) => resume(Effect.fail(error)))
          listener.listen(at, () => {
            const address = listener.address()
            resume(Effect.succeed({
              port: address !== null && typeof address === "object" ? address.port : 0,
              breakAll: (apply) => {
                rejecting = true
                if (listener.listening) listener.close()
                for (const { client, server } of pairs) [client, server].forEach(apply)
              },
              halfClose: () => {
                for (const pair of pairs) {
                  pair.inputEnded = true
                  pair.server.end()
                }
              }
            }))
          })
        }
      ),
      ({ breakAll }) => Effect.sync(() => breakAll((socket) => socket.destroy()))
    ),
    ({ breakAll, halfClose, port }) => ({
      port,
      destroy: Effect.sync(() => breakAll((socket) => socket.destroy())),
      reset: Effect.sync(() => breakAll((socket) => socket.resetAndDestroy())),
      halfClose: Effect.sync(halfClose)
    })
  )

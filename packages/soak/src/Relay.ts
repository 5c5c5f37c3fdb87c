/** What stands between a client and a server on real sockets, to break what goes through it. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

export interface Relay {
  /** The port it listens at, where it listens at one. */
  readonly port: number
  /** Breaks off every connection as if its process had ended, and takes no other. */
  readonly destroy: Effect.Effect<void>
  /** Breaks off every connection as if its machine had forgotten it (TCP), and takes no other. */
  readonly reset: Effect.Effect<void>
  /** What clients still send on the connections there are goes nowhere, and servers hear that it has ended. */
  readonly halfClose: Effect.Effect<void>
}

interface Pair {
  readonly client: Net.Socket
  readonly server: Net.Socket
  isHalf: boolean
}

interface Listening {
  readonly port: number
  /** Does this to every socket there is, and takes no other. */
  readonly broken: (how: (socket: Net.Socket) => void) => void
  readonly half: () => void
}

/** A relay to this server. It listens on a port of this machine, or at a path. */
export const make = (
  target: Net.NetConnectOpts,
  at: Net.ListenOptions = { host: "127.0.0.1", port: 0 }
): Effect.Effect<Relay, Error, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<Listening, Error>(
        (resume) => {
          const pairs = new Set<Pair>()
          let isBroken = false
          const listener = Net.createServer({ allowHalfOpen: true }, (client) => {
            // Nobody else looks at errors here: what is broken was broken on purpose.
            client.on("error", () => {})
            if (isBroken) {
              client.destroy()
              return
            }
            const server = Net.connect({ ...target, allowHalfOpen: true })
            const pair: Pair = { client, server, isHalf: false }
            pairs.add(pair)
            for (const [one, other] of [[client, server], [server, client]] as const) {
              one.on("error", () => {}).on("close", () => {
                pairs.delete(pair)
                other.destroy()
              })
              one.on("end", () => other.end())
              one.on("data", (bytes) => {
                if (pair.isHalf && one === client) return
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
              broken: (how) => {
                isBroken = true
                if (listener.listening) listener.close()
                for (const { client, server } of pairs) [client, server].forEach(how)
              },
              half: () => {
                for (const pair of pairs) {
                  pair.isHalf = true
                  pair.server.end()
                }
              }
            }))
          })
        }
      ),
      ({ broken }) => Effect.sync(() => broken((socket) => socket.destroy()))
    ),
    ({ broken, half, port }) => ({
      port,
      destroy: Effect.sync(() => broken((socket) => socket.destroy())),
      reset: Effect.sync(() => broken((socket) => socket.resetAndDestroy())),
      halfClose: Effect.sync(half)
    })
  )

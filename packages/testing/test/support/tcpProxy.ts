/** A proxy between a client and a server on TCP or a Unix socket, which can stall and break connections. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

export interface TcpProxy {
  readonly port: number
  /** Stops reading from clients and writing to them. */
  readonly stall: () => void
  readonly recover: () => void
  /** Breaks all connections. */
  readonly cut: () => void
  /** The number of connected clients. */
  readonly connections: () => number
  /** The number of lines that were forwarded from clients. */
  readonly lines: () => number
  /** Ends the direction to the server after the forwarded data, and continues to forward the server's data. */
  readonly endToServer: () => void
  /** Sends these bytes to the server as if a client had sent them, or to the client. */
  readonly writeToServer: (bytes: Uint8Array) => void
  readonly writeToClient: (bytes: Uint8Array) => void
}

const newline = 0x0A

const linesIn = (bytes: Uint8Array): number => bytes.reduce((lines, byte) => byte === newline ? lines + 1 : lines, 0)

/** Listens on a port, or at this path, and forwards everything to the target port or path. */
export const make = (target: number | string, at?: string): Effect.Effect<TcpProxy, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<TcpProxy & { readonly close: () => void }, Error>((resume) => {
      const pairs = new Set<readonly [Net.Socket, Net.Socket]>()
      let stalled = false
      let lines = 0
      const listener = Net.createServer({ allowHalfOpen: true }, (client) => {
        const server = Net.connect({
          ...(typeof target === "string" ? { path: target } : { port: target, host: "127.0.0.1" }),
          allowHalfOpen: true
        })
        const pair = [client, server] as const
        pairs.add(pair)
        for (const [one, other] of [[client, server], [server, client]] as const) {
          one.on("error", () => {}).on("close", () => {
            pairs.delete(pair)
            other.destroy()
          })
          one.on("end", () => other.end())
          one.on("data", (bytes) => {
            if (one === client) lines += linesIn(bytes)
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
      listener.listen(at === undefined ? { port: 0, host: "127.0.0.1" } : { path: at }, () => {
        const address = listener.address()
        resume(Effect.succeed({
          port: address === null || typeof address === "string" ? 0 : address.port,
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
          lines: () => lines,
          endToServer: () => pairs.forEach(([, server]) => server.end()),
          writeToServer: (bytes) => pairs.forEach(([, server]) => server.write(bytes)),
          writeToClient: (bytes) => pairs.forEach(([client]) => client.write(bytes)),
          close: () => {
            listener.close()
            all((socket) => socket.destroy())
          }
        }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** The open sockets of one test. Other tests open sockets in the same process, so each socket is tracked by itself. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Server, Socket } from "node:net"

/** The numbers of sockets that were opened during the watch and are still open. */
export interface OpenSockets {
  /** Returns the number of sockets of clients. */
  readonly clients: () => number
  /** Returns the number of sockets that servers have accepted. */
  readonly accepted: () => number
  /** Returns whether a server has accepted the client at this port. */
  readonly isAccepted: (clientPort: number | undefined) => boolean
  /** Returns the number of servers that listen. */
  readonly servers: () => number
  /** Returns the sum of all three. */
  readonly all: () => number
}

const member = (message: unknown, name: string): unknown =>
  typeof message === "object" && message !== null ? Reflect.get(message, name) : undefined

const socketsOf = (sockets: Set<Socket>) => (message: unknown) => {
  const socket = member(message, "socket")
  if (socket instanceof Socket) sockets.add(socket.once("close", () => sockets.delete(socket)))
}

const serversOf = (servers: Set<Server>) => (message: unknown) => {
  const server = member(message, "server")
  if (server instanceof Server) servers.add(server.once("close", () => servers.delete(server)))
}

/** Watches from now on until the scope closes. */
export const openSockets: Effect.Effect<OpenSockets, never, Scope.Scope> = Effect.gen(function*() {
  const clients = new Set<Socket>()
  const accepted = new Set<Socket>()
  const servers = new Set<Server>()
  const channels = [
    ["net.client.socket", socketsOf(clients)],
    ["net.server.socket", socketsOf(accepted)],
    ["tracing:net.server.listen:asyncStart", serversOf(servers)]
  ] as const
  yield* Effect.acquireRelease(
    Effect.sync(() => channels.forEach(([name, listener]) => subscribe(name, listener))),
    () => Effect.sync(() => channels.forEach(([name, listener]) => unsubscribe(name, listener)))
  )
  return {
    clients: () => clients.size,
    accepted: () => accepted.size,
    isAccepted: (clientPort) => Array.from(accepted).some(({ remotePort }) => remotePort === clientPort),
    servers: () => servers.size,
    all: () => clients.size + accepted.size + servers.size
  }
})

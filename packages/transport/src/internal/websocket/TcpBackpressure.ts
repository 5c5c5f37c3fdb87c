import * as Effect from "effect/Effect"
import type { Socket } from "node:net"
import type { SocketControl } from "./SocketControl.ts"

const gone = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.closed) return resume(Effect.void)
    const onClose = () => resume(Effect.void)
    socket.once("close", onClose)
    return Effect.sync(() => socket.off("close", onClose))
  })

/** So many bytes are a piece that is followed by another. Node reads no more than these at a time. */
const wholePieceBytes = 65_536

/**
 * Node reads up to 32 pieces of 64 KiB in one turn, and the WebSocket takes all messages of a piece at once. 300,000 of
 * a few bytes each would hold up every other connection for a second.
 */
const readInTurns = (socket: Socket, isWanted: () => boolean): void => {
  const resume = () => void socket.resume()
  socket.on("data", (chunk: Uint8Array) => {
    // A reader that has paused it decides when it goes on.
    if (chunk.length < wholePieceBytes || !isWanted() || socket.isPaused()) return
    socket.pause()
    setImmediate(resume)
  })
}

/** The wire of a WebSocket on Node: the TCP socket below it, or what TLS makes of one; and what sends a ping. */
export const make = (socket: Socket, ping: () => void): SocketControl => ({
  waiting: () => socket.writableLength,
  isOpen: () => socket.writable,
  onReceived: (listener) => {
    const onData = (chunk: Uint8Array) => listener(chunk.length)
    socket.on("data", onData)
    return () => void socket.off("data", onData)
  },
  readInTurns: (isWanted) => readInTurns(socket, isWanted),
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
})

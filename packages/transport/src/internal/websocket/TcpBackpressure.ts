/** The control of a WebSocket on Node, over its TCP or TLS socket. */
import * as Effect from "effect/Effect"
import type { Socket } from "node:net"
import type { SocketControl } from "./SocketControl.ts"

const closed = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.closed) return resume(Effect.void)
    const onClose = () => resume(Effect.void)
    socket.once("close", onClose)
    return Effect.sync(() => socket.off("close", onClose))
  })

/** The length of a chunk that another one follows: Node reads at most this many bytes at a time. */
const fullChunkBytes = 65_536

/**
 * Node reads up to 32 chunks of 64 KiB in one turn, and the WebSocket takes all messages of a chunk at once. 300,000
 * messages of a few bytes would block every other connection for a second.
 */
const readInTurns = (socket: Socket, isWanted: () => boolean): void => {
  const resume = () => void socket.resume()
  socket.on("data", (chunk: Uint8Array) => {
    // A reader that has paused the socket decides when to resume it.
    if (chunk.length < fullChunkBytes || !isWanted() || socket.isPaused()) return
    socket.pause()
    setImmediate(resume)
  })
}

/** Creates the control of an open WebSocket. `ping` sends a ping. */
export const make = (socket: Socket, ping: () => void): SocketControl => ({
  unsentBytes: () => socket.writableLength,
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
  batch: (write) => {
    socket.cork()
    write()
    socket.uncork()
  },
  pulse: {
    receivedBytes: () => socket.bytesRead,
    ping: () => {
      if (socket.writable) ping()
    }
  },
  closed: closed(socket),
  destroy: () => void socket.destroy()
})

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

/**
 * Pauses a socket while messages wait for its reader. The WebSocket of Effect takes all messages of a chunk at once,
 * and pauses the socket for their bytes only: of empty messages, and of those that are longer on the wire than their
 * content, it would keep any number. Node reads up to 32 chunks of 64 KiB in one turn.
 */
const pausing = (socket: Socket): NonNullable<SocketControl["setWaiting"]> => {
  let isListening = false
  let isWaiting = true
  let isPaused = false
  const listen = () => {
    isListening = true
    socket.on("data", () => {
      // A reader that has paused the socket decides when to resume it.
      if (!isWaiting || socket.isPaused()) return
      isPaused = true
      socket.pause()
    })
  }
  const resume = () => {
    if (isWaiting || !isPaused) return
    isPaused = false
    socket.resume()
  }
  return (value) => {
    // A listener for data makes the socket flow, so it must not precede that of the WebSocket.
    if (!isListening) listen()
    isWaiting = value
    // The messages that wait already are taken before the next turn.
    if (isPaused && !isWaiting) setImmediate(resume)
  }
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
  setWaiting: pausing(socket),
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

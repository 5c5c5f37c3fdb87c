/** The control of the connection below a WebSocket: its back-pressure, its liveness and its end. */
import type * as Effect from "effect/Effect"

/** The signs of life of a peer. */
export interface Pulse {
  /** Returns the number of bytes that the peer has sent. */
  readonly receivedBytes: () => number
  /** Sends a ping. */
  readonly ping: () => void
}

export interface SocketControl {
  /** Returns the number of bytes that wait for the network. */
  readonly unsentBytes: () => number
  /** Returns whether more can be sent. */
  readonly isOpen: () => boolean
  /**
   * Calls the listener with the length of each chunk of input. Returns a function that removes it. Absent if chunks
   * cannot be observed.
   */
  readonly onReceived: ((listener: (bytes: number) => void) => () => void) | undefined
  /**
   * Sets whether messages wait for the reader. While they do, at most one more chunk of input is read. The WebSocket
   * has started to read. Absent if reading cannot be stopped.
   */
  readonly setWaiting: ((isWaiting: boolean) => void) | undefined
  /**
   * Calls the listener once, after there is more room or the connection has closed. Returns a function that removes it.
   */
  readonly onRoom: (listener: () => void) => () => void
  /** Sends everything that `write` writes in one chunk. */
  readonly batch: (write: () => void) => void
  /** Absent if the liveness of the peer cannot be observed. */
  readonly pulse: Pulse | undefined
  /** Waits until the connection is closed. */
  readonly closed: Effect.Effect<void>
  /** Closes the connection at once, and discards all that waits. */
  readonly destroy: () => void
}

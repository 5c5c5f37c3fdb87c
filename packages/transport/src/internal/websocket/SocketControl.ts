import type * as Effect from "effect/Effect"

/** What can be told of a peer that says nothing. */
export interface Pulse {
  /** How many bytes have come from it so far. */
  readonly heard: () => number
  /** Asks it for a sign of life. */
  readonly ping: () => void
}

/** What carries the frames of a WebSocket, beside what every WebSocket offers. */
export interface SocketControl {
  /** How many bytes wait for the network. */
  readonly waiting: () => number
  /** Whether it still takes anything. */
  readonly isOpen: () => boolean
  /**
   * Calls with the length of each piece of the input. The function that it returns stops that. Absent where pieces
   * cannot be seen.
   */
  readonly onReceived: ((listener: (bytes: number) => void) => () => void) | undefined
  /**
   * Reads no more than one piece of the input in a turn of the event loop from now on, while `isWanted` after a piece.
   * The WebSocket has begun to read. Absent where that cannot be decided.
   */
  readonly readInTurns: ((isWanted: () => boolean) => void) | undefined
  /** Calls once when less waits, or when it is open no more. What comes back calls it off. */
  readonly onRoom: (listener: () => void) => () => void
  /** What is written within goes out in one piece. */
  readonly together: (write: () => void) => void
  /** Absent where nobody can tell. */
  readonly pulse: Pulse | undefined
  /** Waits until nothing is left of it. */
  readonly gone: Effect.Effect<void>
  /** Ends it at once, with whatever waits. */
  readonly cut: () => void
}

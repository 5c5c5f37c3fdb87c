/** The shapes of a bus, and what it needs of the channel that all processes share. */

import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * A change, which says only what has changed. Its texts are small: a process that receives it reads the rest from where
 * the data is.
 */
export interface Change {
  /** The program that the change belongs to, such as the name of a server. Others do not receive it. */
  readonly scope: string
  /** The kind of what has changed, such as `resource`. */
  readonly kind: string
  /** The name of what has changed, such as a URI. */
  readonly key: string
}

/** A listener for the changes of one scope by other processes. Its functions must not block. */
export interface ChangeListener {
  readonly scope: string
  readonly onChange: (change: Change) => void
  /** Called after changes of the scope may have been lost. Everything in it counts as changed. */
  readonly onGap: () => void
}

/** The members of a bus. */
export interface ChangeBusShape {
  /**
   * Publishes a change to the other processes. It neither waits nor fails: the change is sent later, and equal changes
   * that wait are sent once.
   */
  readonly publish: (change: Change) => Effect.Effect<void>
  /** Calls a listener until the scope closes. */
  readonly subscribe: (listener: ChangeListener) => Effect.Effect<void, never, Scope.Scope>
  /** Whether changes arrive at present. After a time without, the listeners learn of a gap. */
  readonly isConnected: Effect.Effect<boolean>
}

/** The bus, as one process sees it. */
export class ChangeBus extends Context.Service<ChangeBus, ChangeBusShape>()("@effect-mcp/session/ChangeBus") {}

/** The functions that a `ChangeConnection` calls while it receives. */
export interface ChangeReceiver {
  /** Called when all later messages will be received. */
  readonly onOpen: () => void
  /** Called for each message, those of the own process included. */
  readonly onMessage: (text: string) => void
  /** Called if messages may have been lost, and the connection stands nevertheless. */
  readonly onGap: () => void
}

/**
 * The connection of a bus to the channel that all processes share: what an adapter has to write. A bus limits the time
 * of its calls, connects again, and reports gaps.
 */
export interface ChangeConnection {
  /** The most bytes of a message, in UTF-8; at least 1,000. */
  readonly messageBytes: number
  /**
   * The time without a message after which the bus sends one to itself, to see whether the connection still stands. Not
   * set for a connection that cannot break silently.
   */
  readonly probeInterval?: Duration.Input | undefined
  /** Connects, and receives until the connection breaks. It then fails or returns. An interruption closes it. */
  readonly receive: (receiver: ChangeReceiver) => Effect.Effect<unknown, unknown>
  /** Sends a message to all processes. */
  readonly send: (text: string) => Effect.Effect<unknown, unknown>
}

/** A channel in memory. */
export interface MemoryChannel {
  /** The connection of every bus that shares the channel. */
  readonly connection: ChangeConnection
  /** Breaks the connections of all buses. They connect again, and report a gap. */
  readonly interrupt: Effect.Effect<void>
}

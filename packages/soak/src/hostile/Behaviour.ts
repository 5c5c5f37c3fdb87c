/** The behaviour of a hostile server. */

export interface Behaviour {
  /** The revision that the server negotiates. Default: 2025-11-25. */
  readonly revision?: string
  /** Returns the result of a request as text; `undefined` for the usual one. */
  readonly result?: (method: string, index: number) => string | undefined
  /** Returns messages to send without end after initialization, as fast as back-pressure allows. */
  readonly endless?: (index: number) => string
  /** The shortest interval between two messages, in milliseconds. */
  readonly everyMillis?: number
  /** Returns progress of a call, to send without end instead of a response. The token is JSON. Over stdio and HTTP. */
  readonly progress?: (token: string, index: number) => string
  /** A text to write to standard error without end. Over stdio. */
  readonly standardError?: string
  /** Stops reading after initialization, so that replies of the client are never received. */
  readonly unread?: boolean
  /** Whether the server is of revision 2026-07-28: `server/discover` takes the place of the initialization. */
  readonly isStateless?: boolean
  /** The behaviour over HTTP, instead of a response to any request but `initialize`. */
  readonly http?: "lose sessions" | "retry" | "bomb" | "endless response" | "empty lines" | "bytewise"
}

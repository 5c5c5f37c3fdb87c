/** The recorded history of a run of the nemesis: what its clients sent, what they received, and the faults. */

export type Principal = "ada" | "bob"

/** An SSE event as a client received it. */
export interface ReceivedEvent {
  /** Milliseconds of the clock of the run. */
  readonly at: number
  readonly id: string | undefined
  readonly data: string
}

/**
 * The purpose of a request.
 *
 * - `open`, `ready`: the handshake of a session.
 * - `call`: a request with an id of its own. `duplicate`: a second request with the id of a call that runs.
 * - `answer`: the answer to a question of the server. `cancel`: the cancellation of a call.
 * - `resume`: continues the broken stream of a call. `reread`: reads a stream again that the client knows already.
 * - `listen`: the standalone stream, opened or resumed.
 * - `delete`: ends the session.
 * - `foreign`: names the session of the other principal. `unknown`: names a session that never existed.
 * - `foreign-event`: names an event of the other principal in the own session. `unknown-event`: one that never existed.
 */
export type Purpose =
  | "open"
  | "ready"
  | "call"
  | "duplicate"
  | "answer"
  | "cancel"
  | "resume"
  | "reread"
  | "listen"
  | "delete"
  | "foreign"
  | "unknown"
  | "foreign-event"
  | "unknown-event"

/**
 * The end of an exchange.
 *
 * - `complete`: the response ended as HTTP says it does.
 * - `broken`: the connection broke, before or within the response.
 * - `refused`: no process listened.
 * - `abandoned`: the client closed the connection.
 */
export type Ending = "complete" | "broken" | "refused" | "abandoned"

/** One HTTP request, and what its client received. */
export interface Exchange {
  readonly number: number
  readonly principal: Principal
  /** The process that the request was sent to, with the number of its start: `2.1`. */
  readonly process: string
  readonly purpose: Purpose
  readonly method: "POST" | "GET" | "DELETE"
  /** The session that the request names. */
  readonly session: string | undefined
  readonly lastEventId: string | undefined
  /** The JSON text of the message that was sent. */
  readonly sent: string | undefined
  readonly startedAt: number
  /** The time at which the head of the response arrived. */
  respondedAt: number | undefined
  status: number | undefined
  /** The session that the response opened. */
  opened: string | undefined
  retryAfter: string | undefined
  /** The text of a response that is no event stream. */
  body: string
  readonly events: Array<ReceivedEvent>
  endedAt: number | undefined
  ending: Ending | undefined
}

/**
 * The kinds of faults. Two of them are none of the nemesis. `busy`: the run, or a process, waited for a processor of a
 * busy machine. `lease`: a process did not renew its lease in time.
 */
export type FaultKind =
  | "busy"
  | "lease"
  | "kill"
  | "terminate"
  | "pause"
  | "cut-peers"
  | "stall-peers"
  | "cut-store"
  | "stall-store"
  | "restart-store"

/**
 * A moment of a booking, at which a fault can hit the process that runs it.
 *
 * - `begun`: the first event has arrived, and the question has not.
 * - `asked`: the question is open, and not answered.
 * - `answering`: the answer is on its way.
 * - `answered`: the answer was accepted.
 */
export type Moment = "begun" | "asked" | "answering" | "answered"

/** A fault of the run. */
export interface Fault {
  readonly kind: FaultKind
  /** The id of the process that it happened to, as the system knows it. */
  readonly pid?: string | undefined
  /** The moment of a booking that it was aimed at. */
  readonly moment?: Moment | undefined
  /** The process that it happened to; `store` for all of them. */
  readonly target: string
  readonly at: number
  /** The time from which on every session has to be served again. */
  readonly recoversFrom: number
  /** The time at which it was over: the process runs again, the connections pass. */
  readonly until: number
}

/** A process that ended although no fault had ended it, or that did not end after SIGTERM. */
export interface Crash {
  readonly process: string
  readonly at: number
  readonly problem: string
}

export interface History {
  /** Whether the stores of the fleet keep calls of the tool `book`, so that these survive their processes. */
  readonly isDurable: boolean
  /** The number of charges of each city, in the file that all processes share. */
  readonly charges: Readonly<Record<string, number>>
  readonly exchanges: ReadonlyArray<Exchange>
  readonly faults: ReadonlyArray<Fault>
  readonly crashes: ReadonlyArray<Crash>
}

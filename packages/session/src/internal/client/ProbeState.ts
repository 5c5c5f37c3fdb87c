/**
 * The state of a probe: what a connection has shown about a server that was asked for a revision without a handshake.
 *
 *     None ─► Sent ─► Unnamed             the error that answers the probe has no id
 *               │        │
 *               │        ├─► Guessed ─► WrongGuess   `initialize` was rejected: there is no handshake
 *               │        │      │
 *               ▼        │      ▼
 *            FellBack ───┴─► Spoiled                 `initialize` was rejected, and may be accepted without a probe
 *
 * A session of either kind ends in `None`.
 */

/**
 * The states. `Sent`: the client waits for the response. `FellBack`: the response showed that the server needs a
 * handshake. `Guessed`: the client assumes that, because no response arrived in time, or one without an id; a server
 * without a handshake that starts slowly then rejects `initialize`.
 */
export type ProbeState = "None" | "Sent" | "Unnamed" | "FellBack" | "Guessed" | "WrongGuess" | "Spoiled"

/**
 * Returns whether a probe was sent, and no session exists yet. Until then, an end of the connection counts as its
 * response. Some servers end at once, others after an error, or only after they have started and read it.
 */
export const isOpen = (state: ProbeState): boolean =>
  state === "Sent" || state === "Unnamed" || state === "FellBack" || state === "Guessed"

/** Returns the state of a client that sends `initialize` after a probe. */
export const fallBack = (state: ProbeState, isSilent: boolean): ProbeState => {
  if (!isOpen(state)) return state
  return isSilent || state === "Unnamed" ? "Guessed" : "FellBack"
}

/** The response to `initialize`, as far as it shows whether the probe was a mistake. */
export interface InitializeResponse {
  /** Whether it is an error that names a revision of the client without a handshake. */
  readonly namesModern: boolean
  /** Whether the server has rejected the request. */
  readonly isRejected: boolean
  /** Whether each request has a stream of its own, so that a request cannot spoil the next one. */
  readonly isStreamed: boolean
}

/** Returns the state after the response to `initialize`. */
export const initialized = (
  state: ProbeState,
  { isRejected, isStreamed, namesModern }: InitializeResponse
): ProbeState => {
  if (state === "Guessed" && namesModern) return "WrongGuess"
  return isOpen(state) && isRejected && !isStreamed && !namesModern ? "Spoiled" : "None"
}

/** Returns whether another connection replaces this one, because of what the probe has shown. */
export const isMistaken = (state: ProbeState): state is "WrongGuess" | "Spoiled" =>
  state === "WrongGuess" || state === "Spoiled"

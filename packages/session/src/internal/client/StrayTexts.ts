/** Texts of a server that are no messages, before its response to the handshake. */

import { PlainText } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as HandshakeError from "../../HandshakeError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { Inbound } from "../../Transport.ts"

/** The session that receives the texts. */
export interface StrayTextsRuntime {
  readonly connection: { readonly started?: unknown }
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): unknown
}

/** The most characters of a text that is no message. */
const strayLength = 200

/** Returns the beginning of a frame that is no message. */
const strayText = (frame: Inbound["frame"]): string => {
  if (Result.isSuccess(frame)) return Excerpt.of(JSON.stringify(frame.success), strayLength)
  const { failure } = frame
  switch (failure._tag) {
    case "NotJson":
      return Excerpt.of(failure.text, strayLength)
    case "TooLarge":
      return `a text of more than ${failure.limitBytes} bytes`
    case "TooComplex":
      return `JSON of ${failure.nodes} arrays, objects and members (8 for an integer beyond 2^53)`
  }
}

/** Counts the texts, and reports the first one at once: it often says why a server does not start. */
export class StrayTexts {
  readonly #runtime: StrayTextsRuntime
  #texts: HandshakeError.StrayTexts | undefined

  constructor(runtime: StrayTextsRuntime) {
    this.#runtime = runtime
  }

  /** Counts a frame that is no message. */
  receive(frame: Inbound["frame"]): void {
    if (this.#texts !== undefined) {
      this.#texts = { ...this.#texts, count: this.#texts.count + 1 }
      return
    }
    const text = strayText(frame)
    // Only a transport that starts the server knows when it has started.
    const isPrinted = this.#runtime.connection.started !== undefined
    this.#texts = isPrinted ? { first: text, count: 1, isPrinted } : { first: text, count: 1 }
    this.#runtime.emit({ _tag: "StrayText", text })
    this.#runtime.fork(Effect.logWarning(
      `the server has sent a text that is no message, before its response to the handshake${
        isPrinted ? "; a server over stdio must print only messages to standard output" : ""
      }: ${PlainText.json(text)}`
    ))
  }

  /** Adds the texts to the reason of a handshake without a response. */
  addTo(reason: HandshakeError.HandshakeErrorReason): HandshakeError.HandshakeErrorReason {
    return this.#texts !== undefined && (reason._tag === "Timeout" || reason._tag === "Closed")
      ? { ...reason, stray: this.#texts }
      : reason
  }
}

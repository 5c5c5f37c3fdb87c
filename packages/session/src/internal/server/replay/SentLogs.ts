/** The log messages of a call that its earlier runs have sent. */

import type { JsonRpc } from "@effect-mcp/protocol"
import * as Hash from "effect/Hash"

/** The most different messages that are remembered. Others are sent again, so that the state of a call stays small. */
const maxMessages = 1_000

/** Returns a short text that two different messages of a call are unlikely to share. */
const digestOf = ({ params }: JsonRpc.Notification): string => {
  const text = JSON.stringify(params)
  return `${(Hash.string(text) >>> 0).toString(36)}.${text.length.toString(36)}`
}

/**
 * The log messages that the runs of a call have sent. They are recognized by their content, and by how often a run has
 * sent the same one. Their number alone would not do: branches that log in another order than before would lose one
 * message, and send another one twice.
 */
export class SentLogs {
  /** The number of times that each message was sent, by its digest. */
  readonly #sent: Map<string, number>
  /** The same, of this run. */
  readonly #now = new Map<string, number>()

  constructor(before: { readonly [digest: string]: number }) {
    this.#sent = new Map(Object.entries(before))
  }

  /** Returns whether a message is new, and remembers it. */
  admits(message: JsonRpc.Notification): boolean {
    const digest = digestOf(message)
    const sent = this.#sent.get(digest) ?? 0
    if (sent === 0 && this.#sent.size >= maxMessages) return true
    const count = (this.#now.get(digest) ?? 0) + 1
    this.#now.set(digest, count)
    if (count <= sent) return false
    this.#sent.set(digest, count)
    return true
  }

  /** The number of times that each message was sent, by its digest. */
  get counts(): { readonly [digest: string]: number } {
    return Object.fromEntries(this.#sent)
  }
}

/**
 * The revisions of the protocol, as data.
 */

/**
 * The supported revisions, oldest first. Each of them has a handshake.
 *
 * @category constants
 */
export const supported = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const

/**
 * A supported revision.
 *
 * @category models
 */
export type Revision = (typeof supported)[number]

/**
 * The newest supported revision. A client offers it by default, and a server responds with it to an unknown revision
 * (INIT-03, INIT-05).
 *
 * @category constants
 */
export const latest: Revision = "2025-11-25"

const known: ReadonlySet<string> = new Set(supported)

/**
 * Tests whether this library supports a revision.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * export const answers = [Revision.isRevision("2025-06-18"), Revision.isRevision("1999-01-01")] // => [true, false]
 * ```
 *
 * @category guards
 */
export const isRevision = (value: string): value is Revision => known.has(value)

/**
 * Tests whether a revision is as new as `since` or newer. Revisions compare by date.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * // Structured content came with 2025-06-18.
 * export const answers = Revision.supported.map((revision) => Revision.isAtLeast(revision, "2025-06-18"))
 * // => [false, false, true, true]
 * ```
 *
 * @category ordering
 */
export const isAtLeast = (revision: Revision, since: Revision): boolean => revision >= since

/**
 * Returns the newest of one or more revisions.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * export const newest = Revision.newest(["2025-06-18", "2024-11-05"]) // => "2025-06-18"
 * ```
 *
 * @category ordering
 */
export const newest = (revisions: readonly [Revision, ...ReadonlyArray<Revision>]): Revision =>
  revisions.reduce((newest, revision) => isAtLeast(revision, newest) ? revision : newest)

/**
 * The differences between revisions in the envelope of messages.
 *
 * @category models
 */
export interface Envelope {
  /** The form of an unreadable request id in an error response (MSG-09). */
  readonly unreadableId: "null" | "absent"
  /** Whether a frame may be a batch of messages (MSG-15, MSG-17). */
  readonly batches: boolean
}

/**
 * The envelope of each revision.
 *
 * @category constants
 */
export const envelopes: { readonly [R in Revision]: Envelope } = {
  "2024-11-05": { unreadableId: "null", batches: false },
  "2025-03-26": { unreadableId: "null", batches: true },
  "2025-06-18": { unreadableId: "null", batches: false },
  "2025-11-25": { unreadableId: "absent", batches: false }
}

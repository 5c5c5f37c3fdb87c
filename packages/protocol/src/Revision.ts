/**
 * The dated revisions of the protocol, as data.
 *
 * @since 0.1.0
 */

/**
 * The revisions that open with a handshake, oldest first.
 *
 * @category constants
 * @since 0.1.0
 */
export const supported = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const

/**
 * A revision that opens with a handshake.
 *
 * @category models
 * @since 0.1.0
 */
export type Revision = (typeof supported)[number]

/**
 * What a client offers first, and what a server answers when it does not know the revision it was offered (INIT-03,
 * INIT-05).
 *
 * @category constants
 * @since 0.1.0
 */
export const latest: Revision = "2025-11-25"

const known: ReadonlySet<string> = new Set(supported)

/**
 * Is this a revision this library speaks?
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * export const answers = [Revision.isRevision("2025-06-18"), Revision.isRevision("1999-01-01")] // => [true, false]
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isRevision = (value: string): value is Revision => known.has(value)

/**
 * Is `revision` as new as `since`, or newer? Dated revisions compare as their dates do.
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
 * @since 0.1.0
 */
export const isAtLeast = (revision: Revision, since: Revision): boolean => revision >= since

/**
 * The newest of these revisions, of which there is at least one.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * export const newest = Revision.newest(["2025-06-18", "2024-11-05"]) // => "2025-06-18"
 * ```
 *
 * @category ordering
 * @since 0.1.0
 */
export const newest = (revisions: readonly [Revision, ...ReadonlyArray<Revision>]): Revision =>
  revisions.reduce((newest, revision) => isAtLeast(revision, newest) ? revision : newest)

/**
 * What a revision says about the envelope, where revisions differ.
 *
 * @category models
 * @since 0.1.0
 */
export interface Envelope {
  /** How an error response says that the id of its request could not be read (MSG-09). */
  readonly unreadableId: "null" | "absent"
  /** Whether several messages may come as one frame (MSG-15, MSG-17). */
  readonly batches: boolean
}

/**
 * The envelope of each revision.
 *
 * @category constants
 * @since 0.1.0
 */
export const envelopes: { readonly [R in Revision]: Envelope } = {
  "2024-11-05": { unreadableId: "null", batches: false },
  "2025-03-26": { unreadableId: "null", batches: true },
  "2025-06-18": { unreadableId: "null", batches: false },
  "2025-11-25": { unreadableId: "absent", batches: false }
}

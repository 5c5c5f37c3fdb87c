/**
 * The revisions of the protocol, as data.
 *
 * @stability unstable
 */

/**
 * The supported revisions with a handshake, oldest first. The specification calls them legacy.
 *
 * @category constants
 */
export const legacy = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const

/**
 * The supported revisions without a handshake, oldest first: each request carries its revision. The specification calls
 * them modern.
 *
 * @category constants
 */
export const modern = ["2026-07-28"] as const

/**
 * The supported revisions, oldest first.
 *
 * @category constants
 */
export const supported = [...legacy, ...modern] as const

/**
 * A supported revision with a handshake.
 *
 * @category models
 */
export type LegacyRevision = (typeof legacy)[number]

/**
 * A supported revision without a handshake.
 *
 * @category models
 */
export type ModernRevision = (typeof modern)[number]

/**
 * A supported revision.
 *
 * @category models
 */
export type Revision = LegacyRevision | ModernRevision

/**
 * The newest supported revision.
 *
 * @category constants
 */
export const latest: ModernRevision = "2026-07-28"

/**
 * The newest supported revision with a handshake. A client offers it by default, and a server responds with it to an
 * unknown revision (INIT-03, INIT-05).
 *
 * @category constants
 */
export const latestLegacy: LegacyRevision = "2025-11-25"

const knownLegacy: ReadonlySet<string> = new Set(legacy)
const knownModern: ReadonlySet<string> = new Set(modern)

/**
 * Tests whether this library supports a revision with a handshake.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * export const answers = [Revision.isLegacy("2025-06-18"), Revision.isLegacy("2026-07-28")] // => [true, false]
 * ```
 *
 * @category guards
 */
export const isLegacy = (value: string): value is LegacyRevision => knownLegacy.has(value)

/**
 * Tests whether this library supports a revision without a handshake.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * export const answers = [Revision.isModern("2026-07-28"), Revision.isModern("2025-06-18")] // => [true, false]
 * ```
 *
 * @category guards
 */
export const isModern = (value: string): value is ModernRevision => knownModern.has(value)

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
export const isRevision = (value: string): value is Revision => isLegacy(value) || isModern(value)

/**
 * Tests whether a revision is as new as `since` or newer. Revisions compare by date.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * // Structured content came with 2025-06-18.
 * export const answers = Revision.legacy.map((revision) => Revision.isAtLeast(revision, "2025-06-18"))
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
export const newest = <R extends Revision>(revisions: readonly [R, ...ReadonlyArray<R>]): R =>
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
  "2025-11-25": { unreadableId: "absent", batches: false },
  "2026-07-28": { unreadableId: "absent", batches: false }
}

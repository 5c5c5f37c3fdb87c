/**
 * The revisions that a program of ours speaks when it is tried at one of them.
 */
import * as Revision from "@effect-mcp/protocol/Revision"

/** This one and all older ones. */
export const upTo = (newest: Revision.Revision): readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>] => [
  newest,
  ...Revision.supported.filter((revision) => revision !== newest && Revision.isAtLeast(newest, revision))
]

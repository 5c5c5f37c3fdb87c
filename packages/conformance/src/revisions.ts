/** The revisions that a tested program supports. */
import * as Revision from "@effect-mcp/protocol/Revision"

/** Returns a revision and all older ones. */
export const upTo = (
  newest: Revision.LegacyRevision
): readonly [Revision.LegacyRevision, ...ReadonlyArray<Revision.LegacyRevision>] => [
  newest,
  ...Revision.legacy.filter((revision) => revision !== newest && Revision.isAtLeast(newest, revision))
]

/** The revisions that a tested program supports. */
import * as Revision from "@effect-mcp/protocol/Revision"

/** Returns a revision and all older ones. */
export const upTo = (
  newest: Revision.Revision
): readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>] => [
  newest,
  ...Revision.supported.filter((revision) => revision !== newest && Revision.isAtLeast(newest, revision))
]

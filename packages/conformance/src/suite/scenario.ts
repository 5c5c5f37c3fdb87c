/**
 * The scenarios of a release, as the suite lists them. A list in this package could miss new scenarios.
 */
import type * as Revision from "@effect-mcp/protocol/Revision"
import { execFileSync } from "node:child_process"
import type { Release } from "./release.ts"

/** The side that a scenario tests. */
export type Side = "server" | "client"

/** A scenario at a revision. */
export interface Scenario {
  readonly side: Side
  readonly name: string
  readonly release: Release
  readonly revision: Revision.Revision
  /** Whether the scenario tests an extension, which belongs to no revision. */
  readonly isExtension: boolean
}

/** The revisions that the suite has scenarios for, newest first. */
export const revisions: ReadonlyArray<Revision.Revision> = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]

/** The extensions that are supported: tasks, and those of authorization. */
const isSupportedExtension = (name: string): boolean => name.startsWith("tasks-") || name.startsWith("auth/")

/** The newest revision of a release, in which it tests extensions and drafts. */
const newestOf = ({ version }: Release): Revision.Revision => version.startsWith("0.1.") ? "2025-11-25" : "2026-07-28"

/** Returns the revisions in which a scenario runs. */
const revisionsOf = (name: string, at: ReadonlyArray<string>, release: Release): ReadonlyArray<Revision.Revision> => {
  if (at.includes("extension")) return isSupportedExtension(name) ? [newestOf(release)] : []
  return at.includes("draft") ? [newestOf(release)] : revisions.filter((revision) => at.includes(revision))
}

/** The headings of the suite's list. Scenarios under other headings test neither side. */
const sides: ReadonlyMap<string, Side> = new Map([["Server scenarios", "server"], ["Client scenarios", "client"]])

/** Returns all scenarios of a release, at all revisions. */
export const scenarios = (release: Release): ReadonlyArray<Scenario> => {
  const listing = execFileSync(process.execPath, [release.program, "list"], { encoding: "utf8" })
  const listed = Array.from(listing.matchAll(/^(\w[^(\n]*) \(.*\n((?: {2}- .*\n?)*)/gm)).flatMap(
    ([, heading = "", lines = ""]) => {
      const side = sides.get(heading)
      return side === undefined ? [] : Array.from(
        lines.matchAll(/^ {2}- (\S+) \[([^\]]*)\]$/gm),
        ([, name = "", at = ""]) => ({ side, name, at: at.split(",") })
      )
    }
  )
  if (listed.length === 0) {
    throw new Error(`the suite ${release.version} lists no scenarios:\n${listing}`)
  }
  return listed.flatMap(({ at, name, side }) =>
    revisionsOf(name, at, release).map((revision) => ({
      side,
      name,
      release,
      revision,
      isExtension: at.includes("extension")
    }))
  )
}

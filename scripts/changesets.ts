/**
 * Checks that a change of a public package has a changeset: a file in `.changeset` that says for which packages the
 * change is a minor version, or a patch, and what the changelogs say about it.
 *
 * A branch is compared with the commit at which it has left main, and main with the last release. Neither needs a tag
 * or a remote. `node scripts/changesets.ts` prints each problem, and fails if there is any.
 */
import * as Changesets from "./release/changesets.ts"
import { publicPackages, root } from "./workspace.ts"

const { problems, summary } = Changesets.check(
  root,
  publicPackages.map(({ folder, manifest }) => ({ name: manifest.name, folder }))
)
for (const problem of problems) console.log(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(summary)

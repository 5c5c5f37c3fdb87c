/**
 * Every declaration that users can import carries a doc comment.
 *
 * `node scripts/documented.ts` prints each one that does not, and fails if there is any.
 */
import { parse } from "./syntax.ts"
import { publicModules, publicPackages, read } from "./workspace.ts"

const exported = publicPackages.flatMap(publicModules).flatMap((file) =>
  parse(file, read(file)).exports.map((declaration) => ({ file, ...declaration }))
)
const bare = exported.filter(({ documented }) => !documented)

for (const { file, line, name } of bare) {
  console.log(`${file}:${line} ${name} has no doc comment directly above it`)
}
if (bare.length > 0) {
  process.exitCode = 1
} else {
  console.log(`${exported.length} exports documented`)
}

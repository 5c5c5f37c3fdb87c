/**
 * Writes `dist` of each public package that is a program: the program with everything that it imports. That of
 * `@effect-mcp/create` has the templates as well.
 *
 * `npx` then installs one package instead of its 20 dependencies, and Node finds a few files at each start instead of
 * several hundred.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as BundledProgram from "./bundledProgram.ts"
import * as Templates from "./templates.ts"
import { programs, root } from "./workspace.ts"

for (const one of programs) {
  const dir = path.join(root, "packages", one.folder, "dist")
  fs.rmSync(dir, { recursive: true, force: true })
  const { bytes, files } = await BundledProgram.write(one, dir)
  console.log(`packages/${one.folder}/dist: ${files} files, ${(bytes / 1_000_000).toFixed(1)} MB`)
}
Templates.write(path.join(root, "packages", "create", "dist", "templates"))
console.log(`packages/create/dist/templates: ${Templates.names.length} templates`)

/** The publication of the public packages. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Archives from "../packages/archives.ts"
import { run } from "../packages/command.ts"
import { versionsIn } from "../packages/registry.ts"
import { files, type Package, publicPackages, read, root } from "../workspace.ts"
import * as Changesets from "./changesets.ts"
import * as Claims from "./claims.ts"

/** Returns the version of all public packages. Throws if it cannot be published. */
export const releasable = (): string => {
  const [version = "", ...others] = new Set(publicPackages.map(({ manifest }) => manifest.version ?? ""))
  if (others.length > 0) throw new Error(`the packages have different versions: ${[version, ...others].join(", ")}`)
  const waiting = Changesets.pending(root).length
  if (waiting > 0) {
    throw new Error(`${waiting} changesets wait; run pnpm release version first, and commit the versions`)
  }
  return version
}

/** Throws if a page says that the packages are not on npm yet, while they are published there. */
const checkPages = (registry: string): void => {
  if (new URL(registry).hostname !== "registry.npmjs.org") return
  const pages = ["README.md", ...files("docs/**/*.md"), ...files("packages/*/README.md")]
  const wrong = Claims.unpublished(pages.map((file) => ({ file, text: read(file) })))
  if (wrong.length > 0) throw new Error(`pages say that the packages are not on npm yet: ${wrong.join(", ")}`)
}

/**
 * Builds the public packages, and publishes each whose version a registry does not have. It may be repeated after a
 * failure: what is published already is left alone.
 */
export const publish = async (registry: string): Promise<void> => {
  const version = releasable()
  checkPages(registry)
  const changed = await run("git", ["status", "--porcelain"], { cwd: root })
  if (changed !== "") throw new Error("there are changes that are not committed; a release is a commit")
  const missing: Array<Package> = []
  for (const one of Archives.ordered) {
    if (!(await versionsIn(registry, one.manifest.name)).includes(version)) missing.push(one)
  }
  if (missing.length === 0) return console.log(`${version} is published already`)
  await run("pnpm", ["build"], { cwd: root })
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "archives-"))
  try {
    // All archives are made first, so that a package that cannot be packed stops the release before it begins.
    const archives: Array<Archives.Archive> = []
    for (const one of missing) archives.push(await Archives.pack(one, folder))
    for (const { file, name } of archives) {
      await run("npm", ["publish", file, "--access", "public", "--registry", registry], { cwd: folder })
      console.log(`${name} ${version} is published`)
    }
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

/** The archives of the public packages, as a registry gets them. */
import * as fs from "node:fs"
import * as path from "node:path"
import { type Package, programs, publicPackages, root } from "../workspace.ts"
import { run } from "./command.ts"

/** A packed package. */
export interface Archive {
  readonly name: string
  readonly version: string
  readonly file: string
}

/** Files that every archive has, those of its build among them. */
const required = (one: Package): ReadonlyArray<string> => [
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
  "package.json",
  ...programs.includes(one) ? built(one) : ["dist/index.js", "dist/index.d.ts"]
]

/** Returns the files in `dist` of a package. npm leaves out some names, such as `.gitignore`. */
const built = ({ folder }: Package): ReadonlyArray<string> => {
  const dist = path.join(root, "packages", folder, "dist")
  return fs.readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => path.join("dist", path.relative(dist, parentPath), name).replaceAll(path.sep, "/"))
}

/**
 * The public packages, each after those that it depends on: if publishing stops in the middle, the registry has no
 * package whose dependencies it lacks.
 */
export const ordered: ReadonlyArray<Package> = publicPackages.reduce<ReadonlyArray<Package>>(function add(
  before,
  one
): ReadonlyArray<Package> {
  if (before.includes(one)) return before
  const dependencies = publicPackages.filter(({ manifest }) => one.manifest.dependencies?.[manifest.name] !== undefined)
  return [...dependencies.reduce(add, before), one]
}, [])

/** Packs a public package, which is built. Fails if the archive lacks a file. */
export const pack = async (one: Package, destination: string): Promise<Archive> => {
  const { folder, manifest } = one
  const file = path.join(destination, `${folder}.tgz`)
  await run("pnpm", ["pack", "--out", file], { cwd: path.join(root, "packages", folder) })
  const contents = new Set((await run("tar", ["-tzf", file], { cwd: destination })).split("\n"))
  const missing = required(one).filter((name) => !contents.has(`package/${name}`))
  if (missing.length > 0) throw new Error(`the archive of ${manifest.name} lacks ${missing.join(", ")}`)
  return { name: manifest.name, version: manifest.version ?? "", file }
}

/** Returns the number of files in a folder, and the bytes that they take on a disk. */
export const sizeOf = (folder: string): { readonly bytes: number; readonly files: number } => {
  const sizes = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => fs.statSync(path.join(parentPath, name)).blocks * 512)
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: sizes.length }
}

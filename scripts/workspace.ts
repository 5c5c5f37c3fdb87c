/**
 * The packages of this workspace and their files, for the checks.
 */
import * as fs from "node:fs"
import * as path from "node:path"

/** The fields of a `package.json` that the checks read. */
export interface Manifest {
  readonly name: string
  readonly description?: string
  readonly version?: string
  readonly private?: boolean
  readonly sideEffects?: unknown
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, unknown>>
  readonly publishConfig?: { readonly exports?: Readonly<Record<string, unknown>> }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** One folder in `packages/`. Paths are relative to the root, and use `/` on every system. */
export interface Package {
  readonly folder: string
  readonly manifestFile: string
  readonly manifest: Manifest
  readonly sources: ReadonlyArray<string>
}

/** The folder that holds `package.json` and `packages/`. */
export const root = path.dirname(import.meta.dirname)

/** Returns the text of a file of this workspace. */
export const read = (file: string): string => fs.readFileSync(path.join(root, file), "utf8")

/** Returns the files that match a glob. They are sorted, so that reports have the same order in each run. */
export const files = (pattern: string): ReadonlyArray<string> =>
  fs.globSync(pattern, { cwd: root }).map((file) => file.replaceAll(path.sep, "/")).toSorted()

/** All packages, public and private. */
export const packages: ReadonlyArray<Package> = files("packages/*/package.json").map((manifestFile) => {
  const folder = path.posix.basename(path.posix.dirname(manifestFile))
  // The annotation is trusted: pnpm rejects a malformed manifest.
  const manifest: Manifest = JSON.parse(read(manifestFile))
  return { folder, manifestFile, manifest, sources: files(`packages/${folder}/src/**/*.ts`) }
})

/** The packages that users install. */
export const publicPackages: ReadonlyArray<Package> = packages.filter(({ manifest }) => manifest.private !== true)

const isProgram = ({ manifest }: Package): boolean => manifest.bin !== undefined

/** The public packages whose modules users import. */
export const libraries: ReadonlyArray<Package> = publicPackages.filter((one) => !isProgram(one))

/** The public packages that users run. Their archives have bundles, which contain all that they import. */
export const programs: ReadonlyArray<Package> = publicPackages.filter(isProgram)

/**
 * The entries that only packages of this project may import. `internalEngine` of `session` is apart from `internal`
 * because its modules load schemas.
 */
export const internalEntries: ReadonlySet<string> = new Set(["internal", "internalEngine"])

/** Returns the public modules of a package: all that are not in a folder `internal`. A program has none. */
export const publicModules = (one: Package): ReadonlyArray<string> =>
  isProgram(one) ? [] : one.sources.filter((file) => !file.includes("/internal/"))

/**
 * The templates of `@effect-mcp/create`, as its archive has them.
 *
 * A template names its dependencies with the range `*`. Here they get those of this workspace: the packages of this
 * project the next patches of their version, Effect the range of their peers, and tools the version of the root.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as ArchivedName from "../packages/create/src/ArchivedName.ts"
import { files, type Manifest, publicPackages, read, root } from "./workspace.ts"

const templates = "packages/create/templates"

/** The names of the templates. */
export const names: ReadonlyArray<string> = files(`${templates}/*/package.json`).map((file) =>
  path.posix.basename(path.posix.dirname(file))
)

const { devDependencies: tools = {} }: Manifest = JSON.parse(read("package.json"))

const peers: Readonly<Record<string, string>> = Object.assign(
  {},
  ...publicPackages.map(({ manifest }) => manifest.peerDependencies)
)

/** Returns the range of a dependency of a template. Throws if this workspace does not have it. */
export const rangeOf = (name: string): string => {
  const ours = publicPackages.find(({ manifest }) => manifest.name === name)
  const effect = name === "effect" || name === "@effect/platform-node" ? peers[name] : undefined
  const range = ours === undefined ? effect ?? tools[name] : `^${ours.manifest.version}`
  if (range === undefined) throw new Error(`a template needs ${name}, which is no dependency of this workspace`)
  return range
}

/** Returns the manifest of a project with the ranges of its dependencies. */
export const withRanges = (text: string): string => {
  const manifest: Readonly<Record<string, unknown>> = JSON.parse(text)
  const resolved = Object.entries(manifest).map(([field, value]) => [
    field,
    typeof value === "object" && value !== null && /[dD]ependencies$/.test(field)
      ? Object.fromEntries(Object.keys(value).map((name) => [name, rangeOf(name)]))
      : value
  ])
  return `${JSON.stringify(Object.fromEntries(resolved), null, 2)}\n`
}

/** Writes the templates to a folder. What was installed or built in a template is left out. */
export const write = (folder: string): void => {
  fs.rmSync(folder, { recursive: true, force: true })
  for (const name of names) {
    fs.cpSync(path.join(root, templates, name), path.join(folder, name), {
      recursive: true,
      filter: (file) => !["node_modules", "dist"].includes(path.basename(file))
    })
    const manifest = path.join(folder, name, "package.json")
    fs.writeFileSync(manifest, withRanges(fs.readFileSync(manifest, "utf8")))
  }
  for (const { name, parentPath } of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    fs.renameSync(path.join(parentPath, name), path.join(parentPath, ArchivedName.of(name)))
  }
}

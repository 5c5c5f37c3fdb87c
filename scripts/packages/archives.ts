/** The archives of the public packages, as a registry gets them. */
import * as fs from "node:fs"
import * as path from "node:path"
import { publicPackages } from "../workspace.ts"
import { run } from "./command.ts"

/** A packed package. */
export interface Archive {
  readonly name: string
  readonly file: string
}

/** Packs the public packages of a workspace, which are built. */
export const pack = async (workspace: string, folder: string): Promise<ReadonlyArray<Archive>> => {
  const archives: Array<Archive> = []
  for (const one of publicPackages) {
    const file = path.join(folder, `${one.folder}.tgz`)
    await run("pnpm", ["pack", "--out", file], { cwd: path.join(workspace, "packages", one.folder) })
    archives.push({ name: one.manifest.name, file })
  }
  return archives
}

/** Returns the number of files in a folder, and the bytes that they take on a disk. */
export const sizeOf = (folder: string): { readonly bytes: number; readonly files: number } => {
  const sizes = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => fs.statSync(path.join(parentPath, name)).blocks * 512)
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: sizes.length }
}

/** The samples of the parts: one file of JSON for each part, so that parts can be measured one after another. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import * as path from "node:path"
import type { Options, Part, Stored } from "./Part.ts"

const fileOf = (folder: string, { name }: Part): string => path.join(folder, `${name}.json`)

/** Stores the samples of a part, and returns them as they are stored. */
export const store = (folder: string, part: Part, options: Options, results: unknown): string => {
  const stored: Stored<unknown> = {
    part: part.name,
    date: new Date().toISOString(),
    node: process.version,
    cpus: { count: availableParallelism(), model: (cpus()[0]?.model ?? "an unknown processor").trim() },
    options,
    results
  }
  const text = `${JSON.stringify(stored, undefined, 2)}\n`
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(folder, part), text)
  return text
}

/** Returns the stored samples of a part; `undefined` if it was not measured yet. */
export const read = (folder: string, part: Part): string | undefined => {
  const file = fileOf(folder, part)
  return existsSync(file) ? readFileSync(file, "utf8") : undefined
}

/** Programs of this repository as one file, for tests that start them many times. */
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { root } from "./workspace.ts"

/** The folder of the joined programs. Copies of the workspace do not share it, because their sources differ. */
export const joinedFolder = path.join(root, "node_modules/.joined")

/**
 * Joins a program and the modules that it loads to one file, and returns its path. A program of this repository loads
 * about 400 modules, and most of its start is the time in which Node finds them: 0.8 s of 1 s on a slow machine.
 *
 * The file is always in the same place, so that Node's cache of compiled code serves later runs of the tests too. It is
 * written again only after one of its sources has changed: to join a program takes longer than to start it once.
 */
export const joinedProgram = (program: string): Promise<string> => {
  const joined = joining.get(program) ?? join(program)
  joining.set(program, joined)
  return joined
}

const joining = new Map<string, Promise<string>>()

/** The files that decide which modules a program loads, and how they are joined. */
const settings = () => [
  import.meta.filename,
  path.join(root, "pnpm-lock.yaml"),
  ...fs.globSync("packages/*/package.json", { cwd: root }).map((file) => path.join(root, file))
]

/** Returns the size and the time of the last change of files, each on a line of its own. */
const stateOf = (files: ReadonlyArray<string>): string =>
  files.map((file) => {
    const { mtimeMs, size } = fs.statSync(file)
    return `${file}\t${size}\t${mtimeMs}\n`
  }).join("")

/** Returns whether no file has changed after this state was recorded. */
const isCurrent = (record: string): boolean => {
  try {
    const recorded = fs.readFileSync(record, "utf8")
    return recorded === stateOf(recorded.trimEnd().split("\n").map((line) => line.split("\t", 1)[0] ?? ""))
  } catch {
    // There is no record, or a file has been removed.
    return false
  }
}

/** Writes a file at once: another process of the tests may read it at this moment, or write it. */
const replace = async (file: string, write: (part: string) => unknown): Promise<void> => {
  const part = `${file}.${randomUUID()}`
  try {
    await write(part)
    fs.renameSync(part, file)
  } finally {
    fs.rmSync(part, { force: true })
  }
}

const join = async (program: string): Promise<string> => {
  const file = path.join(joinedFolder, path.relative(root, program).replace(/\.ts$/, ".mjs"))
  const record = `${file}.sources`
  if (fs.existsSync(file) && isCurrent(record)) return file
  const bundle = await rolldown({ input: program, platform: "node" })
  await replace(file, (part) => bundle.write({ file: part, format: "esm", codeSplitting: false }))
  const sources = [...settings(), ...(await bundle.watchFiles).filter((source) => fs.existsSync(source))]
  await replace(record, (part) => fs.writeFileSync(part, stateOf(sources)))
  await bundle.close()
  return file
}

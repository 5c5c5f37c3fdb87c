/** Programs of this repository as one file, for tests that start them many times. */
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { build } from "rolldown"
import { root } from "./workspace.ts"

/** The folder of the joined programs. Copies of the workspace do not share it, because their sources differ. */
export const joinedFolder = path.join(root, "node_modules/.joined")

/**
 * Joins a program and the modules that it loads to one file, and returns its path. A program of this repository loads
 * about 400 modules, and most of its start is the time in which Node finds them: 0.8 s of 1 s on a slow machine.
 *
 * The file is always in the same place, so that Node's cache of compiled code serves later runs of the tests too.
 */
export const joinedProgram = (program: string): Promise<string> => {
  const joined = joining.get(program) ?? join(program)
  joining.set(program, joined)
  return joined
}

const joining = new Map<string, Promise<string>>()

const join = async (program: string): Promise<string> => {
  const file = path.join(joinedFolder, path.relative(root, program).replace(/\.ts$/, ".mjs"))
  const part = `${file}.${randomUUID()}`
  try {
    await build({ input: program, platform: "node", output: { file: part, format: "esm", codeSplitting: false } })
    // Another process of the tests may read the file at this moment, or write it.
    fs.renameSync(part, file)
  } finally {
    fs.rmSync(part, { force: true })
  }
  return file
}

/** The program as users run it: bundled, beside its templates. */
import { afterAll } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as BundledProgram from "../../../scripts/bundledProgram.ts"
import * as Templates from "../../../scripts/templates.ts"
import { programs, root } from "../../../scripts/workspace.ts"

/** The end of a run, and its output. */
export interface Run {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Returns a function that creates folders, all of which are removed after the tests of the file that calls this. They
 * are in the workspace, so that projects in them find the packages, and not in `node_modules`, where Node runs no
 * TypeScript. Git ignores them.
 */
export const folders = (): () => string => {
  const all = fs.mkdtempSync(path.join(root, ".examples-"))
  afterAll(() => fs.rmSync(all, { recursive: true, force: true }))
  return () => fs.mkdtempSync(path.join(all, "create-"))
}

/** Builds the program into a folder, and returns its file. */
export const build = async (into: string): Promise<string> => {
  const one = programs.find(({ folder }) => folder === "create")
  if (one === undefined) throw new Error("the package create has no bin")
  await BundledProgram.write(one, into)
  Templates.write(path.join(into, "templates"))
  return path.join(into, "main.js")
}

/** Runs a program of Node in a folder, without a terminal. */
export const run = (
  file: string,
  args: ReadonlyArray<string>,
  cwd: string,
  env: Readonly<Record<string, string>> = {}
): Promise<Run> =>
  new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, npm_config_user_agent: "", NO_COLOR: "1", ...env } }
    execFile(process.execPath, [file, ...args], options, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : typeof error.code === "number" ? error.code : 1, stdout, stderr })
    })
  })

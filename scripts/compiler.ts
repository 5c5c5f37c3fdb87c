/**
 * Runs the TypeScript compiler that also reports mistakes in the use of Effect, so that one check of the types finds
 * both. Takes the options of `tsc`.
 */
import { execFileSync, spawnSync } from "node:child_process"
import * as path from "node:path"
import { root } from "./workspace.ts"

/** The command line of the package. In 0.45.0 its module `getExePath` rejects the platform package of that version. */
const commandLine = path.join(root, "node_modules/@effect/tsgo/dist/effect-tsgo.cjs")
const compiler = execFileSync(process.execPath, [commandLine, "get-exe-path"], { cwd: root, encoding: "utf8" }).trim()

const { error, status } = spawnSync(compiler, process.argv.slice(2), { stdio: "inherit" })
if (error !== undefined) throw error
process.exitCode = status ?? 1

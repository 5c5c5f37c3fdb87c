import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type * as memory from "./memory.ts"

/** Measures calls in memory in a process that compiles Effect's schemas. */
export const measure = async ({ calls, rounds }: memory.Options): Promise<memory.Results> => {
  const program = fileURLToPath(new URL("compiled.ts", import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv, program, String(rounds), String(calls)],
    { maxBuffer: Number.POSITIVE_INFINITY }
  )
  return JSON.parse(stdout)
}

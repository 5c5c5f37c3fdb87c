/** The program of a process of the fleet. */
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../../scripts/joinedProgram.ts"

/** The path of the program, joined to one file, because a run starts it many times. */
export const program: Promise<string> = joinedProgram(
  fileURLToPath(new URL("../../../examples/src/fleet/process.ts", import.meta.url))
)

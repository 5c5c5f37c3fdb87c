/** The file of the server over stdio, which many sessions and restarts start. */
import { fileURLToPath } from "node:url"

/** The environment variable with the file. Tests set it to a program of one file, which starts in less time. */
export const childVariable = "SOAK_CHILD"

export const childFile = fileURLToPath(new URL("child.ts", import.meta.url))

export const childProgram = process.env[childVariable] ?? childFile

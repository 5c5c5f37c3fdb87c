/** The files of child processes: the server over stdio, which many sessions and restarts start, and others. */
import { fileURLToPath } from "node:url"

/** The environment variable with the file. Tests set it to a program of one file, which starts in less time. */
export const childVariable = "SOAK_CHILD"

export const childFile = fileURLToPath(new URL("child.ts", import.meta.url))

export const childProgram = process.env[childVariable] ?? childFile

/** The environment variable with the file of the processes of the soak of expiries. */
export const expiryVariable = "SOAK_EXPIRY_CHILD"

export const expiryFile = fileURLToPath(new URL("expiries/callingProcess.ts", import.meta.url))

export const expiryProgram = process.env[expiryVariable] ?? expiryFile

/**
 * The releases of the conformance suite that run: the newest final release, and the newest of all. The latter supports
 * older revisions, and validates every message against the schema of its revision.
 */
import { fileURLToPath } from "node:url"

/** A release of the suite. */
export interface Release {
  readonly version: string
  /** The file that Node runs. */
  readonly program: string
}

const release = (version: string, alias: string): Release => ({
  version,
  program: fileURLToPath(import.meta.resolve(`${alias}/dist/index.js`))
})

export const final: Release = release("0.1.16", "conformance-0.1")

export const newest: Release = release("0.2.0-alpha.12", "conformance-0.2")

export const releases: ReadonlyArray<Release> = [final, newest]

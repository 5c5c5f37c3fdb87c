/** The measurements of the comparison, which are stored in the repository. */
import * as fs from "node:fs"
import * as path from "node:path"
import { root } from "../workspace.ts"

/** An installation by npm in an empty folder. */
export interface Installation {
  /** The packages that were asked for, with their versions. */
  readonly dependencies: Readonly<Record<string, string>>
  /** The number of installed packages. */
  readonly packages: number
  readonly files: number
  /** The space that the files take on the disk. */
  readonly bytes: number
  /** The part of the library itself: a project that uses its foundation has the rest already. */
  readonly own: { readonly packages: number; readonly bytes: number }
}

/** The measurements, by the folders of the implementations. */
export interface Samples {
  readonly date: string
  readonly node: string
  readonly cpus: { readonly count: number; readonly model: string }
  /** The installation that a server needs, and that of a server and a client. */
  readonly server: Readonly<Record<string, Installation>>
  readonly both: Readonly<Record<string, Installation>>
  /** The milliseconds from the start of program a to its first answer, one for each round. */
  readonly installed: Readonly<Record<string, ReadonlyArray<number>>>
  /** The same, bundled into one file. */
  readonly bundled: Readonly<Record<string, ReadonlyArray<number>>>
  /** The bytes of these files. */
  readonly bundleBytes: Readonly<Record<string, number>>
}

const file = path.join(root, "packages", "comparisons", "samples.json")

/** Returns the stored measurements. */
export const read = (): Samples => JSON.parse(fs.readFileSync(file, "utf8"))

/** Stores measurements. Milliseconds are rounded to tenths. */
export const store = (samples: Samples): void => {
  const rounded = (_: string, value: unknown) => typeof value === "number" ? Math.round(value * 10) / 10 : value
  fs.writeFileSync(file, `${JSON.stringify(samples, rounded, 2)}\n`)
}

/** A mutant of the library, and its application while Node loads the mutated module. */

import * as fs from "node:fs"
import { registerHooks } from "node:module"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "../../../../scripts/workspace.ts"

/** A mutant: a file, a text in it, and the text that replaces it. */
export interface Mutant {
  /** The bug, which completes the sentence "A session that …". */
  readonly name: string
  readonly file: string
  /** A text that occurs exactly once in the file. */
  readonly original: string
  readonly broken: string
}

/** Returns the mutants of a file, from rows of a name, the original text and the broken one. */
export const mutantsOf = (
  file: string,
  rows: ReadonlyArray<readonly [name: string, original: string, broken: string]>
): ReadonlyArray<Mutant> => rows.map(([name, original, broken]) => ({ name, file, original, broken }))

/** Applies a mutant: every later import of its module loads the mutated source. */
export const apply = ({ broken, file, name, original }: Mutant): void => {
  const parts = fs.readFileSync(path.join(root, file), "utf8").split(original)
  if (parts.length !== 2) {
    throw new Error(`mutant "${name}": its original text occurs ${parts.length - 1} times in ${file}: ${original}`)
  }
  const source = parts.join(broken)
  const url = pathToFileURL(path.join(root, file)).href
  registerHooks({
    load: (loaded, context, next) =>
      loaded === url ? { format: "module-typescript", source, shortCircuit: true } : next(loaded, context)
  })
}

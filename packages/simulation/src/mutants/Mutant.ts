/** A mutant of the library, and its application while Node loads the mutated module. */

import { registerHooks } from "node:module"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { changed, type SourceChange } from "../../../../scripts/sourceChange.ts"
import { root } from "../../../../scripts/workspace.ts"

/** A change of the library that is a bug. */
export interface Mutant extends SourceChange {
  /** The bug, which completes the sentence "A session that …". */
  readonly name: string
}

/** Applies a mutant: every later import of its module loads the mutated source. */
export const apply = (mutant: Mutant): void => {
  const source = changed(mutant)
  if ("fault" in source) {
    throw new Error(`mutant "${mutant.name}": ${source.fault}; run pnpm requirements --fix if it was moved`)
  }
  const url = pathToFileURL(path.join(root, source.file)).href
  registerHooks({
    load: (loaded, context, next) =>
      loaded === url
        ? { format: "module-typescript", source: source.text, shortCircuit: true }
        : next(loaded, context)
  })
}

/**
 * Applies a mutant to a module while Node loads it.
 */
import * as fs from "node:fs"
import { registerHooks } from "node:module"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "../../../../scripts/workspace.ts"
import type { Mutant } from "./table.ts"

/** Returns the mutated source. Throws unless the original text occurs exactly once. */
export const brokenSource = ({ broken, file, name, original }: Mutant): string => {
  const source = fs.readFileSync(path.join(root, file), "utf8")
  const parts = source.split(original)
  if (parts.length !== 2) {
    throw new Error(`mutant "${name}": its original text occurs ${parts.length - 1} times in ${file}: ${original}`)
  }
  return parts.join(broken)
}

/** Applies a mutant: every later import of its module loads the mutated source. */
const apply = (mutant: Mutant): void => {
  const source = brokenSource(mutant)
  const url = pathToFileURL(path.join(root, mutant.file)).href
  registerHooks({
    load: (loaded, context, next) =>
      loaded === url ? { format: "module-typescript", source, shortCircuit: true } : next(loaded, context)
  })
}

/** Applies the mutant of this name. */
export const applyNamed = (mutants: ReadonlyArray<Mutant>, name: string | undefined): void => {
  const mutant = mutants.find((one) => one.name === name)
  if (mutant === undefined) throw new Error(`no mutant is named "${name}"`)
  apply(mutant)
}

/**
 * Breaks a module while it is loaded.
 */
import * as fs from "node:fs"
import { registerHooks } from "node:module"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "../workspace.ts"
import type { Mutant } from "./table.ts"

/** The source of the broken module. Fails if what is to be broken does not stand there exactly once. */
export const brokenSource = ({ broken, file, name, original }: Mutant): string => {
  const source = fs.readFileSync(path.join(root, file), "utf8")
  const parts = source.split(original)
  if (parts.length !== 2) {
    throw new Error(`${file} has ${parts.length - 1} places where "${name}" could be: ${original}`)
  }
  return parts.join(broken)
}

/** From now on whoever loads this module gets the broken one. */
export const apply = (mutant: Mutant): void => {
  const source = brokenSource(mutant)
  const url = pathToFileURL(path.join(root, mutant.file)).href
  registerHooks({
    load: (loaded, context, next) =>
      loaded === url ? { format: "module-typescript", source, shortCircuit: true } : next(loaded, context)
  })
}

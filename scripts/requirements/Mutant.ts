/**
 * Mutants of the library: for each tested rule of the specification, a change of the sources that breaks the rule, and
 * the test that fails for it.
 */
import * as path from "node:path"
import type { NamedTest } from "../testNames.ts"
import { files, read, root } from "../workspace.ts"

/** One change of the library that breaks one rule. */
export interface Mutant {
  /** The id of the rule that the change breaks. A rule of both sides may have a mutant for each side. */
  readonly id: string
  /** The file of a public package that is changed. */
  readonly file: string
  /** A text that occurs exactly once in the file. */
  readonly original: string
  /** The text that replaces it. */
  readonly broken: string
  /** The file of the test that fails. */
  readonly test: string
  /** A part of the test's name. Every test of the file whose name contains it carries the id of the rule. */
  readonly name: string
  /** The test fails by its timeout, because the event that it waits for never happens. */
  readonly hangs?: true
}

const folder = "scripts/requirements/mutants"

const sources = /^packages\/(?:protocol|session|json-schema|transport|server|client|testing)\/src\/.+\.ts$/
const testFiles = /^packages\/(?:protocol|session|json-schema|transport|server|client|testing)\/test\/.+\.test\.ts$/

/** All mutants, in the order of the chapters' files. */
export const readMutants = async (): Promise<ReadonlyArray<Mutant>> => {
  const chapters = files(`${folder}/*.ts`).map(async (file) => {
    // The annotation is trusted: the compiler checks these files.
    const { mutants }: { readonly mutants: ReadonlyArray<Mutant> } = await import(path.join(root, file))
    const chapter = path.basename(file, ".ts")
    const strays = mutants.filter(({ id }) => !id.startsWith(`${chapter}-`))
    if (strays.length > 0) throw new Error(`${file} holds mutants of ${strays.map(({ id }) => id).join(", ")}`)
    return mutants
  })
  return (await Promise.all(chapters)).flat()
}

/** Returns the changed source, or the reason why the change cannot be applied. */
export const change = (
  { broken, file, original }: Mutant
): { readonly text: string } | { readonly fault: string } => {
  if (!sources.test(file)) return { fault: `${file} is not a source of a public package` }
  if (!files(file).includes(file)) return { fault: `${file} does not exist` }
  if (broken === original) return { fault: "its original and broken text are equal" }
  const source = read(file)
  const count = source.split(original).length - 1
  if (count !== 1) return { fault: `its original text occurs ${count} times in ${file}: ${original.trim()}` }
  return { text: source.replace(original, () => broken) }
}

/** Returns the faults of a mutant that are visible without running it. */
export const faultsOf = (mutant: Mutant, tests: ReadonlyArray<NamedTest>): ReadonlyArray<string> => {
  const { id, name, test } = mutant
  const changed = change(mutant)
  const named = tests.filter((one) => one.file === test && one.name.includes(name))
  const others = named.filter((one) => !one.name.includes(`[${id}]`))
  return [
    ...("fault" in changed ? [changed.fault] : []),
    ...(testFiles.test(test) ? [] : [`${test} is not a test of the library`]),
    ...(named.length === 0 ? [`${test} has no test named "${name}"`] : []),
    ...others.map((other) =>
      `"${other.name}" in ${test} does not carry the id; add the id, or make "${name}" more exact`
    )
  ].map((fault) => `${folder} ${id}: ${fault}`)
}

/**
 * Mutants of the library: for each tested rule of the specification, a change of the sources that breaks the rule, and
 * the test that fails for it.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { type Place, Places } from "../places.ts"
import { files, publicPackages, read, root } from "../workspace.ts"

/** One change of the library that breaks one rule: a place in the sources of the public packages, and its new text. */
export interface Mutant extends Place {
  /** The id of the rule that the change breaks. A rule of both sides may have a mutant for each side. */
  readonly id: string
  /** The text that replaces the original. */
  readonly broken: string
  /** The file of the test that fails. */
  readonly test: string
  /** A part of the test's name. Every test of the file whose name contains it carries the id of the rule. */
  readonly name: string
  /** The test fails by its timeout, because the event that it waits for never happens. */
  readonly hangs?: true
}

const folder = "scripts/requirements/mutants"

/** The packages whose tests find mutants. */
const folders = [...publicPackages.map(({ folder }) => folder), "simulation"]
const testFiles = new RegExp(String.raw`^packages/(?:${folders.join("|")})/test/.+(?<!\.long)\.test\.ts$`)

/** The mutants of a chapter, in the order of its file. */
export interface Chapter {
  readonly file: string
  readonly mutants: ReadonlyArray<Mutant>
}

/** Returns the mutants of all chapters. */
export const readChapters = (): Promise<ReadonlyArray<Chapter>> =>
  Promise.all(
    files(`${folder}/*.ts`).map(async (file) => {
      // The annotation is trusted: the compiler checks these files.
      const { mutants }: { readonly mutants: ReadonlyArray<Mutant> } = await import(path.join(root, file))
      const chapter = path.basename(file, ".ts")
      const strays = mutants.filter(({ id }) => !id.startsWith(`${chapter}-`))
      if (strays.length > 0) throw new Error(`${file} holds mutants of ${strays.map(({ id }) => id).join(", ")}`)
      return { file, mutants }
    })
  )

/** Returns all mutants, in the order of the chapters' files. */
export const readMutants = async (): Promise<ReadonlyArray<Mutant>> =>
  (await readChapters()).flatMap(({ mutants }) => mutants)

let places: Places | undefined

/** Returns the sources of the public packages. They are read when a place is first looked for. */
export const sources = (): Places =>
  places ??= new Places(publicPackages.flatMap((one) => one.sources).map((file) => ({ file, text: read(file) })))

/** Returns the changed source and its file, or the reason why the change cannot be applied. */
export const change = (
  mutant: Mutant
): { readonly file: string; readonly text: string } | { readonly fault: string } => {
  if (mutant.broken === mutant.original) return { fault: "its original and broken text are equal" }
  const range = sources().find(mutant)
  return "fault" in range ? range : { file: range.file, text: sources().replace(range, mutant.broken) }
}

/** Returns the faults of a mutant that are visible in its row, the sources and the files of tests. */
export const faultsOfRow = (mutant: Mutant): ReadonlyArray<string> => {
  const { id, test } = mutant
  const changed = change(mutant)
  return [
    ...("fault" in changed ? [changed.fault] : []),
    ...(testFiles.test(test) ? [] : [`${test} is not a test of the library that \`pnpm test\` runs`]),
    ...(fs.existsSync(path.join(root, test)) ? [] : [`${test} does not exist`])
  ].map((fault) => `${folder} ${id}: ${fault}; run pnpm requirements --fix if it was moved`)
}

/** Returns the faults of a mutant in the names of the tests of its file. */
export const faultsOfNames = ({ id, name, test }: Mutant, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const named = names.filter((one) => one.includes(name))
  return [
    ...(named.length === 0 ? [`${test} has no test named "${name}"`] : []),
    ...named.filter((one) => !one.includes(`[${id}]`)).map((one) =>
      `"${one}" in ${test} does not carry the id; add the id, or make "${name}" more exact`
    )
  ].map((fault) => `${folder} ${id}: ${fault}`)
}

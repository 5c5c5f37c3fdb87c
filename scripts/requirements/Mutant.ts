/**
 * Mutants of the library: for each tested rule of the specification, a change of the sources that breaks the rule, and
 * the test that fails for it.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { changed, type SourceChange } from "../sourceChange.ts"
import { files, publicPackages, root } from "../workspace.ts"

/** One change of the library that breaks one rule. */
export interface Mutant extends SourceChange {
  /** The id of the rule that the change breaks. A rule of both sides may have a mutant for each side. */
  readonly id: string
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

/** The mutants of a table of the simulation, in its order. */
export interface SimulatedTable {
  readonly file: string
  readonly mutants: ReadonlyArray<SourceChange & { readonly name: string }>
}

/** Returns the mutants of the simulation, which finds them without tests. */
export const readSimulated = (): Promise<ReadonlyArray<SimulatedTable>> =>
  Promise.all(
    ["table", "eras", "credentials", "processes"].map(async (name) => {
      const file = `packages/simulation/src/mutants/${name}.ts`
      // The annotation is trusted: the compiler checks these files.
      const { mutants }: Pick<SimulatedTable, "mutants"> = await import(path.join(root, file))
      return { file, mutants }
    })
  )

/** Returns all mutants, in the order of the chapters' files. */
export const readMutants = async (): Promise<ReadonlyArray<Mutant>> =>
  (await readChapters()).flatMap(({ mutants }) => mutants)

const hint = "run pnpm requirements --fix if it was moved"

const faultsOfChange = (change: SourceChange): ReadonlyArray<string> => {
  const source = changed(change)
  return "fault" in source ? [source.fault] : []
}

/** Returns the faults of a mutant that are visible in its row, the sources and the files of tests. */
export const faultsOfRow = (mutant: Mutant): ReadonlyArray<string> => {
  const { id, test } = mutant
  return [
    ...faultsOfChange(mutant),
    ...(testFiles.test(test) ? [] : [`${test} is not a test of the library that \`pnpm test\` runs`]),
    ...(fs.existsSync(path.join(root, test)) ? [] : [`${test} does not exist`])
  ].map((fault) => `${folder} ${id}: ${fault}; ${hint}`)
}

/** Returns the faults of the rows of a table of the simulation. */
export const faultsOfTable = ({ file, mutants }: SimulatedTable): ReadonlyArray<string> =>
  mutants.flatMap((mutant) => faultsOfChange(mutant).map((fault) => `${file} "${mutant.name}": ${fault}; ${hint}`))

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

/**
 * The ids of rules in the names of tests. Each run of tests checks its own names, so that no check loads the tests.
 */
import { chapterOf, chapters, list, readList } from "../requirement.ts"
import type { NamedTest } from "../testNames.ts"
import { files, read } from "../workspace.ts"
import { faultsOfNames, readMutants } from "./Mutant.ts"

/** Matches ids. Ids of rules are in brackets, which distinguishes them from names such as `UTF-8`. */
const inBrackets = /\[([A-Z]+-\d+)\]/g
const bare = new RegExp(String.raw`(?<!\[)\b(?:${Array.from(chapters.keys()).join("|")})-\d+\b`)

/** Returns the ids that the name of a test carries, each once. */
export const idsIn = (name: string): ReadonlyArray<string> =>
  Array.from(new Set(Array.from(name.matchAll(inBrackets), ([, id = ""]) => id)))

/** Returns a function that returns the faults of an id: it is unknown, or its rule has a reason why it has no test. */
const checkingIds = () => {
  const rules = new Map(readList().requirements.map((rule) => [rule.id, rule]))
  return (id: string): ReadonlyArray<string> => {
    const rule = rules.get(id)
    if (rule === undefined) return [`${list} has no rule ${id}`]
    return rule.untested === ""
      ? []
      : [`${list}:${rule.line} says that nothing tests ${id}: "${rule.untested}"`]
  }
}

/** Returns the faults of the ids that the texts of tests and laws contain, without loading them. */
export const faultsOfTexts = (): ReadonlyArray<string> => {
  const faultsOf = checkingIds()
  return [...files("packages/*/test/**/*.ts"), ...files("packages/testing/src/**/*.ts")].flatMap((file) =>
    idsIn(read(file)).filter((id) => chapters.has(chapterOf(id))).flatMap(faultsOf).map((fault) => `${file}: ${fault}`)
  )
}

/**
 * Returns the faults of the names of tests: unknown ids, ids of rules with a reason why they have no test, and mutants
 * without their test. `tests` has all tests of each of its files. Mutants of other files are not checked.
 */
export const faultsOfNamedTests = async (tests: ReadonlyArray<NamedTest>): Promise<ReadonlyArray<string>> => {
  const faultsOfId = checkingIds()
  const namesByFile = new Map<string, Array<string>>()
  for (const { file, name } of tests) {
    const names = namesByFile.get(file) ?? []
    names.push(name)
    namesByFile.set(file, names)
  }
  return [
    ...tests.flatMap(({ file, name }) => {
      const [loose] = bare.exec(name) ?? []
      return [...idsIn(name).flatMap(faultsOfId), ...(loose === undefined ? [] : [`write ${loose} in brackets`])]
        .map((fault) => `${file} "${name}": ${fault}`)
    }),
    ...(await readMutants()).flatMap((mutant) => {
      const names = namesByFile.get(mutant.test)
      return names === undefined ? [] : faultsOfNames(mutant, names)
    })
  ]
}

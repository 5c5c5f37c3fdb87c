/**
 * Reports which rules of the protocol's specification are tested, and why the others are not.
 *
 * `node scripts/requirements.ts` prints every rule of `requirements.tsv` with the tests that carry its id in their
 * names, and writes `REQUIREMENTS.md`. It loads every test file to find the names.
 *
 * With `--check` it loads no tests, leaves the page and prints only faults: a rule with neither a mutant nor a reason,
 * a reason for a tested rule, a mutant whose code or test file is missing, an unknown id in a test, an outdated page.
 * Each run of tests checks the names of its tests itself (`requirements/names.ts`).
 *
 * With `--mutants` it runs the mutants of `requirements/mutants` instead: each breaks one rule in a copy of the
 * library, and the test of its row must fail. `--only CAN-04` and `--chapter CAN` select mutants and can be repeated.
 * `--sample 12 --seed 1` selects that many at random; the same seed selects the same mutants.
 *
 * With `--fix` it finds the code and the test files of mutants again after they were moved, and rewrites the rows.
 * `--check` and `--fix` include the mutants of the simulation.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit, wholeNumber } from "./commandLine.ts"
import { table } from "./generated.ts"
import { chapterOf, chapters, list, readList, type Requirement, scopeOf, scopes } from "./requirement.ts"
import { fixRows } from "./requirements/fix.ts"
import { faultsOfRow, faultsOfTable, readMutants, readSimulated } from "./requirements/Mutant.ts"
import { faultsOfNamedTests, faultsOfTexts, idsIn } from "./requirements/names.ts"
import { runMutants } from "./requirements/run.ts"
import { type NamedTest, testNames } from "./testNames.ts"
import { read, root } from "./workspace.ts"

const { sample, values } = orExit(() => {
  const { values } = parseArgs({
    options: {
      check: { type: "boolean", default: false },
      mutants: { type: "boolean", default: false },
      fix: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      chapter: { type: "string", multiple: true, default: [] },
      sample: { type: "string" },
      seed: { type: "string", default: "1" }
    }
  })
  return { values, sample: values.sample === undefined ? undefined : wholeNumber("sample", values.sample) }
})

if (values.mutants) {
  const faults = await runMutants({ only: values.only, chapters: values.chapter, sample, seed: values.seed })
  process.exit(faults > 0 ? 1 : 0)
}

if (values.fix) {
  process.exit(await fixRows() > 0 ? 1 : 0)
}

const page = "REQUIREMENTS.md"
const isChecking = values.check

const { faults: faultsOfList, requirements } = readList()

// =====================================================================================================================
// Mutants by rule
// =====================================================================================================================

const mutants = await readMutants()
const mutated = new Set(mutants.map(({ id }) => id))

/** Returns whether a rule is tested: the test of a recorded mutant of the rule carries its id, and fails for it. */
const isTested = ({ id }: Requirement): boolean => mutated.has(id)

const stateOf = (requirement: Requirement): string => isTested(requirement) ? "tested" : requirement.untested

const faultsOfMutants = [
  ...mutants.flatMap(faultsOfRow),
  ...(await readSimulated()).flatMap(faultsOfTable),
  ...requirements.flatMap((requirement) => {
    const { id, line, untested } = requirement
    if (isTested(requirement) === (untested === "")) return []
    return untested === ""
      ? [`${list}:${line} ${id}: no mutant breaks this rule; add a mutant and a test that finds it, or a reason`]
      : [`${list}:${line} ${id}: a mutant breaks this rule; remove the reason "${untested}"`]
  })
]

// =====================================================================================================================
// Tests by rule
// =====================================================================================================================

const tests = isChecking ? [] : await testNames()
const withIds = tests.map((test) => ({ test, ids: idsIn(test.name) }))

const testsOf = ({ id }: Requirement): ReadonlyArray<NamedTest> =>
  withIds.flatMap(({ ids, test }) => ids.includes(id) ? [test] : [])

// =====================================================================================================================
// Counting
// =====================================================================================================================

const inChapter = (chapter: string): ReadonlyArray<Requirement> =>
  requirements.filter(({ id }) => chapterOf(id) === chapter)

/** Counts rules by their state. */
const count = (some: ReadonlyArray<Requirement>) => {
  const untested = some.filter((requirement) => !isTested(requirement))
  return {
    all: some.length,
    tested: some.filter(isTested).length,
    application: untested.filter(({ untested }) => untested.startsWith("for the application")).length,
    notYet: untested.filter(({ untested }) => untested.startsWith("not yet")).length
  }
}

const summary = Object.entries(scopes).map(([scope, title]) => ({
  title,
  ...count(requirements.filter((requirement) => scopeOf(requirement) === scope))
}))

// =====================================================================================================================
// The page
// =====================================================================================================================

const text = `# Requirements

The rules of the Model Context Protocol's specification in the project's own words, and the state of each rule in this
library. \`pnpm requirements\` generates this page from [\`${list}\`](${list}), and prints
the tests that carry the id of each rule in their names. \`pnpm test -t CAN-04\` runs the tests of one rule.

A rule describes the behaviour that complies with it. The level is the keyword of the specification (_prose_: the
specification uses none). The states are:

- _tested_: a recorded mutant of the library breaks the rule, and a test that carries the id of the rule fails for it.
  The mutants are in [\`scripts/requirements/mutants\`](scripts/requirements/mutants).
  \`pnpm requirements --mutants --only CAN-04\` runs those of one rule.
- _not yet_: the library does not support this part of the specification.
- _for the application_: only the program that uses the session can comply.

${
  table(
    ["", "Rules", "Tested", "For the application", "Not yet"],
    summary.map(({ all, application, notYet, tested, title }) => [title, all, tested, application, notYet])
  )
}

${
  Array.from(chapters).map(([chapter, { title }]) =>
    `## ${title}\n\n${
      table(
        ["Id", "Revisions", "Level", "Side", "Rule", "State"],
        inChapter(chapter).map((requirement) => {
          const { id, level, revisions, rule, side } = requirement
          return [id, revisions, level, side, rule, stateOf(requirement)]
        })
      )
    }`
  ).join("\n\n")
}
`

const isCurrent = fs.existsSync(path.join(root, page)) && read(page) === text
if (!isChecking && !isCurrent) {
  fs.writeFileSync(path.join(root, page), text)
}

// =====================================================================================================================
// The report
// =====================================================================================================================

/** Returns `session/closing` for `packages/session/test/closing.test.ts`. */
const shortName = (file: string): string =>
  file.replace(/^packages\/(\w+)\/test\/(.+)\.test\.ts$/, (_, folder: string, name: string) => `${folder}/${name}`)

const report = (requirement: Requirement): string => {
  const { id, level, rule, side, untested } = requirement
  const found = testsOf(requirement)
  const where = Array.from(new Set(found.map(({ file }) => shortName(file)))).toSorted().join(", ")
  return `  ${id.padEnd(8)}${String(found.length).padStart(5)}  ${rule} (${level}, ${side})\n${" ".repeat(17)}${
    found.length > 0 ? where : untested
  }`
}

if (!isChecking) {
  for (const [chapter, { title }] of chapters) {
    const some = inChapter(chapter)
    console.log(`\n${title}: ${some.filter(isTested).length} of ${some.length}`)
    for (const requirement of some) {
      console.log(report(requirement))
    }
  }
  console.log("")
  for (const { all, application, notYet, tested, title } of summary) {
    console.log(`${title}: ${tested} of ${all} tested, ${application} for the application, ${notYet} not yet`)
  }
}

const faults = [
  ...faultsOfList,
  ...faultsOfMutants,
  ...(isChecking ? faultsOfTexts() : await faultsOfNamedTests(tests)),
  ...(isChecking && !isCurrent ? [`${page} is out of date: run pnpm requirements`] : [])
]
for (const fault of faults) {
  console.log(fault)
}
if (faults.length > 0) {
  process.exitCode = 1
} else if (isChecking) {
  console.log(
    `${requirements.filter(isTested).length} of ${requirements.length} rules have one of ${mutants.length} mutants, ` +
      "whose code is in the sources; pnpm test checks the names of their tests"
  )
}

/**
 * Which rules of the protocol's specification are tested, and why the others are not.
 *
 * `node scripts/requirements.ts` prints every rule of `requirements.tsv` with the tests that carry its id in their
 * names, and writes `REQUIREMENTS.md` anew. With `--check` it writes nothing and prints only what is wrong. It fails on
 * an id of no rule, on a rule without a test that has no reason, on a reason for a rule with one, and on a mutant whose
 * line or test has gone.
 *
 * With `--mutants` it runs the mutants of `requirements/mutants` instead: each breaks one rule in a copy of the
 * library, and the test of its row has to fail because of it. `--only CAN-04` and `--chapter CAN` select some and can
 * be repeated; `--sample 12 --seed 1` selects so many of them, the same ones for the same seed.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit, wholeNumber } from "./commandLine.ts"
import { chapterOf, chapters, list, readList, type Requirement, scopeOf, scopes } from "./requirement.ts"
import { faultsOf, readMutants } from "./requirements/Mutant.ts"
import { runMutants } from "./requirements/run.ts"
import { type NamedTest, testNames } from "./testNames.ts"
import { read, root } from "./workspace.ts"

const { sample, values } = orExit(() => {
  const { values } = parseArgs({
    options: {
      check: { type: "boolean", default: false },
      mutants: { type: "boolean", default: false },
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

const page = "REQUIREMENTS.md"
const isChecking = values.check

const { faults: faultsOfList, requirements } = readList()
const tests = await testNames()

// =====================================================================================================================
// Which test names what
// =====================================================================================================================

const known = new Set(requirements.map(({ id }) => id))

/** What looks like an id. Those of rules stand in brackets, so that the name of an encoding is none. */
const inBrackets = /\[([A-Z]+-\d+)\]/g
const bare = new RegExp(String.raw`(?<!\[)\b(?:${Array.from(chapters.keys()).join("|")})-\d+\b`)

const testsById = new Map<string, Array<NamedTest>>()
const faultsOfTests: Array<string> = []

for (const test of tests) {
  for (const id of new Set(Array.from(test.name.matchAll(inBrackets), ([, id = ""]) => id))) {
    testsById.set(id, [...testsById.get(id) ?? [], test])
    if (!known.has(id)) {
      faultsOfTests.push(`${test.file} "${test.name}": there is no rule ${id} in ${list}`)
    }
  }
  const [loose] = bare.exec(test.name) ?? []
  if (loose !== undefined) {
    faultsOfTests.push(`${test.file} "${test.name}": ${loose} belongs in brackets`)
  }
}

const testsOf = ({ id }: Requirement): ReadonlyArray<NamedTest> => testsById.get(id) ?? []
const isNamed = (requirement: Requirement): boolean => testsOf(requirement).length > 0

const faultsOfReasons = requirements.flatMap((requirement) => {
  const { id, line, untested } = requirement
  if (isNamed(requirement) === (untested === "")) {
    return []
  }
  return untested === ""
    ? [`${list}:${line} ${id}: no test carries this id, and no reason is given`]
    : [`${list}:${line} ${id}: is tested by ${testsOf(requirement)[0]?.file}, so the reason goes: "${untested}"`]
})

// =====================================================================================================================
// Which rule has a mutant
// =====================================================================================================================

const mutants = await readMutants()
const mutated = new Set(mutants.map(({ id }) => id))

/** A rule is tested when its test is known to fail once the rule is broken. */
const isTested = (requirement: Requirement): boolean => isNamed(requirement) && mutated.has(requirement.id)

const stateOf = (requirement: Requirement): string =>
  isTested(requirement) ? "tested" : isNamed(requirement) ? "without a mutant" : requirement.untested

const faultsOfMutants = [
  ...mutants.flatMap((mutant) => faultsOf(mutant, tests)),
  ...requirements.filter((requirement) => isNamed(requirement) && !isTested(requirement)).map(({ id, line }) =>
    `${list}:${line} ${id}: a test carries this id, but no mutant shows that it would fail`
  )
]

// =====================================================================================================================
// Counting
// =====================================================================================================================

const inChapter = (chapter: string): ReadonlyArray<Requirement> =>
  requirements.filter(({ id }) => chapterOf(id) === chapter)

/** How many there are, and how each of them stands. */
const count = (some: ReadonlyArray<Requirement>) => {
  const untested = some.filter((requirement) => !isNamed(requirement))
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

const table = (head: ReadonlyArray<string>, body: ReadonlyArray<ReadonlyArray<string | number>>): string =>
  [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

const text = `# Requirements

The rules of the Model Context Protocol's specification in our own words, and how each stands here. This page is made by
\`pnpm requirements\` from [\`${list}\`](${list}); the same command prints which tests
carry the id of which rule in their names, and \`pnpm test -t CAN-04\` runs those of one rule.

A rule says what is so where it is kept, the level how firmly the specification words it (_prose_: without one of its
capitals). _Tested_: a recorded change of the library that breaks the rule makes a test fail that carries its id; the changes
are in [\`scripts/requirements/mutants\`](scripts/requirements/mutants), and \`pnpm requirements --mutants --only CAN-04\` runs
those of one rule. _Not yet_: there is no such thing here so far. _For the application_: only the program that has the session
can do it.

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
        ["Id", "Revisions", "Level", "Who", "Rule", "State"],
        inChapter(chapter).map((requirement) => {
          const { id, level, revisions, rule, who } = requirement
          return [id, revisions, level, who, rule, stateOf(requirement)]
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

/** `session/matching` of `packages/session/test/matching.test.ts`. */
const shortName = (file: string): string =>
  file.replace(/^packages\/(\w+)\/test\/(.+)\.test\.ts$/, (_, folder: string, name: string) => `${folder}/${name}`)

const report = (requirement: Requirement): string => {
  const { id, level, rule, untested, who } = requirement
  const found = testsOf(requirement)
  const where = Array.from(new Set(found.map(({ file }) => shortName(file)))).toSorted().join(", ")
  return `  ${id.padEnd(8)}${String(found.length).padStart(5)}  ${rule} (${level}, ${who})\n${" ".repeat(17)}${
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
  ...faultsOfTests,
  ...faultsOfReasons,
  ...faultsOfMutants,
  ...(isChecking && !isCurrent ? [`${page} is out of date: run pnpm requirements`] : [])
]
for (const fault of faults) {
  console.log(fault)
}
if (faults.length > 0) {
  process.exitCode = 1
} else if (isChecking) {
  console.log(
    `${requirements.filter(isTested).length} of ${requirements.length} rules have a test that fails for one of ` +
      `${mutants.length} mutants`
  )
}

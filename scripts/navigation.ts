/**
 * Checks that the navigation of the documentation site (`packages/site/src/navigation.ts`) has each page of `docs`
 * once, and only pages that exist. Each page has a kind, and is no longer than `maxLines` unless it is a record.
 * Decisions have an index of their own, with each of them once, and a number of their own.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { entries, kinds, maxLines } from "../packages/site/src/navigation.ts"
import { files, read, root } from "./workspace.ts"

const pages = files("docs/**/*.md").filter((file) => !/^docs\/decisions\/\d/.test(file))
const named = entries.map(({ file }) => file)
const existing = entries.filter(({ file }) => fs.existsSync(path.join(root, file)))

const long = existing
  .map(({ file, kind }) => ({ file, kind, lines: read(file).trimEnd().split("\n").length }))
  .filter(({ kind, lines }) => kind !== "record" && lines > maxLines)

const decisions = files("docs/decisions/[0-9]*.md").map((file) => path.posix.basename(file))
const numbers = decisions.map((name) => name.slice(0, 3))
const inIndex = Array.from(
  read("docs/decisions/README.md").matchAll(/^- \[(\d+)\]\(([^)]+)\)/gm),
  ([, number, name]) => ({
    number,
    name
  })
)

const decisionProblems = [
  ...numbers.filter((number, index) => numbers.indexOf(number) !== index).map((number) =>
    `two decisions have the number ${number}: give the newer one the next free number`
  ),
  ...decisions.filter((name) =>
    inIndex.filter((entry) => entry.name === name && name.startsWith(`${entry.number}-`)).length !== 1
  ).map((name) => `docs/decisions/${name} is not exactly once in docs/decisions/README.md, with its number`)
]

const problems = [
  ...decisionProblems,
  ...pages.filter((page) => !named.includes(page)).map((page) => `${page} is in no group of the navigation`),
  ...named.filter((file, index) => named.indexOf(file) !== index).map((file) => `${file} is in the navigation twice`),
  ...entries.filter((entry) => !existing.includes(entry)).map(({ file }) => `${file} is in the navigation only`),
  ...entries.filter(({ kind }) => !kinds.includes(kind)).map(({ file }) => `${file} has no kind: ${kinds.join(", ")}`),
  ...long.map(({ file, lines }) =>
    `${file} has ${lines} lines, and a page may have ${maxLines}: divide it by the jobs of its readers`
  )
]
for (const problem of problems) console.log(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(`${named.length} pages are in the navigation`)

/**
 * Checks the rules on language that a machine can check: lines of at most 120 columns, doc comments that begin with a
 * verb or a noun, words that hide an actor, a summary at the head of each internal file, and type names that exist once
 * in a package.
 *
 * - `node scripts/language.ts` fails on any finding, and on an exception that matches no finding.
 * - `node scripts/language.ts --list packages/session/src` prints every finding under these paths.
 * - `node scripts/language.ts --update` removes exceptions that match nothing.
 *
 * A place that may break a rule has a row with a reason in `scripts/language/exceptions.tsv`.
 */
import { parseArgs } from "node:util"
import { orExit } from "./commandLine.ts"
import { covers, exceptions, exceptionsFile, writeExceptions } from "./language/exceptions.ts"
import { type Finding, findingsIn } from "./language/findings.ts"
import { repeatedNames } from "./language/names.ts"
import { files, publicPackages, read } from "./workspace.ts"

const { positionals, values: { list, update } } = orExit(() =>
  parseArgs({ allowPositionals: true, options: { list: { type: "boolean" }, update: { type: "boolean" } } })
)

// `REQUIREMENTS.md` is generated from `requirements.tsv`, which is checked instead.
const checked = [
  "*.{md,ts}",
  ".ci/run",
  "docs/**/*.md",
  "packages/*/*.{md,ts}",
  "packages/*/{src,test}/**/*.{md,ts}",
  "packages/*/templates/*/*.{md,ts}",
  "packages/*/templates/*/{src,test}/**/*.ts",
  "scripts/**/*.ts",
  "scripts/requirements.tsv"
].flatMap((pattern) => files(pattern)).filter((file) => file !== "REQUIREMENTS.md")

const listed = list === true ? positionals.map((path) => path.replace(/\/$/, "")) : []
const isListed = (file: string): boolean =>
  listed.length === 0 || listed.some((path) => file === path || file.startsWith(`${path}/`))

const all: ReadonlyArray<Finding> = [
  ...checked.filter(isListed).flatMap((file) => findingsIn(file, read(file))),
  ...publicPackages.flatMap(repeatedNames).filter(({ file }) => isListed(file))
]
const table = exceptions()
const findings = all.filter((finding) => !table.some((exception) => covers(exception, finding)))
const stale = table.filter((exception) => !all.some((finding) => covers(exception, finding)))

const print = ({ file, line, message, rule, subject }: Finding): void =>
  console.log(`${file}:${line} ${rule}: ${message}\n    ${subject.trim()}`)

if (list) {
  findings.forEach(print)
  console.log(`${findings.length} findings`)
} else if (update) {
  writeExceptions(table.filter((exception) => !stale.includes(exception)))
  console.log(`${stale.length} exceptions removed`)
} else {
  findings.forEach(print)
  for (const { line, row } of stale) {
    console.log(`${exceptionsFile}:${line} matches no finding; remove it: ${row.replaceAll("\t", " | ")}`)
  }
  if (stale.length > 0) console.log("to remove exceptions that match nothing: node scripts/language.ts --update")
  if (findings.length > 0 || stale.length > 0) process.exitCode = 1
  console.log(`${checked.length} files checked, ${table.length} exceptions, ${findings.length} findings`)
}

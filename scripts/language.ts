/**
 * Checks the rules on language that a machine can check: lines of at most 120 columns, doc comments that begin with a
 * verb or a noun, words that hide an actor, a summary at the head of each internal file, and type names that exist once
 * in a package.
 *
 * - `node scripts/language.ts` fails if a file has more findings than `scripts/language/baseline.tsv` allows. A file
 *   that is not listed there may have been moved: it fails only if the sum of all findings rises.
 * - `node scripts/language.ts --list packages/session/src` prints every finding under these paths.
 * - `node scripts/language.ts --update` lowers the baseline to the real counts, and removes exceptions that match
 *   nothing. The sum of all counts never rises.
 */
import { parseArgs } from "node:util"
import { orExit } from "./commandLine.ts"
import { type Baseline, baselineFile, readBaseline, writeBaseline } from "./language/baseline.ts"
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
const baseline = readBaseline()
const counts = new Map<string, number>()
for (const { file } of findings) counts.set(file, (counts.get(file) ?? 0) + 1)
const sum = (count: Baseline): number => Array.from(count.values()).reduce((total, one) => total + one, 0)
const slack = Array.from(baseline).filter(([file, allowed]) => allowed > (counts.get(file) ?? 0))
// A file without an entry may have been moved, so that the sum decides.
const unlisted = sum(counts) > sum(baseline) ? 0 : Infinity
const excess = Array.from(counts).filter(([file, count]) => count > (baseline.get(file) ?? unlisted))

/** The greatest number of files, and of findings of one file, that a check prints. */
const shown = 10
const names = (): string => excess.slice(0, shown).map(([file]) => file).join(", ")

const print = ({ file, line, message, rule, subject }: Finding): void =>
  console.log(`${file}:${line} ${rule}: ${message}\n    ${subject.trim()}`)

if (list) {
  findings.forEach(print)
  console.log(`${findings.length} findings`)
} else if (update && sum(counts) > sum(baseline)) {
  console.log(
    `the baseline only falls: ${sum(counts)} findings exist, and ${baselineFile} allows ${sum(baseline)}; ` +
      `mend new findings, such as in ${names()}`
  )
  process.exitCode = 1
} else if (update) {
  writeBaseline(counts)
  writeExceptions(table.filter((exception) => !stale.includes(exception)))
  console.log(`${sum(baseline) - sum(counts)} findings fewer, ${stale.length} exceptions fewer; ${sum(counts)} left`)
} else {
  for (const [file, count] of excess.slice(0, shown)) {
    findings.filter((finding) => finding.file === file).slice(0, shown).forEach(print)
    const more = count > shown ? `; all of them: node scripts/language.ts --list ${file}` : ""
    console.log(`${file}: ${count} findings, ${baseline.get(file) ?? 0} allowed${more}\n`)
  }
  if (excess.length > shown) console.log(`${excess.length - shown} more files have too many findings\n`)
  for (const { line, row } of stale) {
    console.log(`${exceptionsFile}:${line} matches no finding; remove it: ${row.replaceAll("\t", " | ")}`)
  }
  if (excess.length > 0 || stale.length > 0) {
    console.log("to list the findings of a path: node scripts/language.ts --list path")
    console.log("to remove exceptions that match nothing: node scripts/language.ts --update")
    process.exitCode = 1
  }
  if (slack.length > 0) {
    console.log(
      `notice: ${slack.length} entries of ${baselineFile} are too high; run node scripts/language.ts --update`
    )
  }
  console.log(
    `${checked.length} files checked, ${table.length} exceptions, ${
      sum(counts)
    } findings left to mend in ${counts.size} files`
  )
}

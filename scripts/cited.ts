/**
 * Checks that the tests, files and entries that pages name exist.
 *
 * `node scripts/cited.ts` looks for each `….test.ts` that a page names, for the file and the heading of each link into
 * the repository, and for each entry of a package, such as `@effect-mcp/server/node`. It prints those that do not exist
 * as `file:line message`, and fails if there are any. The changelog names entries of earlier versions.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { pageOfFile } from "./addresses.ts"
import { anchorOf } from "./anchors.ts"
import { files, packages, read, root } from "./workspace.ts"

const tests = files("packages/*/test/**/*.test.ts")
const pages = [...files("*.md"), ...files("docs/**/*.md"), ...files("packages/*/*.md")]

/** Returns the anchors of a page, duplicates aside. */
const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set(
    read(page).replaceAll(/^```.*?^```$/gms, "").split("\n").flatMap((line) => {
      const [, heading] = /^#{1,6} (.*)$/.exec(line) ?? []
      return heading === undefined
        ? []
        : [anchorOf(heading)]
    })
  )

const missingTests = (line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/`(\w[\w/.]*\.test\.ts)`/g), ([, name = ""]) => name)
    .filter((name) => !tests.some((test) => test.endsWith(`/${name}`)))
    .map((name) => `${name} is no test`)

const entries = new Set(
  packages.flatMap(({ manifest: { exports = {}, name } }) => [
    name,
    ...Object.keys(exports).map((entry) => path.posix.join(name, entry))
  ])
)

const missingEntries = (page: string, line: string): ReadonlyArray<string> =>
  page === "CHANGELOG.md"
    ? []
    : Array.from(line.matchAll(/`(@effect-mcp\/[\w/-]+)`/g), ([, name = ""]) => name)
      .filter((name) => !entries.has(name))
      .map((name) => `${name} is no entry`)

const missingTargets = (page: string, line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/\]\(([^)\s]+)\)/g), ([, link = ""]) => link).flatMap((link) => {
    const isOwn = link.startsWith(pageOfFile)
    if (!isOwn && /^[a-z]+:/.test(link)) return []
    const [target = "", anchor] = (isOwn ? link.slice(pageOfFile.length) : link).split("#")
    const file = isOwn ? target : target === "" ? page : path.posix.join(path.posix.dirname(page), target)
    const found = fs.statSync(path.join(root, file), { throwIfNoEntry: false })
    if (found === undefined) return [`${link} leads to no file`]
    if (anchor === undefined) return []
    // GitHub shows the README of a folder.
    const shown = found.isDirectory() ? path.posix.join(file, "README.md") : file
    return anchorsOf(shown).has(anchor) ? [] : [`${link} leads to no heading`]
  })

/** Replaces code by empty lines, because a bracket in it is no link. */
const withoutCode = (text: string): string =>
  text.replaceAll(/^```.*?^```$/gms, (block) => block.replaceAll(/[^\n]/g, ""))

const missing = pages.flatMap((page) => {
  const prose = withoutCode(read(page)).split("\n")
  return read(page).split("\n").flatMap((line, index) =>
    [...missingTests(line), ...missingEntries(page, line), ...missingTargets(page, prose[index] ?? "")].map((message) =>
      `${page}:${index + 1} ${message}`
    )
  )
})

for (const message of missing) console.log(message)
if (missing.length > 0) process.exitCode = 1
else console.log(`all tests, files and entries that ${pages.length} pages name exist`)

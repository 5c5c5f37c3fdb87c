/**
 * Checks that the tests which pages cite exist.
 *
 * `node scripts/cited.ts` looks for each `….test.ts` that a page names. It prints each one that does not exist as
 * `file:line message`, and fails if there is one.
 */
import { files, read } from "./workspace.ts"

const tests = files("packages/*/test/**/*.test.ts")
const pages = [...files("*.md"), ...files("docs/**/*.md"), ...files("packages/*/*.md")]

const missing = pages.flatMap((page) =>
  read(page).split("\n").flatMap((line, index) =>
    Array.from(line.matchAll(/`([\w/]+\.test\.ts)`/g), ([, name = ""]) => name)
      .filter((name) => !tests.some((test) => test.endsWith(`/${name}`)))
      .map((name) => `${page}:${index + 1} the cited test ${name} does not exist`)
  )
)

for (const message of missing) console.log(message)
if (missing.length > 0) process.exitCode = 1
else console.log(`all tests that ${pages.length} pages cite exist`)

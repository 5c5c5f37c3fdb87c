/**
 * Checks that the navigation of the documentation site (`packages/site/src/navigation.ts`) has each page of `docs`
 * once, and only pages that exist. Decisions have an index of their own.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { entries } from "../packages/site/src/navigation.ts"
import { files, root } from "./workspace.ts"

const pages = files("docs/**/*.md").filter((file) => !/^docs\/decisions\/\d/.test(file))
const named = entries.map(({ file }) => file)

const problems = [
  ...pages.filter((page) => !named.includes(page)).map((page) => `${page} is in no group of the navigation`),
  ...named.filter((file, index) => named.indexOf(file) !== index).map((file) => `${file} is in the navigation twice`),
  ...named.filter((file) => !fs.existsSync(path.join(root, file))).map((file) => `${file} is in the navigation only`)
]
for (const problem of problems) console.log(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(`${named.length} pages are in the navigation`)

/**
 * Builds the documentation site: `pnpm docs:build`. It reads files of this repository only, and writes
 * `packages/site/dist/site`. `pnpm docs:preview` serves it on the loopback address.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { build } from "vitepress"
import { site } from "../../../scripts/addresses.ts"
import { files, read, root } from "../../../scripts/workspace.ts"
import { deadLinks, foreignLoads, readSite } from "./built.ts"
import { homePage } from "./home.ts"
import { withSiteLinks } from "./links.ts"
import { writeModels } from "./models.ts"
import { exists, groups, output, pages, stage } from "./places.ts"
import { stageModules, stagePackages } from "./reference.ts"

/** Returns the link from one page to another one, as VitePress reads it. */
const relativeTo = (from: string) => (page: string): string => {
  const relative = path.posix.relative(path.posix.dirname(from), page)
  return relative.startsWith(".") ? relative : `./${relative}`
}

const images = files("docs/**/*.{svg,png}")

/** The places of the pages that VitePress reads. Images keep their paths as well. */
const targets = new Map([...pages, ...images.map((file) => [file, file.slice("docs/".length)] as const)])

const withPageLinks = (file: string, text: string): string =>
  withSiteLinks(file, text, {
    pageOf: (linked) => targets.get(linked),
    exists,
    linkTo: relativeTo(pages.get(file) ?? file)
  })

const write = (page: string, text: string): void => {
  const file = path.join(stage, page)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}

const started = performance.now()
const report = (step: string): void => console.log(`${step}: ${((performance.now() - started) / 1000).toFixed(1)} s`)

fs.rmSync(stage, { recursive: true, force: true })
fs.rmSync(output, { recursive: true, force: true })
for (const { pages: staged } of groups) {
  for (const { file, page } of staged) {
    const text = withPageLinks(file, read(file))
    // The link to the editor assumes a page of `docs`.
    const frontmatter = file === `docs/${page}` ? "" : "---\neditLink: false\n---\n\n"
    write(page, page === "index.md" ? homePage(text) : `${frontmatter}${text}`)
  }
}
for (const image of images) {
  const copy = path.join(stage, image.slice("docs/".length))
  fs.mkdirSync(path.dirname(copy), { recursive: true })
  fs.copyFileSync(path.join(root, image), copy)
}
stagePackages(withPageLinks)
report("pages")
await stageModules()
report("reference")
await build(path.join(root, "packages/site"))
writeModels()
report("site")

const built = readSite(output)
const problems = [
  ...foreignLoads(built),
  ...deadLinks(built, new URL(site).pathname, (file) => fs.existsSync(path.join(output, file)))
]
for (const problem of problems) console.log(problem)
if (problems.length > 0) process.exitCode = 1
report(`${built.filter(({ file }) => file.endsWith(".html")).length} pages checked`)

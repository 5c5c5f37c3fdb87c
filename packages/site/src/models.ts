/**
 * The documentation for language models: a Markdown file beside each page, a list of the pages (`llms.txt`), and all
 * pages in one file (`llms-full.txt`). The reference is left out: the packages have their types and doc comments.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { site } from "../../../scripts/addresses.ts"
import { read } from "../../../scripts/workspace.ts"
import { withSiteLinks } from "./links.ts"
import { addressOf, exists, groups, output, pages } from "./places.ts"

/** Returns the address of the Markdown of a page. */
const markdownOf = (page: string): string => `${site}${page}`

const places = {
  pageOf: (file: string) => pages.get(file),
  exists,
  linkTo: (page: string) => page.startsWith("reference/") ? `${site}${addressOf(page)}` : markdownOf(page)
}

/** Returns the first paragraph of a page as plain text. */
const summaryOf = (text: string): string => {
  const paragraph = text.split(/\n{2,}/).find((block) => /^(?!```)[A-Za-z`_[]/.test(block)) ?? ""
  return paragraph.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll(/\s+/g, " ").replace(/(?<=[a-z)`]\.) .*$/, "")
}

/** Writes the files for models into the site. */
export const writeModels = (): void => {
  const full: Array<string> = []
  const list = groups.map(({ job, pages: listed, title }) => {
    const rows = listed.map(({ file, page, title: name }) => {
      const text = withSiteLinks(file, read(file), places)
      const written = path.join(output, page)
      fs.mkdirSync(path.dirname(written), { recursive: true })
      fs.writeFileSync(written, text)
      full.push(text)
      return `- [${name}](${markdownOf(page)}): ${summaryOf(text)}`
    })
    return `## ${title}\n\n${job}.\n\n${rows.join("\n")}\n`
  })
  const head = "# Effect MCP\n\n" +
    "> Servers and clients of the Model Context Protocol for programs written with Effect 4.\n\n" +
    `All pages in one file: ${site}llms-full.txt. Each package has an AGENTS.md with what a program has to know.\n`
  fs.writeFileSync(path.join(output, "llms.txt"), `${head}\n${list.join("\n")}`)
  fs.writeFileSync(path.join(output, "llms-full.txt"), full.join("\n\n"))
}

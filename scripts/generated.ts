/** Generated blocks of a page, between `<!-- generated: name -->` and `<!-- /generated -->`. */
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import { root } from "./workspace.ts"

const closing = "<!-- /generated -->"

/** Returns the page with another text in a block. Throws if the page has no such block. */
export const replaced = (page: string, name: string, text: string): string => {
  const opening = `<!-- generated: ${name} -->`
  const start = page.indexOf(opening)
  const end = page.indexOf(closing, start)
  const next = page.indexOf("<!-- generated:", start + opening.length)
  // Without the last condition, a block that is never closed would swallow the text up to the end of the next block.
  if (start < 0 || end < 0 || (next >= 0 && next < end)) {
    throw new Error(`the pair ${opening} and ${closing} is missing on the page`)
  }
  return `${page.slice(0, start)}${opening}\n\n${text.trim()}\n\n${page.slice(end)}`
}

/** Formats the Markdown of a page as `dprint check` demands it. */
export const formatted = (page: string, markdown: string): string => {
  const dprint = path.join(root, "node_modules", "dprint", "bin.cjs")
  const { error, status, stderr, stdout } = spawnSync(process.execPath, [dprint, "fmt", "--stdin", page], {
    cwd: root,
    encoding: "utf8",
    input: markdown
  })
  if (status !== 0) throw new Error(`dprint failed: ${error?.message ?? stderr}`)
  return stdout
}

/** Returns a table in Markdown. */
export const table = (
  head: ReadonlyArray<string>,
  body: ReadonlyArray<ReadonlyArray<string | number>>
): string => [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

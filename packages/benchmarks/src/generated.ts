/** Generated blocks of a page, between `<!-- generated: name -->` and `<!-- /generated -->`. */

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

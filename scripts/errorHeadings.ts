/**
 * The texts of errors that head the sections of the pages on troubleshooting. A test makes each error, and compares its
 * text with the heading. `…` in a heading stands for any text.
 */
import { read } from "./workspace.ts"

const pages = ["docs/troubleshooting/errors.md", "docs/troubleshooting/errors-of-calls.md"]

/** The headings of all errors, as they are written. */
export const headings: ReadonlyArray<string> = pages.flatMap((page) =>
  Array.from(read(page).matchAll(/^### (.*)$/gm), ([, heading = ""]) => heading.replace(/^`(.*)`$/, "$1"))
)

/** Returns whether a heading stands for this text. */
const standsFor = (heading: string, text: string): boolean => {
  const parts = heading.split("…").map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&"))
  return new RegExp(`^${parts.join("[^]+")}$`).test(text)
}

/** Returns the heading under which a reader finds this text: the longest one that stands for it. */
export const headingOf = (text: string): string | undefined =>
  headings.filter((heading) => standsFor(heading, text)).toSorted((one, other) => other.length - one.length)[0]

/**
 * The texts of errors that head the sections of the pages on troubleshooting. A test makes each error, and compares its
 * text with the heading. `…` in a heading stands for any text.
 */
import { read } from "./workspace.ts"

/** Returns the headings of the errors of a page, as they are written. */
const headingsOf = (page: string): ReadonlyArray<string> =>
  Array.from(
    read(`docs/troubleshooting/${page}`).matchAll(/^### (.*)$/gm),
    ([, heading = ""]) => heading.replace(/^`(.*)`$/, "$1")
  )

/** The errors of running programs. */
export const headings: ReadonlyArray<string> = [...headingsOf("errors.md"), ...headingsOf("errors-of-calls.md")]

/** The errors of the compiler. */
export const typeHeadings: ReadonlyArray<string> = headingsOf("type-errors.md")

/** Returns whether a heading stands for this text. */
export const standsFor = (heading: string, text: string): boolean => {
  const parts = heading.split("…").map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&"))
  return new RegExp(`^${parts.join("[^]*")}$`).test(text)
}

/** Returns the heading under which a reader finds the text of an error: the longest one that stands for it. */
export const headingOf = (text: string): string | undefined =>
  headings.filter((heading) => standsFor(heading, text)).toSorted((one, other) => other.length - one.length)[0]

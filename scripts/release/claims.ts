/** Sentences of pages that are wrong once the packages are on the registry of npm. */

/** A file of the repository. */
export interface Page {
  readonly file: string
  readonly text: string
}

const claims = [/\bnot on npm yet\b/i, /^\|? *published on npm *\| *\[?not yet\b/]

/** Returns the places that say that the packages are not published, each as a file and a line. */
export const unpublished = (pages: ReadonlyArray<Page>): ReadonlyArray<string> =>
  pages.flatMap(({ file, text }) =>
    text.split("\n").flatMap((line, index) => claims.some((claim) => claim.test(line)) ? [`${file}:${index + 1}`] : [])
  )

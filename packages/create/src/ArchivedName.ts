/**
 * The names of files of templates in the archive of this package. npm leaves out each `.gitignore`, and checkers of
 * packages take each `package.json` for one that Node reads.
 */
const archived = new Map([[".gitignore", "_gitignore"], ["package.json", "_package.json"]])

const original = new Map(Array.from(archived, ([name, inArchive]) => [inArchive, name]))

/** Returns the name in the archive of a file. */
export const of = (name: string): string => archived.get(name) ?? name

/** Returns the name in a project of a file of the archive. */
export const originalOf = (name: string): string => original.get(name) ?? name

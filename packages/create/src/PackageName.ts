/** The names that npm accepts for packages. */
import * as path from "node:path"

const longest = 214

/** One part of a name: the scope without its `@`, or the rest. */
const part = /^[a-z\d~-][a-z\d._~-]*$/

const reserved: ReadonlySet<string> = new Set(["node_modules", "favicon.ico"])

/** Returns why npm does not accept a name, or `undefined` if it does. */
export const problemOf = (name: string): string | undefined => {
  if (name.length > longest) return `it has ${name.length} characters, and npm accepts ${longest}`
  if (reserved.has(name)) return "it is reserved"
  const parts = name.startsWith("@") ? name.slice(1).split("/") : [name]
  return parts.length === (name.startsWith("@") ? 2 : 1) && parts.every((one) => part.test(one))
    ? undefined
    : "npm accepts lower-case letters, digits, \"-\", \"_\" and \".\", and neither \".\" nor \"_\" at the beginning"
}

/** Returns a name without its scope. */
export const withoutScope = (name: string): string => name.replace(/^@[^/]*\//, "")

/** Returns the name of a project in a folder, if it is given no other. */
export const ofFolder = (folder: string): string => path.basename(path.resolve(folder))

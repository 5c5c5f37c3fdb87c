/**
 * Checks that every declaration that users can import has a doc comment, with an example if it can be called or
 * composed. A schema with the name of its type needs none: the doc comment of the type describes both.
 *
 * `node scripts/documented.ts` prints each declaration without one, and fails if there is any. It also finds comments
 * with a line that does not begin with an asterisk, and a deprecated name without a successor. Types, schemas,
 * constants and metrics need no example. Their `@category` distinguishes these values from others, such as Layers.
 * Functions and classes always need an example. The comment at the head of a module states its stability, by the words
 * of Effect, which the page Versions explains.
 */
import * as path from "node:path"
import { type Export, parse } from "./syntax.ts"
import { internalEntries, libraries, publicModules, read } from "./workspace.ts"

const selfExplanatory: ReadonlySet<string | undefined> = new Set(["schemas", "constants", "metrics"])

const needsExample = ({ comment = "", kind }: Export): boolean =>
  kind === "callable" ||
  (kind === "value" && !selfExplanatory.has(/^ \* @category (\w+)$/m.exec(comment)?.[1]))

/** Returns whether the declaration is the schema of a type of the same name, whose doc comment describes both. */
const isSchemaOfType = ({ comment, kind, name }: Export, others: ReadonlyArray<Export>): boolean =>
  comment === undefined && kind === "value" && others.some((other) => other.name === name && other.kind === "type")

const problemOf = (declaration: Export, others: ReadonlyArray<Export>): string | undefined => {
  const { comment } = declaration
  if (isSchemaOfType(declaration, others)) return undefined
  if (comment === undefined) {
    return "has no doc comment directly above it"
  }
  if (!comment.split("\n").slice(1).every((line) => line.trimStart().startsWith("*"))) {
    return "has a line without an asterisk in its doc comment"
  }
  // A deprecated name lives for one minor version, in which a program can move to its successor.
  if (/@deprecated(?![^@]*\buse `)/i.test(comment)) return "is deprecated without a successor, such as: use `another`"
  return needsExample(declaration) && !/^ \* @example\n \* ```ts$/m.test(comment)
    ? "has no example in its doc comment"
    : undefined
}

const documented = libraries.flatMap(publicModules).filter((file) =>
  !internalEntries.has(path.posix.basename(file, ".ts"))
)
const exported = documented.flatMap((file) => {
  const { exports } = parse(file, read(file))
  return exports.map((declaration) => ({ file, ...declaration, problem: problemOf(declaration, exports) }))
})
/** Returns whether the comment at the head of a module states how stable the module is. */
const hasStability = (file: string): boolean =>
  /^ \* @stability (?:stable|unstable|experimental)$/m.test(/^\/\*\*[\s\S]*?\*\//.exec(read(file))?.[0] ?? "")

let problems = 0
for (const file of documented.filter((one) => !hasStability(one))) {
  problems++
  console.log(`${file}:1 has no tag such as "@stability unstable" in the comment at its head`)
}
for (const { problem, ...declaration } of exported) {
  if (problem !== undefined) {
    problems++
    console.log(`${declaration.file}:${declaration.line} ${declaration.name} ${problem}`)
  }
}
if (problems > 0) {
  process.exitCode = 1
} else {
  console.log(
    `${documented.length} modules with a stability, ${exported.length} exports documented, ${
      exported.filter((one) => one.comment !== undefined && needsExample(one)).length
    } with an example`
  )
}

/** The names of libraries that a program uses: a measure of what its reader has to know. */
import { parseAst } from "rolldown/parseAst"
import { children, descendants, isNode, type Node } from "../syntax.ts"

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && typeof node["name"] === "string" ? node["name"] : undefined

/** Returns the names that a module imports from packages, those of Node left out. */
const importedIn = (program: Node): ReadonlySet<string> =>
  new Set(
    children(program["body"]).filter(({ source, type }) =>
      type === "ImportDeclaration" && isNode(source) && !/^(?:node:|\.)/.test(String(source["value"]))
    ).flatMap(({ specifiers }) => children(specifiers).flatMap(({ local }) => nameOf(local) ?? []))
  )

/**
 * Returns the different names of packages that a module uses. A member of an imported name counts as one name, such as
 * `Effect.map` and `z.object`, and so does an imported name that is used by itself.
 */
export const usedNames = (source: string): ReadonlySet<string> => {
  const program: unknown = parseAst(source, { lang: "ts" })
  if (!isNode(program)) return new Set()
  const imported = importedIn(program)
  const used = new Set<string>()
  // The parts of members, which are no uses of a name by itself.
  const parts = new Set<unknown>()
  for (const { left, object, property, right, type } of descendants(program)) {
    if (type !== "MemberExpression" && type !== "TSQualifiedName") continue
    const [whole, part] = type === "MemberExpression" ? [object, property] : [left, right]
    const [owner, member] = [nameOf(whole), nameOf(part)]
    parts.add(part)
    if (owner === undefined || member === undefined || !imported.has(owner)) continue
    used.add(`${owner}.${member}`)
    parts.add(whole)
  }
  const body = children(program["body"]).filter(({ type }) => type !== "ImportDeclaration")
  for (const node of descendants(body)) {
    const name = nameOf(node)
    if (node.type === "Identifier" && name !== undefined && imported.has(name) && !parts.has(node)) used.add(name)
  }
  return used
}

/**
 * Comments and string literals of a TypeScript module: the parts that contain prose.
 */
import { parseAst } from "rolldown/parseAst"
import { descendants, type Node } from "../syntax.ts"

/** A comment or a literal, with the offset at which its text starts in the module. */
export interface Prose {
  readonly kind: "comment" | "literal"
  readonly start: number
  readonly text: string
}

const isLiteral = (node: Node): boolean =>
  node.type === "TemplateElement" || (node.type === "Literal" && (typeof node["value"] === "string" || "regex" in node))

const comment = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

/** Returns the comments and literals of a module, in the order of their kinds. */
export const proseOf = (file: string, module: string): ReadonlyArray<Prose> => {
  const literals = Array.from(descendants(parseAst(module, { lang: "ts" }, file))).filter(isLiteral)
  // The parser returns no comments. With all literals blanked out, a pattern finds them.
  let code = ""
  for (const { end, start } of literals.toSorted((one, other) => one.start - other.start)) {
    code += module.slice(code.length, start) + " ".repeat(end - start)
  }
  code += module.slice(code.length)
  return [
    ...Array.from(code.matchAll(comment), ({ 0: { length }, index }): Prose => ({
      kind: "comment",
      start: index,
      text: module.slice(index, index + length)
    })),
    ...literals.filter((node) => !("regex" in node)).map(({ end, start }): Prose => ({
      kind: "literal",
      start,
      text: module.slice(start, end)
    }))
  ]
}

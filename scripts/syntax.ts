/**
 * The syntax tree of a TypeScript module, and the imports and exports that it has.
 *
 * TypeScript 7 has no JavaScript API, so this module uses the parser of Rolldown, which loads fast.
 */
import { parseAst } from "rolldown/parseAst"

/** The name of another module in any import: `import`, `export ... from`, `import("...")`, of a value or a type. */
export interface Import {
  readonly specifier: string
  readonly line: number
  /** Whether the whole import is one of types. */
  readonly isType: boolean
}

/** A declaration that other modules can import. Functions and classes are callable. A type has no code at run time. */
export interface Export {
  readonly name: string
  readonly line: number
  readonly kind: "callable" | "value" | "type"
  /** The doc comment directly above it. */
  readonly comment: string | undefined
}

/** One module, parsed. */
export interface Module {
  readonly imports: ReadonlyArray<Import>
  readonly exports: ReadonlyArray<Export>
}

/** A node of a syntax tree. Its fields are untyped: there are about a hundred types of node, and a check reads few. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** Returns whether a field of a node is a node. */
export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

/** Returns the nodes of a field that is a list. */
export const children = (value: unknown): ReadonlyArray<Node> => Array.isArray(value) ? value.filter(isNode) : []

/** Yields a node and all nodes below it. */
export function* descendants(value: unknown): Generator<Node> {
  if (isNode(value)) {
    yield value
  }
  const inner = isNode(value) ? Object.values(value) : Array.isArray(value) ? value : []
  for (const child of inner) {
    yield* descendants(child)
  }
}

const stringValue = (literal: unknown): string | undefined =>
  isNode(literal) && typeof literal["value"] === "string" ? literal["value"] : undefined

const isMetaResolve = (callee: unknown): boolean =>
  isNode(callee) && callee.type === "MemberExpression" &&
  isNode(callee["object"]) && callee["object"].type === "MetaProperty" &&
  isNode(callee["property"]) && callee["property"]["name"] === "resolve"

/**
 * Returns the specifier of an import. Every form of import has the field `source`. `import.meta.resolve("…")` counts as
 * an import, because the module starts that program.
 */
const specifierOf = (node: Node): string | undefined =>
  node.type === "CallExpression" && isMetaResolve(node["callee"])
    ? stringValue(children(node["arguments"])[0])
    : stringValue(node["source"])

const isOfTypes = ({ exportKind, importKind, type }: Node): boolean =>
  importKind === "type" || exportKind === "type" || type === "TSImportType"

/** Returns the doc comment at the end of a text, unless it is empty. Directives of the linter may follow it. */
const docCommentAtEnd = (text: string): string | undefined => {
  const above = text.replace(/(?:\n[ \t]*\/\/[^\n]*)+\n[ \t]*$/, "\n")
  const comment = above.trimEnd()
  const opening = comment.lastIndexOf("/**")
  // A blank line separates a comment from the code below: the header of a module documents no declaration.
  const adjacent = above.slice(comment.length).split("\n").length <= 2
  return adjacent && opening >= 0 && comment.indexOf("*/", opening + 3) === comment.length - 2 &&
      /\w/.test(comment.slice(opening))
    ? comment.slice(opening)
    : undefined
}

const nameOf = (declaration: Node): string => {
  const [declarator] = children(declaration["declarations"])
  const id = (declarator ?? declaration)["id"]
  return isNode(id) && typeof id["name"] === "string" ? id["name"] : "default"
}

const types = new Set(["TSInterfaceDeclaration", "TSTypeAliasDeclaration"])
const functions = new Set(["FunctionDeclaration", "TSDeclareFunction"])
const callables = new Set([...functions, "ClassDeclaration", "ArrowFunctionExpression", "FunctionExpression"])

/** Returns the kind of a declaration. A constant is callable if its value or its declared type is a function. */
const kindOf = ({ declaration, exportKind }: Node): Export["kind"] => {
  if (!isNode(declaration)) {
    return exportKind === "type" ? "type" : "value"
  }
  if (types.has(declaration.type)) {
    return "type"
  }
  const [declarator] = children(declaration["declarations"])
  const set = declarator?.["init"]
  const isCallable = callables.has(declaration.type) || (isNode(set) && callables.has(set.type)) ||
    Array.from(descendants(declarator?.["id"])).some(({ type }) => type === "TSFunctionType")
  return isCallable ? "callable" : "value"
}

/** Returns the declarations that a top-level statement exports. */
const exportedBy = (statement: Node): ReadonlyArray<{ readonly name: string; readonly node: Node }> => {
  if (isNode(statement["declaration"])) {
    return [{ name: nameOf(statement["declaration"]), node: statement }]
  }
  // A name from `internal/`, or one exported apart from its declaration, can be documented only here.
  const from = stringValue(statement["source"])
  return from === undefined || from.includes("/internal/")
    ? children(statement["specifiers"]).flatMap((node) => {
      const exported = node["exported"]
      return isNode(exported) ? [{ name: String(exported["name"] ?? exported["value"]), node }] : []
    })
    : []
}

/** Returns the top-level statements of a module. Throws the parser's error if the text is not TypeScript. */
export const statementsOf = (file: string, text: string): ReadonlyArray<Node> =>
  children(parseAst(text, { lang: "ts" }, file).body)

/** Parses a module. Throws the parser's error if the text is not TypeScript. */
export const parse = (file: string, text: string): Module => {
  const program = statementsOf(file, text)
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length

  const imports = Array.from(descendants(program)).flatMap((node) => {
    const specifier = specifierOf(node)
    return specifier === undefined ? [] : [{ specifier, line: lineAt(node.start), isType: isOfTypes(node) }]
  })

  const exports = new Map<string, Export>()
  for (const statement of program.filter(({ type }) => type.startsWith("Export"))) {
    for (const { name, node } of exportedBy(statement)) {
      // Overloads of a function are one declaration; the first carries the doc comment.
      const key = isFunction(node) ? name : `${name}@${node.start}`
      if (!exports.has(key)) {
        const comment = docCommentAtEnd(text.slice(0, node.start))
        exports.set(key, { name, line: lineAt(node.start), kind: kindOf(node), comment })
      }
    }
  }
  return { imports, exports: Array.from(exports.values()) }
}

const isFunction = ({ declaration }: Node): boolean => isNode(declaration) && functions.has(declaration.type)

/**
 * Places in the sources that survive moving and formatting: a piece of code inside a named declaration.
 *
 * A declaration is named by its module and by the declarations around it, outermost first: `Cancellation.cancel`, or
 * `Sender.Sender.#abandon` for a method of the class `Sender` in `Sender.ts`. Declarations in the middle may be left
 * out, as in `Sender.#abandon`. The folder of the module is no part of the name. The piece is compared token by token.
 */
import * as path from "node:path"
import { isNode, type Node, statementsOf } from "./syntax.ts"
import { type Token, tokensOf } from "./tokens.ts"

/** A piece of code in a declaration. */
export interface Place {
  /** The name of the declaration: `Sender.#abandon`. */
  readonly at: string
  /** A text whose tokens occur exactly once in the declarations with this name. */
  readonly original: string
}

/** The text of a place in a file. */
export interface Range {
  readonly file: string
  readonly start: number
  readonly end: number
}

/** A source file. */
export interface Source {
  readonly file: string
  readonly text: string
}

interface Declaration {
  /** The names of the declarations around it, and its own. */
  readonly path: ReadonlyArray<string>
  /** Whether it is a module or a class, which hold the declarations of functions. */
  readonly isScope: boolean
  readonly start: number
  readonly end: number
}

const keyed = new Set(["MethodDefinition", "PropertyDefinition", "AccessorProperty"])
const bodies = new Set(["ArrowFunctionExpression", "FunctionExpression", "ObjectExpression", "ArrayExpression"])
const named = new Set(["FunctionDeclaration", "ClassDeclaration", "VariableDeclarator", "FunctionExpression"])

/** Returns the name that a node declares, if any. */
const nameOf = (node: Node): string | undefined => {
  const isProperty = node.type === "Property" && isNode(node["value"]) && bodies.has(node["value"].type)
  const isKeyed = (keyed.has(node.type) || isProperty) && node["computed"] !== true
  const field = isKeyed ? node["key"] : named.has(node.type) ? node["id"] : undefined
  if (!isNode(field)) return undefined
  const name = field["name"] ?? field["value"]
  return typeof name !== "string" ? undefined : field.type === "PrivateIdentifier" ? `#${name}` : name
}

function* declarationsIn(value: unknown, around: ReadonlyArray<string>): Generator<Declaration> {
  const name = isNode(value) ? nameOf(value) : undefined
  const path = name === undefined ? around : [...around, name]
  if (isNode(value) && name !== undefined) {
    yield { path, isScope: value.type === "ClassDeclaration", start: value.start, end: value.end }
  }
  const inner = isNode(value) ? Object.values(value) : Array.isArray(value) ? value : []
  for (const child of inner) yield* declarationsIn(child, path)
}

/** A source file with its tokens and declarations, which are computed when they are needed. */
class Module {
  readonly file: string
  readonly text: string
  readonly name: string
  #tokens: ReadonlyArray<Token> | undefined
  #declarations: ReadonlyArray<Declaration> | undefined

  constructor({ file, text }: Source) {
    this.file = file
    this.text = text
    this.name = path.posix.basename(file, ".ts")
  }

  get tokens(): ReadonlyArray<Token> {
    return this.#tokens ??= tokensOf(this.text)
  }

  /** The module itself, and all declarations in it, each before those that it contains. */
  get declarations(): ReadonlyArray<Declaration> {
    return this.#declarations ??= [
      { path: [this.name], isScope: true, start: 0, end: this.text.length },
      ...declarationsIn(statementsOf(this.file, this.text), [this.name])
    ]
  }

  /** Returns where a sequence of tokens occurs. */
  occurrences(piece: ReadonlyArray<Token>): ReadonlyArray<Range> {
    const { file, tokens } = this
    return tokens.flatMap(({ start }, index) => {
      const last = tokens[index + piece.length - 1]
      return last !== undefined && piece.every(({ text }, offset) => tokens[index + offset]?.text === text)
        ? [{ file, start, end: last.end }]
        : []
    })
  }
}

/** Returns whether a path has the given names in this order, with the same first and the same last name. */
const isNamed = (path: ReadonlyArray<string>, names: ReadonlyArray<string>): boolean => {
  let found = 0
  for (const name of path) {
    if (name === names[found]) found++
  }
  return found === names.length && path[0] === names[0] && path.at(-1) === names.at(-1)
}

const contains = (outer: { readonly start: number; readonly end: number }, { end, start }: Range): boolean =>
  outer.start <= start && end <= outer.end

/** The source files in which places are found. */
export class Places {
  readonly #modules: ReadonlyArray<Module>

  constructor(sources: Iterable<Source>) {
    this.#modules = Array.from(sources, (source) => new Module(source))
  }

  /** Returns the range of a place, or the reason why it has none. */
  find({ at, original }: Place): Range | { readonly fault: string } {
    const names = at.split(".")
    const modules = this.#modules.filter(({ name }) => name === names[0])
    if (modules.length === 0) return { fault: `no source file is named ${names[0]}.ts` }
    const declarations = modules.flatMap((module) =>
      module.declarations.flatMap((declaration) => isNamed(declaration.path, names) ? [{ module, declaration }] : [])
    )
    if (declarations.length === 0) return { fault: `${names[0]}.ts declares no ${names.slice(1).join(".")}` }
    const piece = tokensOf(original)
    if (piece.length === 0) return { fault: "its original text is empty" }
    const found = modules.flatMap((module) =>
      module.occurrences(piece).filter((range) =>
        declarations.some((one) => one.module === module && contains(one.declaration, range))
      )
    )
    const [range] = found
    return range !== undefined && found.length === 1
      ? range
      : { fault: `its original text occurs ${found.length} times in ${at}: ${original}` }
  }

  /** Returns the text of a file in which a range is replaced. */
  replace({ end, file, start }: Range, text: string): string {
    const source = this.#modules.find((module) => module.file === file)?.text ?? ""
    return source.slice(0, start) + text + source.slice(end)
  }

  /**
   * Returns a place with the same piece where the code is now, if the piece occurs once. If it occurs more often, it
   * has to occur once in declarations with the last part of the former name, or once in the former module.
   */
  anchor({ at, original }: Place): Place | undefined {
    const piece = tokensOf(original)
    const names = at.split(".")
    const all = this.#modules.flatMap((module) =>
      module.occurrences(piece).map((range) => ({
        module,
        around: module.declarations.filter((declaration) => contains(declaration, range))
      }))
    )
    const inNamesake = all.filter(({ around }) => around.some(({ path }) => path.at(-1) === names.at(-1)))
    const inModule = all.filter(({ module }) => module.name === names[0])
    const found = [all, inNamesake, inModule].find(({ length }) => length === 1)?.[0]
    if (found === undefined) return undefined
    const { around, module } = found
    // Functions and members are preferred to classes, and outer functions to inner ones: their names are stable.
    return [...around.filter(({ isScope }) => !isScope), ...around.filter(({ isScope }) => isScope).toReversed()]
      .flatMap(({ path }) => [[module.name, ...path.slice(-1)], path])
      .map((path) => ({ at: path.join("."), original }))
      .find((place) => !("fault" in this.find(place)))
  }
}

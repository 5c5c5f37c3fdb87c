/**
 * Checks that the public packages are free of side effects, as their manifests state by `"sideEffects": false`.
 *
 * A bundler drops a module of such a package if the program uses none of its exports. This changes nothing only if the
 * module does nothing but declare when it is imported. `node scripts/side-effects.ts` prints each place that does more
 * as `file:line message`, and fails if there is any. It reads the syntax: it does not follow calls into functions.
 */
import { children, isNode, type Node, statementsOf } from "./syntax.ts"
import { libraries, publicPackages, read } from "./workspace.ts"

interface Problem {
  readonly file: string
  readonly line: number
  readonly message: string
}

/** Statements without an effect of their own. Types and re-exports have other prefixes. */
const declarations = new Set(["ClassDeclaration", "FunctionDeclaration", "ImportDeclaration", "VariableDeclaration"])

const isDeclaration = ({ type }: Node): boolean => declarations.has(type) || /^(?:Export|TS)/.test(type)

/** Functions, whose bodies run later. */
const functions = new Set(["ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression"])

const isCalledAtOnce = (node: Node): boolean =>
  node.type === "CallExpression" && isNode(node["callee"]) && functions.has(node["callee"].type)

/** Yields the nodes that run when the module is imported: all but the bodies of functions and of instance fields. */
function* evaluated(value: unknown): Generator<Node> {
  if (isNode(value)) {
    if (functions.has(value.type) || value.type.startsWith("TSType")) return
    yield value
    if (value.type === "PropertyDefinition" && value["static"] !== true) return
    if (isCalledAtOnce(value) && isNode(value["callee"])) yield* evaluated(value["callee"]["body"])
  }
  for (const child of isNode(value) ? Object.values(value) : Array.isArray(value) ? value : []) {
    yield* evaluated(child)
  }
}

const rootOf = (node: unknown): string => {
  if (!isNode(node)) return ""
  return node.type === "MemberExpression" ? rootOf(node["object"]) : String(node["name"] ?? "")
}

/** Objects and functions of the platform whose calls change something outside of the module. */
const platform = new Set([
  "clearTimeout",
  "console",
  "globalThis",
  "process",
  "queueMicrotask",
  "setInterval",
  "setTimeout"
])

const effectOf = (node: Node): string | undefined => {
  switch (node.type) {
    case "AssignmentExpression":
    case "UpdateExpression":
      return "assigns"
    case "AwaitExpression":
      return "awaits"
    case "UnaryExpression":
      return node["operator"] === "delete" ? "deletes" : undefined
    case "CallExpression": {
      const { callee } = node
      const name = isNode(callee) && isNode(callee["property"]) ? String(callee["property"]["name"] ?? "") : ""
      if (platform.has(rootOf(callee))) return `calls ${rootOf(callee)}`
      return /^run(?:Callback|Fork|Main|Promise|Sync)/.test(name) ? `runs an Effect by ${name}` : undefined
    }
    default:
      return undefined
  }
}

const problemsOf = (file: string): ReadonlyArray<Problem> => {
  const text = read(file)
  const found = (node: Node, message: string): Problem => ({
    file,
    line: text.slice(0, node.start).split("\n").length,
    message: `${message} when the module is imported`
  })
  return statementsOf(file, text).flatMap((statement) => {
    if (!isDeclaration(statement)) return [found(statement, `runs a statement (${statement.type})`)]
    if (statement.type === "ImportDeclaration") {
      return children(statement["specifiers"]).length === 0
        ? [found(statement, "imports a module for its effects")]
        : []
    }
    return Array.from(evaluated(statement)).flatMap((node) => {
      const effect = effectOf(node)
      return effect === undefined ? [] : [found(node, effect)]
    })
  })
}

const sources = libraries.flatMap(({ sources }) => sources)
const problems = sources.flatMap(problemsOf)
for (const { file, line, message } of problems) console.log(`${file}:${line} ${message}`)
const unmarked = publicPackages.filter(({ manifest }) => manifest.sideEffects !== false)
for (const { manifestFile } of unmarked) console.log(`${manifestFile} lacks "sideEffects": false`)
if (problems.length > 0 || unmarked.length > 0) {
  process.exitCode = 1
} else {
  console.log(`${sources.length} modules of ${libraries.length} packages only declare`)
}

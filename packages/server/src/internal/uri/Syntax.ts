/**
 * The syntax of URI templates (RFC 6570 section 2).
 */
import * as Result from "effect/Result"
import * as Tokens from "./Tokens.ts"

/** The operator of an expression. A simple expression, such as `{id}`, has none. */
export type Operator = "" | "+" | "#" | "." | "/" | ";" | "?" | "&"

/** A variable in an expression. */
export interface Variable {
  readonly name: string
  readonly operator: Operator
  readonly explode: boolean
  readonly prefix: number | undefined
  readonly optional: boolean
}

/** Text outside of expressions, as it is expanded: characters that no URI has are percent-encoded. */
export interface Literal {
  readonly _tag: "Literal"
  readonly index: number
  readonly text: string
}

/** An expression, such as `{?q,page}`. */
export interface Expression {
  readonly _tag: "Expression"
  readonly index: number
  readonly source: string
  readonly operator: Operator
  readonly variables: ReadonlyArray<Variable>
}

export type Part = Literal | Expression

/** A mistake in a template: where it is, and how to correct it. */
export interface Problem {
  readonly index: number
  readonly problem: string
  readonly advice: string
}

/** The greatest length of a template, in UTF-16 code units. */
export const maxTemplateLength = 1_024

/** The properties of an operator (RFC 6570 appendix A). */
export interface Behaviour {
  /** The text before the first defined variable. */
  readonly first: string
  /** The text between variables. */
  readonly separator: string
  /** Whether the name of a variable precedes its value. */
  readonly named: boolean
  /** The text after the name if the value is empty. */
  readonly ifEmpty: string
  /** Whether reserved characters and triplets in values are copied. */
  readonly allowReserved: boolean
}

const behaviour = (
  first: string,
  separator: string,
  named: boolean,
  ifEmpty: string,
  allowReserved: boolean
): Behaviour => ({ first, separator, named, ifEmpty, allowReserved })

/** The behaviour of each operator. */
export const behaviours: { readonly [operator in Operator]: Behaviour } = {
  "": behaviour("", ",", false, "", false),
  "+": behaviour("", ",", false, "", true),
  "#": behaviour("#", ",", false, "", true),
  ".": behaviour(".", ".", false, "", false),
  "/": behaviour("/", "/", false, "", false),
  ";": behaviour(";", ";", true, "", false),
  "?": behaviour("?", "&", true, "=", false),
  "&": behaviour("&", "&", true, "=", false)
}

const isOperator = (text: string): text is Operator => text !== "" && Object.hasOwn(behaviours, text)

const fail = (index: number, problem: string, advice: string): Result.Result<never, Problem> =>
  Result.fail({ index, problem, advice })

const varname = /^(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+(?:\.(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+)*$/

const parseVariable = (source: string, operator: Operator, index: number): Result.Result<Variable, Problem> => {
  const explode = source.endsWith("*")
  const colon = source.indexOf(":")
  const name = explode ? source.slice(0, -1) : colon >= 0 ? source.slice(0, colon) : source
  if (explode && colon >= 0) {
    return fail(index, `the variable "${source}" has both ":" and "*"`, "remove one of the two modifiers")
  }
  if (name === "") return fail(index, "a variable has no name", "write a name, such as {id}")
  if (!varname.test(name)) {
    return fail(
      index,
      `"${name}" is no name of a variable`,
      "use letters, digits, \"_\", triplets such as %20, and single dots between them"
    )
  }
  const length = colon < 0 ? undefined : source.slice(colon + 1)
  if (length !== undefined && !/^[1-9][0-9]{0,3}$/.test(length)) {
    return fail(
      index + colon + 1,
      `"${length}" is no length of a prefix`,
      "write a number from 1 to 9999, such as {id:8}"
    )
  }
  return Result.succeed({
    name,
    operator,
    explode,
    prefix: length === undefined ? undefined : Number(length),
    optional: behaviours[operator].first !== ""
  })
}

const parseExpression = (body: string, index: number): Result.Result<Expression, Problem> => {
  const first = body.charAt(0)
  if (body === "") return fail(index, "the expression {} is empty", "write the name of a variable, such as {id}")
  if ("=,!@|".includes(first)) {
    return fail(index + 1, `the operator "${first}" is reserved`, "use one of + # . / ; ? & or none")
  }
  const operator = isOperator(first) ? first : ""
  const variables: Array<Variable> = []
  let at = index + 1 + operator.length
  for (const source of body.slice(operator.length).split(",")) {
    const variable = parseVariable(source, operator, at)
    if (Result.isFailure(variable)) return Result.fail(variable.failure)
    variables.push(variable.success)
    at += source.length + 1
  }
  return Result.succeed({ _tag: "Expression", index, source: `{${body}}`, operator, variables })
}

/** Matches a character that is no literal, and a `%` without a triplet. */
const notLiteral = /[\p{Cc} "<>\\^`|]|%(?![0-9A-Fa-f]{2})|\p{Cs}/u

// The published grammar excludes the apostrophe by mistake; erratum 6937 of RFC 6570 adds it.
const parseLiteral = (text: string, index: number): Result.Result<Literal, Problem> => {
  const brace = text.indexOf("}")
  if (brace >= 0) {
    return fail(index + brace, "a \"}\" has no \"{\" before it", "add the \"{\", or write %7D for the character itself")
  }
  const found = notLiteral.exec(text)
  if (found !== null) {
    const [character] = found
    return character === "%"
      ? fail(
        index + found.index,
        "a \"%\" has no two hexadecimal digits after it",
        "write %25 for the character itself"
      )
      : fail(
        index + found.index,
        `a template cannot contain ${JSON.stringify(character)}`,
        `write ${Tokens.tripletsOf(character)}`
      )
  }
  return Result.succeed({ _tag: "Literal", index, text: Tokens.toAscii(text) ?? text })
}

/** Parses a template into its parts. Two literals never follow each other, and none is empty. */
export const parse = (template: string): Result.Result<ReadonlyArray<Part>, Problem> => {
  if (template.length > maxTemplateLength) {
    return fail(
      maxTemplateLength,
      `the template has ${template.length} characters, more than ${maxTemplateLength}`,
      "shorten it"
    )
  }
  const parts: Array<Part> = []
  let at = 0
  while (at < template.length) {
    const open = template.indexOf("{", at)
    const end = open < 0 ? template.length : open
    if (end > at) {
      const literal = parseLiteral(template.slice(at, end), at)
      if (Result.isFailure(literal)) return Result.fail(literal.failure)
      parts.push(literal.success)
    }
    if (open < 0) break
    const close = template.indexOf("}", open)
    if (close < 0) return fail(open, "a \"{\" has no \"}\" after it", "add the \"}\"")
    const expression = parseExpression(template.slice(open + 1, close), open)
    if (Result.isFailure(expression)) return Result.fail(expression.failure)
    parts.push(expression.success)
    at = close + 1
  }
  return Result.succeed(parts)
}

/**
 * The syntax of URI templates (RFC 6570 section 2).
 */
import * as Result from "effect/Result"
import * as PercentEncoding from "./PercentEncoding.ts"

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
export const maxLength = 1_024

/** The properties of an operator (RFC 6570 appendix A). */
export interface Behaviour {
  /** The text before the first defined variable. */
  readonly first: string
  /** The text between variables. */
  readonly separator: string
  /** The text after the name of a variable with an empty value, or `undefined` for values without names. */
  readonly ifEmpty: string | undefined
  /** Whether reserved characters and triplets in values are copied. */
  readonly allowReserved: boolean
}

/** The behaviour of each operator. */
export const behaviours: { readonly [operator in Operator]: Behaviour } = {
  "": { first: "", separator: ",", ifEmpty: undefined, allowReserved: false },
  "+": { first: "", separator: ",", ifEmpty: undefined, allowReserved: true },
  "#": { first: "#", separator: ",", ifEmpty: undefined, allowReserved: true },
  ".": { first: ".", separator: ".", ifEmpty: undefined, allowReserved: false },
  "/": { first: "/", separator: "/", ifEmpty: undefined, allowReserved: false },
  ";": { first: ";", separator: ";", ifEmpty: "", allowReserved: false },
  "?": { first: "?", separator: "&", ifEmpty: "=", allowReserved: false },
  "&": { first: "&", separator: "&", ifEmpty: "=", allowReserved: false }
}

const isOperator = (text: string): text is Operator => text !== "" && Object.hasOwn(behaviours, text)

const fail = (index: number, problem: string, advice: string): Result.Result<never, Problem> =>
  Result.fail({ index, problem, advice })

const varname = /^(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+(?:\.(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+)*$/

const parseVariable = (source: string, operator: Operator, index: number): Result.Result<Variable, Problem> => {
  const explode = source.endsWith("*")
  const colon = source.indexOf(":")
  const name = explode ? source.slice(0, -1) : colon >= 0 ? source.slice(0, colon) : source
  const length = colon < 0 ? undefined : source.slice(colon + 1)
  if (explode && colon >= 0) {
    return fail(index, `the variable "${source}" has both ":" and "*"`, "remove one of the two modifiers")
  }
  if (name === "") return fail(index, "a variable has no name", "write a name, such as {id}")
  if (!varname.test(name)) {
    const advice = "use letters, digits, \"_\", triplets such as %20, and single dots between them"
    return fail(index, `"${name}" is no name of a variable`, advice)
  }
  if (length !== undefined && !/^[1-9][0-9]{0,3}$/.test(length)) {
    const advice = "write a number from 1 to 9999, such as {id:8}"
    return fail(index + colon + 1, `"${length}" is no length of a prefix`, advice)
  }
  const prefix = length === undefined ? undefined : Number(length)
  return Result.succeed({ name, operator, explode, prefix, optional: behaviours[operator].first !== "" })
}

const parseExpression = (body: string, index: number): Result.Result<Expression, Problem> =>
  Result.gen(function*() {
    const first = body.charAt(0)
    if (body === "") {
      return yield* fail(index, "the expression {} is empty", "write the name of a variable, such as {id}")
    }
    if ("=,!@|".includes(first)) {
      return yield* fail(index + 1, `the operator "${first}" is reserved`, "use one of + # . / ; ? & or none")
    }
    const operator = isOperator(first) ? first : ""
    const variables: Array<Variable> = []
    let at = index + 1 + operator.length
    for (const source of body.slice(operator.length).split(",")) {
      variables.push(yield* parseVariable(source, operator, at))
      at += source.length + 1
    }
    return { _tag: "Expression", index, source: `{${body}}`, operator, variables }
  })

/** Matches a character that is no literal, and a `%` without a triplet. */
const notLiteral = /[\p{Cc} "<>\\^`|}]|%(?![0-9A-Fa-f]{2})|\p{Cs}/u

// The published grammar excludes the apostrophe by mistake; erratum 6937 of RFC 6570 adds it.
const parseLiteral = (text: string, index: number): Result.Result<Literal, Problem> => {
  const found = notLiteral.exec(text)
  if (found === null) return Result.succeed({ _tag: "Literal", index, text: PercentEncoding.encodeReserved(text) })
  const [character] = found
  const at = index + found.index
  const triplet = PercentEncoding.encode(character)
  const advice = `write ${triplet} for the character itself`
  if (character === "}") return fail(at, "a \"}\" has no \"{\" before it", `add the "{", or ${advice}`)
  if (character === "%") return fail(at, "a \"%\" has no two hexadecimal digits after it", advice)
  return fail(at, `a template cannot contain ${JSON.stringify(character)}`, `write ${triplet}`)
}

/** Parses a template into its parts. Two literals never follow each other, and none is empty. */
export const parse = (template: string): Result.Result<ReadonlyArray<Part>, Problem> =>
  Result.gen(function*() {
    const { length } = template
    if (length > maxLength) {
      return yield* fail(maxLength, `the template has ${length} characters, more than ${maxLength}`, "shorten it")
    }
    const parts: Array<Part> = []
    for (const { 0: text, 1: body, 2: end, index } of template.matchAll(/[^{]+|\{([^}]*)(\}?)/g)) {
      if (end === "") return yield* fail(index, "a \"{\" has no \"}\" after it", "add the \"}\"")
      parts.push(yield* (body === undefined ? parseLiteral(text, index) : parseExpression(body, index)))
    }
    return parts
  })

/**
 * The headers that repeat arguments of a tool, in revision 2026-07-28.
 *
 * A property of a tool's input schema asks for one by the annotation `x-mcp-header`.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Excerpt from "../text/Excerpt.ts"
import * as HeaderValue from "./HeaderValue.ts"

type Members = { readonly [name: string]: unknown }

/** A header that repeats one argument. */
export interface ParameterHeader {
  /** The name of the header in lower case, such as `mcp-param-region`. */
  readonly name: string
  /** The names of the properties that lead to the argument. */
  readonly path: ReadonlyArray<string>
  readonly type: "boolean" | "integer" | "string"
}

/** The keyword of the annotation. */
const keyword = "x-mcp-header"

/** The beginning of the names of these headers, in lower case. */
const namePrefix = "mcp-param-"

/** Returns those of the headers of a request that repeat arguments, by their names in lower case. */
export const from = (
  headers: { readonly [name: string]: string | undefined }
): { readonly [name: string]: string } => {
  const found: { [name: string]: string } = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && name.startsWith(namePrefix)) found[name] = value
  }
  return found
}

/** A field name (RFC 9110, section 5.1). */
const token = /^[\w!#$%&'*+.^`|~-]+$/

/** The deepest schema that is read. A deeper one is rejected, because its annotations are not known. */
const maxDepth = 64

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const primitive = (type: unknown): ParameterHeader["type"] | undefined =>
  type === "boolean" || type === "integer" || type === "string" ? type : undefined

/** The keywords whose values are data. An annotation in them means nothing. */
const dataKeywords: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"])

/** The keywords whose value is a record of schemas, with names that the schema chooses. */
const namedSchemas: ReadonlySet<string> = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties"])

/** Collects the headers of a schema, or the first problem. */
class Reader {
  readonly found = new Map<string, ParameterHeader>()
  problem: string | undefined

  /** Reads a schema. `path` is undefined where no chain of `properties` leads to it. */
  schema(schema: unknown, path: ReadonlyArray<string> | undefined, depth: number): void {
    if (this.problem !== undefined || !isMembers(schema)) return
    if (depth > maxDepth) {
      this.problem = `the schema is nested more than ${maxDepth} levels deep`
      return
    }
    if (Object.hasOwn(schema, keyword)) this.#annotation(schema, path)
    for (const [name, value] of Object.entries(schema)) {
      if (name === "properties") this.#named(value, path, depth)
      else if (namedSchemas.has(name)) this.#named(value, undefined, depth)
      else if (Array.isArray(value) && !dataKeywords.has(name)) {
        for (const item of value) this.schema(item, undefined, depth + 1)
      } else if (!dataKeywords.has(name)) this.schema(value, undefined, depth + 1)
    }
  }

  #named(schemas: unknown, path: ReadonlyArray<string> | undefined, depth: number): void {
    if (!isMembers(schemas)) return
    for (const [name, schema] of Object.entries(schemas)) {
      this.schema(schema, path === undefined ? undefined : [...path, name], depth + 1)
    }
  }

  #annotation(schema: Members, path: ReadonlyArray<string> | undefined): void {
    const value = schema[keyword]
    const type = primitive(schema["type"])
    if (typeof value !== "string" || !token.test(value)) {
      this.problem = `${keyword} ${Excerpt.of(JSON.stringify(value))} is not the name of a header`
    } else if (path === undefined || path.length === 0) {
      this.problem = `${keyword} "${value}" is not at a property that "properties" alone lead to`
    } else if (type === undefined) {
      this.problem = `${keyword} "${value}" is at a property whose type is not boolean, integer or string`
    } else {
      const name = `${namePrefix}${value.toLowerCase()}`
      if (this.found.has(name)) this.problem = `${keyword} "${value}" is at two properties`
      this.found.set(name, { name, path, type })
    }
  }
}

/**
 * Returns the headers that the input schema of a tool asks for, or the reason why its annotations are invalid (SHE-21
 * to SHE-23). A client leaves out a tool with invalid annotations (SHE-26).
 */
export const of = (inputSchema: object): Result.Result<ReadonlyArray<ParameterHeader>, string> => {
  const reader = new Reader()
  reader.schema(inputSchema, [], 0)
  return reader.problem === undefined ? Result.succeed([...reader.found.values()]) : Result.fail(reader.problem)
}

/** Returns the argument at a path, or `undefined`. Null counts as absent (SHE-27). */
const argumentAt = (input: unknown, path: ReadonlyArray<string>): unknown => {
  let value = input
  for (const name of path) value = isMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value ?? undefined
}

/** Returns the text of an argument, or none if it is not of the type of its header. */
const textOf = (value: unknown, type: ParameterHeader["type"]): Option.Option<string> => {
  switch (type) {
    case "string":
      return typeof value === "string" ? Option.some(value.toWellFormed()) : Option.none()
    case "boolean":
      return typeof value === "boolean" ? Option.some(String(value)) : Option.none()
    case "integer":
      return Number.isSafeInteger(value) ? Option.some(String(value)) : Option.none()
  }
}

/**
 * Returns the headers of a call with these arguments, by their names (SHE-25). An absent argument has none. Fails with
 * the reason if an argument is not of the type of its header: an integer must be safe (SHE-24).
 */
export const encode = (
  headers: ReadonlyArray<ParameterHeader>,
  input: unknown
): Result.Result<{ readonly [name: string]: string }, string> => {
  const encoded: { [name: string]: string } = {}
  for (const { name, path, type } of headers) {
    const value = argumentAt(input, path)
    if (value === undefined) continue
    const text = textOf(value, type)
    if (Option.isNone(text)) {
      return Result.fail(`the argument "${path.join(".")}" cannot be the header ${name}: it is not of type ${type}`)
    }
    encoded[name] = HeaderValue.encode(text.value)
  }
  return Result.succeed(encoded)
}

/** Tests whether a header has the value of its argument. Integers are equal by value (SHE-29). */
const isEqual = (header: string, text: string, type: ParameterHeader["type"]): boolean =>
  type === "integer" ? /^-?\d+(?:\.0+)?$/.test(header) && Number(header) === Number(text) : header === text

/**
 * Returns the first difference between the headers of a call and its arguments, or `undefined` (SHE-28). Headers of
 * other parameters do not matter.
 */
export const difference = (
  headers: ReadonlyArray<ParameterHeader>,
  received: { readonly [name: string]: string | undefined },
  input: unknown
): string | undefined => {
  for (const { name, path, type } of headers) {
    const value = argumentAt(input, path)
    const header = received[name]
    if (value === undefined) {
      if (header !== undefined) {
        return `the header ${name} is ${Excerpt.name(header)}, and the argument "${path.join(".")}" is absent`
      }
      continue
    }
    if (header === undefined) return `the header ${name} is missing`
    const decoded = HeaderValue.decode(header)
    if (Option.isNone(decoded)) return `the header ${name} has a value that is no text`
    const text = textOf(value, type)
    if (Option.isNone(text) || !isEqual(decoded.value, text.value, type)) {
      const meant = Option.isNone(text) ? `not of type ${type}` : Excerpt.name(text.value)
      return `the header ${name} is ${Excerpt.name(decoded.value)}, and the argument "${path.join(".")}" is ${meant}`
    }
  }
  return undefined
}

/**
 * The fields that a person fills in, one by one: the members of a JSON Schema, be it the input of a tool or the form of
 * an elicitation.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import * as Result from "effect/Result"

/** A value that a field offers. */
export interface Choice {
  readonly value: unknown
  readonly title: string
}

/** The kind of a field. A member that fits no other kind is entered as JSON. */
export type Kind =
  | { readonly _tag: "Boolean" }
  | {
    readonly _tag: "Number"
    readonly isInteger: boolean
    readonly minimum: number | undefined
    readonly maximum: number | undefined
  }
  | {
    readonly _tag: "Text"
    readonly minLength: number | undefined
    readonly maxLength: number | undefined
    readonly format: string | undefined
  }
  | { readonly _tag: "Choice"; readonly choices: ReadonlyArray<Choice> }
  | {
    readonly _tag: "Choices"
    readonly choices: ReadonlyArray<Choice>
    readonly minItems: number | undefined
    readonly maxItems: number | undefined
  }
  | { readonly _tag: "Json"; readonly type: string }

/** A member of an object, as a person sees it. */
export interface Field {
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  readonly isRequired: boolean
  readonly default: unknown
  readonly kind: Kind
}

interface Members {
  readonly [name: string]: unknown
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const listIn = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []
const textIn = (value: unknown): string | undefined => typeof value === "string" ? value : undefined
const numberIn = (value: unknown): number | undefined => typeof value === "number" ? value : undefined

/** The number of references that are followed: a schema may refer to itself. */
const maxDepth = 16

/** Replaces a reference by its definition, joins the parts of `allOf`, and removes the alternative `null`. */
const flattened = (schema: unknown, root: Members, depth = 0): Members => {
  if (!isMembers(schema) || depth > maxDepth) return {}
  const { $ref, allOf, ...own } = schema
  // `#/$defs/Name`, or `#/definitions/Name` in older schemas.
  const [, folder = "", name = ""] = textIn($ref)?.split("/") ?? []
  const definitions = root[folder]
  const target = isMembers(definitions) ? definitions[name] : undefined
  const joined: Members = Object.assign(
    {},
    ...[target, ...listIn(allOf)].map((part) => flattened(part, root, depth + 1)),
    own
  )
  const { anyOf, ...others } = joined
  const alternatives = listIn(anyOf).filter((one) => !(isMembers(one) && one["type"] === "null"))
  return alternatives.length === 1 ? { ...flattened(alternatives[0], root, depth + 1), ...others } : joined
}

/** Returns the choices of a schema with `enum`, or with `oneOf` or `anyOf` of constants. */
const choicesOf = (schema: Members): ReadonlyArray<Choice> => {
  const names = listIn(schema["enumNames"])
  const listed = listIn(schema["enum"]).map((value, index) => ({
    value,
    title: textIn(names[index]) ?? textIn(value) ?? PlainText.json(value)
  }))
  const constants = [...listIn(schema["oneOf"]), ...listIn(schema["anyOf"])]
  const titled = constants.flatMap((one) =>
    isMembers(one) && "const" in one
      ? [{ value: one["const"], title: textIn(one["title"]) ?? textIn(one["const"]) ?? PlainText.json(one["const"]) }]
      : []
  )
  return listed.length > 0 ? listed : titled.length === constants.length ? titled : []
}

const kindOf = (schema: Members, root: Members): Kind => {
  const choices = choicesOf(schema)
  if (choices.length > 0) return { _tag: "Choice", choices }
  const { type } = schema
  switch (type) {
    case "boolean":
      return { _tag: "Boolean" }
    case "number":
    case "integer":
      return {
        _tag: "Number",
        isInteger: type === "integer",
        minimum: numberIn(schema["minimum"]),
        maximum: numberIn(schema["maximum"])
      }
    case "string":
      return {
        _tag: "Text",
        minLength: numberIn(schema["minLength"]),
        maxLength: numberIn(schema["maxLength"]),
        format: textIn(schema["format"])
      }
    case "array": {
      const items = choicesOf(flattened(schema["items"], root))
      if (items.length > 0) {
        const { maxItems, minItems } = schema
        return { _tag: "Choices", choices: items, minItems: numberIn(minItems), maxItems: numberIn(maxItems) }
      }
    }
  }
  return { _tag: "Json", type: textIn(type) ?? "JSON" }
}

/** Returns the fields of an object schema. */
export const of = (schema: object): ReadonlyArray<Field> => {
  const root = flattened(schema, { ...schema })
  const { properties } = root
  const required = listIn(root["required"])
  return Object.entries(isMembers(properties) ? properties : {}).map(([name, property]) => {
    const member = flattened(property, { ...schema })
    return {
      name,
      title: textIn(member["title"]),
      description: textIn(member["description"]),
      isRequired: required.includes(name),
      default: member["default"],
      kind: kindOf(member, { ...schema })
    }
  })
}

/** Returns the kind of a field in words. */
export const describe = ({ kind }: Field): string => {
  switch (kind._tag) {
    case "Boolean":
      return "boolean"
    case "Number":
      return kind.isInteger ? "integer" : "number"
    case "Text":
      return kind.format ?? "string"
    case "Choice":
      return kind.choices.map(({ value }) => PlainText.json(value)).join(" | ")
    case "Choices":
      return `list of ${kind.choices.map(({ value }) => PlainText.json(value)).join(" | ")}`
    case "Json":
      return kind.type
  }
}

const parseJson = (text: string): Result.Result<unknown, string> => {
  try {
    return Result.succeed(JSON.parse(text))
  } catch (error) {
    return Result.fail(`this is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const parseNumber = (
  { isInteger, maximum, minimum }: Extract<Kind, { readonly _tag: "Number" }>,
  text: string
): Result.Result<unknown, string> => {
  const value = text.trim() === "" ? Number.NaN : Number(text)
  if (!Number.isFinite(value)) return Result.fail("enter a number")
  if (isInteger && !Number.isInteger(value)) return Result.fail("enter a whole number")
  if (minimum !== undefined && value < minimum) return Result.fail(`enter a number of at least ${minimum}`)
  if (maximum !== undefined && value > maximum) return Result.fail(`enter a number of at most ${maximum}`)
  return Result.succeed(value)
}

const choose = (choices: ReadonlyArray<Choice>, text: string): Result.Result<unknown, string> => {
  const choice = choices.find(({ title, value }) => value === text || title === text || PlainText.json(value) === text)
  return choice === undefined
    ? Result.fail(`choose one of ${choices.map(({ value }) => PlainText.json(value)).join(", ")}`)
    : Result.succeed(choice.value)
}

/** Returns the value that a person has entered for a field, or what is wrong with it. */
export const parse = ({ kind }: Field, text: string): Result.Result<unknown, string> => {
  switch (kind._tag) {
    case "Boolean":
      return text === "true" || text === "yes"
        ? Result.succeed(true)
        : text === "false" || text === "no"
        ? Result.succeed(false)
        : Result.fail("enter true or false")
    case "Number":
      return parseNumber(kind, text)
    case "Text": {
      // JSON Schema counts characters, not UTF-16 units.
      const { length } = Array.from(text)
      if (kind.minLength !== undefined && length < kind.minLength) {
        return Result.fail(`enter at least ${kind.minLength} characters`)
      }
      return kind.maxLength !== undefined && length > kind.maxLength
        ? Result.fail(`enter at most ${kind.maxLength} characters`)
        : Result.succeed(text)
    }
    case "Choice":
      return choose(kind.choices, text)
    case "Choices": {
      const chosen = Result.all((text === "" ? [] : text.split(",")).map((one) => choose(kind.choices, one.trim())))
      return Result.flatMap(chosen, (values) => checkCount(kind, values.length, values))
    }
    case "Json":
      return parseJson(text)
  }
}

const checkCount = <A>(
  { maxItems, minItems }: Extract<Kind, { readonly _tag: "Choices" }>,
  count: number,
  value: A
): Result.Result<A, string> => {
  if (minItems !== undefined && count < minItems) return Result.fail(`choose at least ${minItems}`)
  return maxItems !== undefined && count > maxItems ? Result.fail(`choose at most ${maxItems}`) : Result.succeed(value)
}

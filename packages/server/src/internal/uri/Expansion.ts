/**
 * The expansion of URI templates (RFC 6570 section 3).
 */
import * as PercentEncoding from "./PercentEncoding.ts"
import { type Behaviour, behaviours, type Expression, type Part, type Variable } from "./Syntax.ts"

/** A value of a variable. An undefined member of a list or a record is left out. */
export type Value =
  | string
  | ReadonlyArray<string | undefined>
  | { readonly [key: string]: string | undefined }

/** The values of variables by name. An absent variable is undefined. */
export interface Values {
  readonly [name: string]: Value | undefined
}

/** A list or a record was given to a variable with a prefix. */
export interface CompositePrefix {
  readonly index: number
  readonly variable: Variable
}

const encode = (text: string, { allowReserved }: Behaviour): string =>
  allowReserved ? PercentEncoding.encodeReserved(text) : PercentEncoding.encode(text)

const hex = "[0-9A-Fa-f]"
const next = `(?:%[89ABab]${hex})`

/** Matches a character, or the triplets of one character in UTF-8. */
const copied = new RegExp(
  `%[CDcd]${hex}${next}?|%[Ee]${hex}${next}{0,2}|%[Ff]${hex}${next}{0,3}|%${hex}{2}|.`,
  "gsu"
)

/** Returns the first characters of a value. Where triplets are copied, those of one character are not separated. */
const prefixOf = (text: string, length: number, { allowReserved }: Behaviour): string => {
  if (text.length <= length) return text
  // A character has at most four triplets.
  const head = text.slice(0, 12 * length)
  return (allowReserved ? head.match(copied) ?? [] : Array.from(head)).slice(0, length).join("")
}

const isList = (value: Value): value is ReadonlyArray<string | undefined> => Array.isArray(value)

const isDefined = <A>(value: A | undefined): value is A => value !== undefined

/** Expands a variable to the texts that the separator of its operator joins: none if it is undefined. */
const expandVariable = (
  { explode, name, prefix }: Variable,
  value: Value,
  behaviour: Behaviour
): ReadonlyArray<string> => {
  const named = (name: string, text: string): string =>
    behaviour.ifEmpty === undefined ? text : text === "" ? name + behaviour.ifEmpty : `${name}=${text}`
  if (typeof value === "string") {
    return [named(name, encode(prefix === undefined ? value : prefixOf(value, prefix, behaviour), behaviour))]
  }
  if (isList(value)) {
    const members = value.filter(isDefined).map((member) => encode(member, behaviour))
    return explode ? members.map((member) => named(name, member)) : members.length === 0 ? [] : [
      named(name, members.join(","))
    ]
  }
  const entries = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [[encode(key, behaviour), encode(member, behaviour)] as const]
  )
  if (!explode) return entries.length === 0 ? [] : [named(name, entries.flat().join(","))]
  return entries.map(([key, member]) => behaviour.ifEmpty === undefined ? `${key}=${member}` : named(key, member))
}

const expandExpression = ({ operator, variables }: Expression, values: Values): string => {
  const behaviour = behaviours[operator]
  const texts = variables.flatMap((variable) => {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined
    return value === undefined ? [] : expandVariable(variable, value, behaviour)
  })
  return texts.length === 0 ? "" : behaviour.first + texts.join(behaviour.separator)
}

/** Returns the first variable with a prefix whose value is a list or a record. */
export const compositePrefix = (parts: ReadonlyArray<Part>, values: Values): CompositePrefix | undefined => {
  for (const part of parts) {
    const variable = part._tag === "Literal" ?
      undefined :
      part.variables.find(({ name, prefix }) =>
        prefix !== undefined && Object.hasOwn(values, name) && typeof values[name] === "object"
      )
    if (variable !== undefined) return { index: part.index, variable }
  }
  return undefined
}

/** Expands a template. */
export const expand = (parts: ReadonlyArray<Part>, values: Values): string =>
  parts.map((part) => part._tag === "Literal" ? part.text : expandExpression(part, values)).join("")

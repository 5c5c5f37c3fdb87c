/**
 * The expansion of URI templates (RFC 6570 section 3).
 */
import { type Behaviour, behaviours, type Expression, type Part, type Variable } from "./Syntax.ts"
import * as Tokens from "./Tokens.ts"

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

/** Matches a character, with its triplet or triplets where they are copied. */
const encodeReserved = (text: string): string => {
  let encoded = ""
  let at = 0
  while (at < text.length) {
    if (Tokens.octetAt(text, at) >= 0) {
      encoded += text.slice(at, at + 3)
      at += 3
    } else {
      const character = String.fromCodePoint(text.codePointAt(at) ?? 0)
      const code = character.charCodeAt(0)
      encoded += Tokens.isUnreserved(code) || Tokens.isReserved(code) ? character : Tokens.tripletsOf(character)
      at += character.length
    }
  }
  return encoded
}

/** Matches a run of characters that an expansion without reserved characters encodes. */
const encoded = /[^A-Za-z0-9\-._~]+/g

const encode = (text: string, { allowReserved }: Behaviour): string =>
  allowReserved ? encodeReserved(text) : text.replaceAll(encoded, Tokens.tripletsOf)

/** Returns the number of triplets that encode one character in UTF-8, from the octet of the first. */
const tripletsOfCharacter = (octet: number): number => octet < 0xc0 ? 1 : octet < 0xe0 ? 2 : octet < 0xf0 ? 3 : 4

/** Returns the number of code units of the character at an index. Triplets of one character are not separated. */
const widthOfCharacter = (text: string, index: number, { allowReserved }: Behaviour): number => {
  const octet = allowReserved ? Tokens.octetAt(text, index) : -1
  if (octet < 0) return (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
  const end = index + 3 * tripletsOfCharacter(octet)
  let at = index + 3
  while (at < end && Tokens.octetAt(text, at) >= 0x80 && Tokens.octetAt(text, at) < 0xc0) at += 3
  return at - index
}

/** Returns the first characters of a value. */
export const prefixOf = (text: string, length: number, behaviour: Behaviour): string => {
  let at = 0
  for (let count = 0; count < length && at < text.length; count++) at += widthOfCharacter(text, at, behaviour)
  return text.slice(0, at)
}

const isList = (value: Value): value is ReadonlyArray<string | undefined> => Array.isArray(value)

const isDefined = <A>(value: A | undefined): value is A => value !== undefined

const entriesOf = (record: { readonly [key: string]: string | undefined }): ReadonlyArray<readonly [string, string]> =>
  Object.entries(record).flatMap(([key, value]) => value === undefined ? [] : [[key, value] as const])

/** Returns a name and an encoded value. */
const named = (name: string, value: string, { ifEmpty }: Behaviour): string =>
  value === "" ? name + ifEmpty : `${name}=${value}`

/** Expands a variable to the texts that the separator of its operator joins: none if it is undefined. */
const expandVariable = (
  { explode, name, prefix }: Variable,
  value: Value,
  behaviour: Behaviour
): ReadonlyArray<string> => {
  const label = (text: string): string => behaviour.named ? named(name, text, behaviour) : text
  if (typeof value === "string") {
    return [label(encode(prefix === undefined ? value : prefixOf(value, prefix, behaviour), behaviour))]
  }
  if (isList(value)) {
    const members = value.filter(isDefined).map((member) => encode(member, behaviour))
    return explode ? members.map(label) : members.length === 0 ? [] : [label(members.join(","))]
  }
  const entries = entriesOf(value).map(([key, member]) => [encode(key, behaviour), encode(member, behaviour)] as const)
  if (explode) {
    return entries.map(([key, member]) => behaviour.named ? named(key, member, behaviour) : `${key}=${member}`)
  }
  return entries.length === 0 ? [] : [label(entries.flat().join(","))]
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
    if (part._tag === "Literal") continue
    for (const variable of part.variables) {
      if (variable.prefix === undefined || !Object.hasOwn(values, variable.name)) continue
      if (typeof values[variable.name] === "object") return { index: part.index, variable }
    }
  }
  return undefined
}

/** Expands a template. */
export const expand = (parts: ReadonlyArray<Part>, values: Values): string =>
  parts.map((part) => part._tag === "Literal" ? part.text : expandExpression(part, values)).join("")

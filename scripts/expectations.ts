/**
 * What examples say comes out, held against what does.
 *
 * A comment `// => value` stands behind the declaration of an exported constant, or on the lines below it. Where it is a
 * value written out in full, the example is run and the constant has to be that value. A constant that is an Effect is run as
 * well, and its result counts. Other words are for the reader alone.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { inspect, isDeepStrictEqual } from "node:util"
import * as vm from "node:vm"

/** A line of a documented file. */
export interface Line {
  readonly number: number
  readonly text: string
}

/** The line that says what comes out, the value as it stands there, and the constant that is declared above it. */
export interface Expectation {
  readonly line: number
  readonly literal: string
  readonly name: string | undefined
}

/** Numbers, strings, booleans, and arrays and objects of them; a bare word can only be the key of a member. */
const literal = /^(?:[\s[\]{},:]|-?\d[\d_.]*\b|"(?:[^"\\]|\\.)*"|(?:true|false|null|undefined)\b|\w+(?=:))+$/

/** What an example expects. */
export const expectationsIn = (lines: ReadonlyArray<Line>): ReadonlyArray<Expectation> => {
  let name: string | undefined
  return lines.flatMap(({ number, text }, index) => {
    name = /^\s*export const (\w+)/.exec(text)?.[1] ?? name
    const begun = /\/\/ => (.*)$/.exec(text)?.[1]
    if (begun === undefined) {
      return []
    }
    // What is too long for one line goes on below, indented.
    const below = [...lines.slice(index + 1).map((line) => /^\s*\/\/ {2,}(.*)$/.exec(line.text)?.[1]), undefined]
    const words = [begun, ...below.slice(0, below.indexOf(undefined))].join(" ")
    return literal.test(words) ? [{ line: number, literal: words, name }] : []
  })
}

/** What comes out of an exported value. An example provides what its Effects need, so there is nothing to provide here. */
const outcomeOf = (value: unknown): Promise<unknown> =>
  Effect.isEffect(value)
    ? Effect.runPromiseWith(Context.makeUnsafe<unknown>(new Map()))(value)
    : Promise.resolve(value)

/** Runs the example at this address, and says how what comes out is not what was expected. */
export const problemOf = async (example: URL, { literal, name }: Expectation): Promise<string | undefined> => {
  if (name === undefined) {
    return "a value comes out, but of no exported constant above it"
  }
  try {
    const exported: Readonly<Record<string, unknown>> = await import(example.href)
    const outcome = await outcomeOf(exported[name])
    const expected: unknown = vm.runInThisContext(`(${literal})`)
    return isDeepStrictEqual(outcome, expected) ? undefined : `${name} is ${inspect(outcome)}, not ${inspect(expected)}`
  } catch (error) {
    return `${name} fails: ${String(error)}`
  }
}

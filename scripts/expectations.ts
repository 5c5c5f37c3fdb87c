/**
 * Expected values in examples, compared with the actual ones.
 *
 * A comment `// => value` follows the declaration of an exported constant, on its line or on the lines below. If the
 * comment is a complete literal, the example runs, and the constant must equal the literal. If the constant is an
 * Effect, its result must equal the literal. Any other text is not checked.
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

/** An expected value: its line, its literal, and the name of the constant that is declared above it. */
export interface Expectation {
  readonly line: number
  readonly literal: string
  readonly name: string | undefined
}

/** Matches numbers, strings, booleans, and arrays and objects of these; a bare word can only be a key. */
const literal = /^(?:[\s[\]{},:]|-?\d[\d_.]*\b|"(?:[^"\\]|\\.)*"|(?:true|false|null|undefined)\b|\w+(?=:))+$/

/** Returns the expected values of an example. */
export const expectationsIn = (lines: ReadonlyArray<Line>): ReadonlyArray<Expectation> => {
  let name: string | undefined
  return lines.flatMap(({ number, text }, index) => {
    name = /^\s*export const (\w+)/.exec(text)?.[1] ?? name
    const begun = /\/\/ => (.*)$/.exec(text)?.[1]
    if (begun === undefined) {
      return []
    }
    // A value that is too long for one line continues on indented lines below.
    const below = [...lines.slice(index + 1).map((line) => /^\s*\/\/ {2,}(.*)$/.exec(line.text)?.[1]), undefined]
    const words = [begun, ...below.slice(0, below.indexOf(undefined))].join(" ")
    return literal.test(words) ? [{ line: number, literal: words, name }] : []
  })
}

/** Returns an exported value, or its result if it is an Effect. Examples provide all services of their Effects. */
const outcomeOf = (value: unknown): Promise<unknown> =>
  Effect.isEffect(value)
    ? Effect.runPromiseWith(Context.makeUnsafe<unknown>(new Map()))(value)
    : Promise.resolve(value)

/** Runs an example, and returns how the actual value differs from the expected one. */
export const problemOf = async (example: URL, { literal, name }: Expectation): Promise<string | undefined> => {
  if (name === undefined) {
    return "an expected value follows no exported constant"
  }
  try {
    const exported: Readonly<Record<string, unknown>> = await import(example.href)
    const outcome = await outcomeOf(exported[name])
    const expected: unknown = vm.runInThisContext(`(${literal})`)
    return isDeepStrictEqual(outcome, expected)
      ? undefined
      : `${name} is ${inspect(outcome)}, expected ${inspect(expected)}`
  } catch (error) {
    return `${name} fails: ${String(error)}`
  }
}

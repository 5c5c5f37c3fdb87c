/**
 * A pattern for messages, as text: JSON with `_` for any value, `...` for any further members or elements, and `$name`
 * for a value that has this name from then on.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import { isMembers } from "../internal/arbitrary/jsonValues.ts"
import * as PatternText from "../internal/transcript/PatternText.ts"

/**
 * A pattern for a value.
 *
 * - `Any`: `_`, any value.
 * - `Name`: `$name`. If the name is not bound, any value fits and is bound to it. Otherwise only the bound value fits.
 * - `Literal`: exactly this value.
 * - `Object`: these members, in any order. Others fit only if it is `open`, which is written `...`.
 * - `Array`: these elements, in this order. Others may follow only if it is `open`.
 *
 * @category models
 */
export type Pattern = PatternText.Pattern

/**
 * The values of the names, without the `$`.
 *
 * @category models
 */
export type Bindings = ReadonlyMap<string, unknown>

/**
 * The first place at which a value does not fit: the path from the top, the expected value, and the actual one.
 *
 * @category models
 */
export interface Mismatch {
  readonly path: ReadonlyArray<string | number>
  readonly expected: string
  readonly found: string
}

/**
 * The error of a text that is not a pattern. `column` counts from 1.
 *
 * @example
 * ```ts
 * import { Pattern } from "@effect-mcp/testing/arbitrary"
 * import * as Result from "effect/Result"
 *
 * const parsed = Pattern.parse("{\"id\": 1, \"id\": 2}")
 * export const problem = Result.isFailure(parsed) ? parsed.failure.message : undefined
 * // => "column 11: expected a member that is not there yet, found \"id\""
 * ```
 *
 * @category errors
 */
export class PatternError extends Data.TaggedError("PatternError")<{
  readonly column: number
  readonly expected: string
  readonly found: string
}> {
  override get message(): string {
    return `column ${this.column}: expected ${this.expected}, found ${this.found}`
  }
}

/**
 * Parses a pattern. Every JSON text is a pattern, except for texts with a duplicate member, a number that is not
 * finite, or more than 500 levels.
 *
 * @example
 * ```ts
 * import { Pattern } from "@effect-mcp/testing/arbitrary"
 * import * as Result from "effect/Result"
 *
 * const answer = Result.getOrThrow(Pattern.parse("{\"id\": 1, \"result\": {\"content\": _, ...}, ...}"))
 * export const text = Pattern.print(answer)
 * // => "{\"id\":1,\"result\":{\"content\":_, ...}, ...}"
 * ```
 *
 * @category parsing
 */
export const parse = (text: string): Result.Result<Pattern, PatternError> =>
  Result.mapError(PatternText.parse(text, "pattern"), (problem) => new PatternError(problem))

/**
 * Prints a pattern on one line, so that `parse` returns an equal one.
 *
 * @example
 * ```ts
 * import { Pattern } from "@effect-mcp/testing/arbitrary"
 *
 * export const text = Pattern.print({ _tag: "Array", elements: [{ _tag: "Name", name: "id" }], open: true })
 * // => "[$id, ...]"
 * ```
 *
 * @category formatting
 */
export const print = (pattern: Pattern): string => PatternText.print(pattern)

/**
 * Creates the pattern that fits this value only. The value must be JSON, as `JSON.parse` returns it.
 *
 * @example
 * ```ts
 * import { Pattern } from "@effect-mcp/testing/arbitrary"
 *
 * export const text = Pattern.print(Pattern.exactly({ id: [1, null] })) // => "{\"id\":[1,null]}"
 * ```
 *
 * @category constructors
 */
export const exactly = (value: unknown): Pattern => PatternText.exactly(value)

/**
 * Returns the names in a pattern, in the order of the text.
 *
 * @example
 * ```ts
 * import { Pattern } from "@effect-mcp/testing/arbitrary"
 * import * as Result from "effect/Result"
 *
 * export const names = Pattern.names(Result.getOrThrow(Pattern.parse("{\"id\": $call, ...}"))) // => ["call"]
 * ```
 *
 * @category getters
 */
export const names = (pattern: Pattern): ReadonlyArray<string> => {
  switch (pattern._tag) {
    case "Name":
      return [pattern.name]
    case "Object":
      return pattern.members.flatMap(([, member]) => names(member))
    case "Array":
      return pattern.elements.flatMap(names)
    default:
      return []
  }
}

type Path = ReadonlyArray<string | number>

/** Returns a value as short text for an error message. */
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

const mismatch = (path: Path, expected: string, found: string): Result.Result<never, Mismatch> =>
  Result.fail({ path, expected, found })

type Fitted = Result.Result<Bindings, Mismatch>

const fitObject = (
  pattern: Extract<Pattern, { readonly _tag: "Object" }>,
  value: unknown,
  bindings: Bindings,
  path: Path
): Fitted => {
  if (!isMembers(value)) return mismatch(path, "an object", shown(value))
  let bound = bindings
  for (const [name, member] of pattern.members) {
    const there = [...path, name]
    if (!Object.hasOwn(value, name)) return mismatch(there, print(member), "nothing")
    const fitted = fit(member, value[name], bound, there)
    if (Result.isFailure(fitted)) return fitted
    bound = fitted.success
  }
  if (!pattern.open) {
    const known = new Set(pattern.members.map(([name]) => name))
    const further = Object.keys(value).find((name) => !known.has(name))
    if (further !== undefined) return mismatch([...path, further], "nothing", shown(value[further]))
  }
  return Result.succeed(bound)
}

const fitArray = (
  pattern: Extract<Pattern, { readonly _tag: "Array" }>,
  value: unknown,
  bindings: Bindings,
  path: Path
): Fitted => {
  if (!Array.isArray(value)) return mismatch(path, "an array", shown(value))
  let bound = bindings
  for (const [index, element] of pattern.elements.entries()) {
    const there = [...path, index]
    if (index >= value.length) return mismatch(there, print(element), "nothing")
    const fitted = fit(element, value[index], bound, there)
    if (Result.isFailure(fitted)) return fitted
    bound = fitted.success
  }
  const further = pattern.elements.length
  return pattern.open || value.length === further
    ? Result.succeed(bound)
    : mismatch([...path, further], "nothing", shown(value[further]))
}

const fit = (pattern: Pattern, value: unknown, bindings: Bindings, path: Path): Fitted => {
  switch (pattern._tag) {
    case "Any":
      return Result.succeed(bindings)
    case "Literal":
      return pattern.value === value ? Result.succeed(bindings) : mismatch(path, print(pattern), shown(value))
    case "Name": {
      if (!bindings.has(pattern.name)) return Result.succeed(new Map(bindings).set(pattern.name, value))
      const bound = bindings.get(pattern.name)
      return Equal.equals(bound, value)
        ? Result.succeed(bindings)
        : mismatch(path, `$${pattern.name}, which is ${shown(bound)}`, shown(value))
    }
    case "Object":
      return fitObject(pattern, value, bindings, path)
    case "Array":
      return fitArray(pattern, value, bindings, path)
  }
}

/**
 * Compares a value with a pattern. Returns the names that are bound afterwards, earlier ones included, or the first
 * place that does not fit.
 *
 * @example
 * ```ts
 * import { Pattern } from "@effect-mcp/testing/arbitrary"
 * import * as Result from "effect/Result"
 *
 * const text = "{\"id\": $id, \"result\": {\"tools\": [{\"name\": \"add\", ...}]}}"
 * const pattern = Result.getOrThrow(Pattern.parse(text))
 * const matched = Pattern.match(pattern, { id: 1, result: { tools: [{ name: "sum" }] } })
 * export const path = Result.isFailure(matched) ? matched.failure.path : [] // => ["result", "tools", 0, "name"]
 * ```
 *
 * @category matching
 */
export const match = (
  pattern: Pattern,
  value: unknown,
  bindings: Bindings = new Map()
): Result.Result<Bindings, Mismatch> => fit(pattern, value, bindings, [])

/**
 * The reason why a pattern has no single value: this name is not bound, or a place fits any value.
 *
 * @category models
 */
export type Indefinite = { readonly _tag: "Unbound"; readonly name: string } | { readonly _tag: "Wildcard" }

/**
 * Returns the value of a pattern without wildcards, with its names replaced by their values.
 *
 * @example
 * ```ts
 * import { Pattern } from "@effect-mcp/testing/arbitrary"
 * import * as Result from "effect/Result"
 *
 * const answer = Result.getOrThrow(Pattern.parse("{\"id\": $id, \"result\": {}}"))
 * export const filled = Result.getOrThrow(Pattern.fill(answer, new Map([["id", 7]]))) // => { id: 7, result: {} }
 * ```
 *
 * @category matching
 */
export const fill = (pattern: Pattern, bindings: Bindings = new Map()): Result.Result<unknown, Indefinite> => {
  switch (pattern._tag) {
    case "Literal":
      return Result.succeed(pattern.value)
    case "Any":
      return Result.fail({ _tag: "Wildcard" })
    case "Name":
      return bindings.has(pattern.name)
        ? Result.succeed(bindings.get(pattern.name))
        : Result.fail({ _tag: "Unbound", name: pattern.name })
    case "Array":
      return pattern.open
        ? Result.fail({ _tag: "Wildcard" })
        : Result.all(pattern.elements.map((element) => fill(element, bindings)))
    case "Object":
      return pattern.open
        ? Result.fail({ _tag: "Wildcard" })
        : Result.map(
          Result.all(
            pattern.members.map(([name, member]) =>
              Result.map(fill(member, bindings), (value) => [name, value] as const)
            )
          ),
          Object.fromEntries<unknown>
        )
  }
}

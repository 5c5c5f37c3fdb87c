/**
 * The common part of the JSON of all entries: the number of its format, and its kind.
 */
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { TokenStoreError } from "../../TokenStore.ts"

/** The format that this version writes, and the only one that it reads. */
export const format = 1

const corrupt = (problem: string) => new TokenStoreError({ operation: "read", reason: { _tag: "Corrupt", problem } })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The message of the error has a part of the text.
    return undefined
  }
}

/** Returns the format that the JSON states, if it is a number. */
const formatOf = (json: unknown): number | undefined =>
  typeof json === "object" && json !== null && "format" in json && typeof json.format === "number"
    ? json.format
    : undefined

/** Returns a decoder of entries. Its errors state no member: an issue of a schema shows the value that it found. */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>, A>(
  schema: S,
  kind: string,
  make: (json: S["Type"]) => A
): (text: Redacted.Redacted<string>) => Result.Result<A, TokenStoreError> => {
  const decode = Schema.decodeUnknownExit(schema)
  return (text) => {
    const json = parse(Redacted.value(text))
    if (json === undefined) return Result.fail(corrupt("it is not JSON"))
    const found = formatOf(json)
    if (found !== undefined && found > format) {
      return Result.fail(new TokenStoreError({ operation: "read", reason: { _tag: "Newer", format: String(found) } }))
    }
    const exit = decode(json)
    return Exit.isSuccess(exit) ? Result.succeed(make(exit.value)) : Result.fail(corrupt(`it is not JSON of ${kind}`))
  }
}

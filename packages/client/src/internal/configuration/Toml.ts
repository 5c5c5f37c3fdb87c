/** TOML, as Codex writes it. The library `smol-toml` is loaded with the first text. */

import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { limits } from "./JsonWithComments.ts"

const load = Effect.promise(() => import("smol-toml"))

/**
 * Returns the sentence of an error of the library, and its place. The rest of its message quotes lines of the text,
 * which may have secrets.
 */
const problemOf = (error: unknown): string => {
  if (!(error instanceof Error) || !Predicate.hasProperty(error, "line") || !Predicate.hasProperty(error, "column")) {
    return "the parser has failed"
  }
  const [sentence = ""] = error.message.split("\n")
  return `${sentence.replace(/^Invalid TOML document: /, "")} (line ${error.line} column ${error.column})`
}

/** Returns the value of a text, or its problem and the place of it. */
export const parse = (text: string): Effect.Effect<Result.Result<unknown, string>> =>
  text.length > limits.characters
    ? Effect.succeed(Result.fail(`it has more than ${limits.characters} characters`))
    : Effect.map(load, (library) =>
      Result.try({
        try: (): unknown => library.parse(text, { maxDepth: limits.levels }),
        catch: problemOf
      }))

/** The contents of a resource by their schema. */
import type { Resource } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { UnexpectedResultError } from "../../TypedCallError.ts"
import { JsonCodec } from "./JsonCodec.ts"

/** Returns the JSON of a text. */
const parsed = (text: string): Effect.Effect<unknown, string> =>
  Effect.try({ try: () => JSON.parse(text), catch: () => "its text is no JSON" })

/** Decodes the contents of a resource. Without a schema, they are the result itself. */
export class Contents {
  readonly #codec: JsonCodec | undefined

  constructor(content: Schema.Constraint | undefined) {
    this.#codec = content === undefined ? undefined : new JsonCodec(content)
  }

  decode(result: Resource.ReadResourceResult, uri: string): Effect.Effect<unknown, UnexpectedResultError, unknown> {
    const codec = this.#codec
    if (codec === undefined) return Effect.succeed(result)
    const { contents } = result
    const found = contents.find((one) => one.uri === uri) ?? contents[0]
    const decoded = found !== undefined && "text" in found
      ? Effect.flatMap(parsed(found.text), codec.decode)
      : Effect.fail("it has no text")
    return Effect.mapError(
      decoded,
      (problem) => new UnexpectedResultError({ member: `the resource ${JSON.stringify(uri)}`, problem, result })
    )
  }
}

/** The conversions between the values of a schema and JSON, as servers of groups have them. */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { trust } from "../trust.ts"

/** A conversion. It fails with the problem. Its services are those of the schema. */
export type Convert = (value: unknown) => Effect.Effect<unknown, string, unknown>

/** The greatest length of a problem. */
const maxProblem = 1024

const format = SchemaIssue.makeFormatterDefault()

/** Returns the problem of an issue, which is nested as deeply as the value. */
const problemOf = (issue: SchemaIssue.Issue): string => {
  try {
    return Excerpt.of(format(issue), maxProblem)
  } catch {
    return "it does not fit the schema"
  }
}

/** Returns the problem of a value that exhausts the stack. Any other exception is a defect. */
const fromException = (thrown: unknown): Exit.Exit<never, string> =>
  thrown instanceof RangeError ? Exit.fail("it is nested too deeply") : Exit.die(thrown)

const converting = (
  parse: (value: unknown) => Effect.Effect<unknown, SchemaIssue.Issue, unknown>
): Convert =>
(value) => {
  try {
    const parsed = parse(value)
    // Most schemas are decoded at once, without a fiber.
    if (Exit.isExit(parsed) && Exit.isSuccess(parsed)) return Exit.succeed(parsed.value)
    return Effect.catchDefect(Effect.mapError(parsed, problemOf), fromException)
  } catch (thrown) {
    return fromException(thrown)
  }
}

/** A schema whose type the compiler no longer knows. */
type Erased = Schema.Codec<unknown, unknown, unknown, unknown>

interface Conversions {
  readonly decode: Convert
  readonly encode: Convert
  readonly isText: boolean
}

/** The codec of one schema. It is derived when the first value is converted. */
export class JsonCodec {
  readonly #schema: Schema.Constraint
  #conversions: Conversions | undefined

  constructor(schema: Schema.Constraint) {
    this.#schema = schema
  }

  get #derived(): Conversions {
    if (this.#conversions === undefined) {
      // Erases the type: any schema has a JSON codec, or throws.
      const codec = trust<Erased>(Schema.toCodecJson(trust<Erased>(this.#schema)))
      this.#conversions = {
        decode: converting(SchemaParser.decodeUnknownEffect(codec)),
        encode: converting(SchemaParser.encodeUnknownEffect(codec)),
        isText: SchemaAST.toEncoded(codec.ast)._tag === "String"
      }
    }
    return this.#conversions
  }

  /** Whether the schema encodes its values as strings, and decodes every one that its checks accept. */
  get isText(): boolean {
    return this.#derived.isText
  }

  readonly decode: Convert = (json) => this.#derived.decode(json)

  readonly encode: Convert = (value) => this.#derived.encode(value)
}

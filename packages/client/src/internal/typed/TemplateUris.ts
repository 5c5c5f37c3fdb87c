/** The URIs of one template by its parameters. */
import * as UriTemplate from "@effect-mcp/server/UriTemplate"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { InvalidArgumentsError } from "../../TypedCallError.ts"
import { trust } from "../trust.ts"
import type { FieldValues } from "./FieldValues.ts"

/** Returns whether a URI has a value of this kind as an absent one. */
const isAbsent = (value: unknown): boolean =>
  value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0)

/** Returns the name of a value that a URI does not carry: the decoded form of `{+x}` can differ from the given one. */
const lost = (
  values: { readonly [name: string]: unknown },
  matched: { readonly [name: string]: unknown }
): string | undefined =>
  Object.keys(values).find((name) => {
    const value = values[name]
    return !(isAbsent(value) && isAbsent(matched[name])) && JSON.stringify(value) !== JSON.stringify(matched[name])
  })

/** A template as clients see it. */
export interface TemplateOptions {
  /** The text of the template: that of the definition, or with the prefix of a mount. */
  readonly text: string
  readonly template: UriTemplate.UriTemplate
  readonly fields: FieldValues
}

/** A template under the name and the text that clients see. */
export class TemplateUris {
  readonly #member: string
  readonly #template: UriTemplate.UriTemplate
  readonly #fields: FieldValues

  constructor(name: string, { fields, template, text }: TemplateOptions) {
    this.#member = `the template ${JSON.stringify(name)}`
    this.#template = text === template.template
      ? template
      : Result.getOrThrow(UriTemplate.make<string>(text, { shapes: template.shapes }))
    this.#fields = fields
  }

  get text(): string {
    return this.#template.template
  }

  /** Returns the URI of the resource with these parameters. Fails if the server would decode others from it. */
  uri(parameters: unknown): Effect.Effect<string, InvalidArgumentsError, unknown> {
    const invalid = (problem: string) => new InvalidArgumentsError({ member: this.#member, problem })
    return Effect.flatMap(Effect.mapError(this.#fields.encode(parameters), invalid), (values) => {
      // The type of the definition states that the encoded sides of its parameters are values of variables.
      const uri = this.#template.expand(trust(values))
      const matched = this.#template.match(uri)
      if (matched === undefined) return Effect.fail(invalid(`${JSON.stringify(uri)} does not match the template`))
      const name = lost(values, matched)
      return name === undefined
        ? Effect.succeed(uri)
        : Effect.fail(invalid(`a URI of ${JSON.stringify(this.text)} cannot carry this value of "${name}"`))
    })
  }
}

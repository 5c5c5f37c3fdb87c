/**
 * Completion: suggestions for an argument of a prompt or of a resource template.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * The prompt or the resource template whose argument is completed.
 *
 * @category models
 */
export type Reference =
  | { readonly type: "ref/prompt"; readonly name: string; readonly title?: string }
  | { readonly type: "ref/resource"; readonly uri: string }

/**
 * The schema of a {@link Reference}.
 *
 * @category schemas
 */
export const Reference: Schema.Codec<Reference> = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("ref/prompt"),
    name: Schema.String,
    title: Schema.optionalKey(Schema.String)
  }),
  Schema.Struct({ type: Schema.Literal("ref/resource"), uri: Schema.String })
])

/**
 * The params of `completion/complete`: the argument to complete, and the arguments that already have a value.
 *
 * @category models
 */
export interface CompleteParams {
  readonly ref: Reference
  readonly argument: { readonly name: string; readonly value: string }
  readonly context?: { readonly arguments?: { readonly [name: string]: string } }
  readonly _meta?: RequestMeta
}

export const CompleteParams: Schema.Codec<CompleteParams> = Schema.Struct({
  ref: Reference,
  argument: Schema.Struct({ name: Schema.String, value: Schema.String }),
  context: Schema.optionalKey(Schema.Struct({
    arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  })),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * The maximum number of values in a completion (CMP-02).
 *
 * @category constants
 */
export const maximumValues = 100

/**
 * The best matches, at most 100. `total` and `hasMore` state whether there are more.
 *
 * @category models
 */
export interface CompleteResult {
  readonly completion: {
    readonly values: ReadonlyArray<string>
    readonly total?: number
    readonly hasMore?: boolean
  }
  readonly _meta?: Meta
}

export const CompleteResult: Schema.Codec<CompleteResult> = Schema.Struct({
  completion: Schema.Struct({
    values: Schema.Array(Schema.String).check(Schema.isMaxLength(maximumValues)),
    total: Schema.optionalKey(Schema.Finite),
    hasMore: Schema.optionalKey(Schema.Boolean)
  }),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Completion: what a user may want to type next into an argument of a prompt or a resource template.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * What is being filled in.
 *
 * @category models
 * @since 0.1.0
 */
export type Reference =
  | { readonly type: "ref/prompt"; readonly name: string; readonly title?: string }
  | { readonly type: "ref/resource"; readonly uri: string }

/**
 * The schema of a {@link Reference}.
 *
 * @category schemas
 * @since 0.1.0
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
 * The argument at the cursor, and the ones that are filled in already.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompleteParams {
  readonly ref: Reference
  readonly argument: { readonly name: string; readonly value: string }
  readonly context?: { readonly arguments?: { readonly [name: string]: string } }
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link CompleteParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompleteParams: Schema.Codec<CompleteParams> = Schema.Struct({
  ref: Reference,
  argument: Schema.Struct({ name: Schema.String, value: Schema.String }),
  context: Schema.optionalKey(Schema.Struct({
    arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  })),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * How many values a completion may hold at the most (CMP-02).
 *
 * @category constants
 * @since 0.1.0
 */
export const maximumValues = 100

/**
 * The values that fit best, at most 100; `total` and `hasMore` say what was left out.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompleteResult {
  readonly completion: {
    readonly values: ReadonlyArray<string>
    readonly total?: number
    readonly hasMore?: boolean
  }
  readonly _meta?: Meta
}

/**
 * The schema of {@link CompleteResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompleteResult: Schema.Codec<CompleteResult> = Schema.Struct({
  completion: Schema.Struct({
    values: Schema.Array(Schema.String).check(Schema.isMaxLength(maximumValues)),
    total: Schema.optionalKey(Schema.Finite),
    hasMore: Schema.optionalKey(Schema.Boolean)
  }),
  _meta: Schema.optionalKey(Meta)
})

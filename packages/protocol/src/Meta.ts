/**
 * `_meta`: what travels beside the payload of every message.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { trust } from "./internal/trust.ts"

const isRecord = (value: object): value is Meta => !Array.isArray(value) && typeof value !== "function"

/**
 * Free-form metadata. Keys with a reserved prefix mean what the specification says and nothing else (MSG-28).
 *
 * @category models
 * @since 0.1.0
 */
export interface Meta {
  readonly [key: string]: unknown
}

/**
 * The schema of {@link Meta}.
 *
 * @category schemas
 * @since 0.1.0
 */
// Of free-form objects there is nothing to look into, and this is five times faster than a `Record` of `Unknown`: what is
// received is passed on as it is, so nothing has to be copied either.
export const Meta: Schema.Codec<Meta> = trust(
  Schema.ObjectKeyword.pipe(Schema.refine(isRecord, { expected: "object" }))
)

/**
 * A progress token: what a requester puts into `_meta.progressToken` to be told of progress (PRG-01).
 *
 * @category models
 * @since 0.1.0
 */
export type ProgressToken = string | number

/**
 * The schema of a {@link ProgressToken}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ProgressToken: Schema.Codec<ProgressToken> = Schema.Union([Schema.String, Schema.Int])

/**
 * The metadata of a request, in which the requester may ask for progress.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestMeta extends Meta {
  readonly progressToken?: ProgressToken
}

/**
 * The schema of {@link RequestMeta}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RequestMeta: Schema.Codec<RequestMeta> = trust(
  Schema.Struct({ progressToken: Schema.optionalKey(ProgressToken) })
)

/**
 * The params of a request that has none of its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestParams {
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link RequestParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RequestParams: Schema.Codec<RequestParams> = Schema.Struct({ _meta: Schema.optionalKey(RequestMeta) })

/**
 * The params of a notification that has none of its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface NotificationParams {
  readonly _meta?: Meta
}

/**
 * The schema of {@link NotificationParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const NotificationParams: Schema.Codec<NotificationParams> = Schema.Struct({ _meta: Schema.optionalKey(Meta) })

/**
 * A result with nothing in it but metadata.
 *
 * @category models
 * @since 0.1.0
 */
export interface EmptyResult {
  readonly _meta?: Meta
}

/**
 * The schema of {@link EmptyResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EmptyResult: Schema.Codec<EmptyResult> = Schema.Struct({ _meta: Schema.optionalKey(Meta) })

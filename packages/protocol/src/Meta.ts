/**
 * `_meta`: the metadata of a message.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { trust } from "./internal/trust.ts"

const isRecord = (value: object): value is Meta => !Array.isArray(value) && typeof value !== "function"

/**
 * Free-form metadata. The specification reserves keys with certain prefixes (MSG-28).
 *
 * @category models
 */
export interface Meta {
  readonly [key: string]: unknown
}

// A free-form object has no members to check. This schema is five times faster than a `Record` of `Unknown`, because
// it passes the received object on without a copy.
export const Meta: Schema.Codec<Meta> = trust(
  Schema.ObjectKeyword.pipe(Schema.refine(isRecord, { expected: "object" }))
)

/**
 * A progress token: the value of `_meta.progressToken` in a request whose sender wants progress notifications (PRG-01).
 *
 * @category models
 */
export type ProgressToken = string | number

/**
 * The schema of a {@link ProgressToken}.
 *
 * @category schemas
 */
export const ProgressToken: Schema.Codec<ProgressToken> = Schema.Union([Schema.String, Schema.Int])

/**
 * The metadata of a request, with an optional progress token.
 *
 * @category models
 */
export interface RequestMeta extends Meta {
  readonly progressToken?: ProgressToken
}

// The interface also has the members that the schema does not name.
export const RequestMeta: Schema.Codec<RequestMeta> = trust(
  Schema.Struct({ progressToken: Schema.optionalKey(ProgressToken) })
)

/**
 * The params of a request without members of its own.
 *
 * @category models
 */
export interface RequestParams {
  readonly _meta?: RequestMeta
}

export const RequestParams: Schema.Codec<RequestParams> = Schema.Struct({ _meta: Schema.optionalKey(RequestMeta) })

/**
 * The params of a notification without members of its own.
 *
 * @category models
 */
export interface NotificationParams {
  readonly _meta?: Meta
}

export const NotificationParams: Schema.Codec<NotificationParams> = Schema.Struct({ _meta: Schema.optionalKey(Meta) })

/**
 * A result that has no members but metadata.
 *
 * @category models
 */
export interface EmptyResult {
  readonly _meta?: Meta
}

export const EmptyResult: Schema.Codec<EmptyResult> = Schema.Struct({ _meta: Schema.optionalKey(Meta) })

/**
 * Elicitation: a server asks the client's user, by a form or by a page to visit.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ElicitationContent } from "./ElicitationContent.ts"
import { ElicitationSchema } from "./ElicitationSchema.ts"
import * as ErrorCode from "./ErrorCode.ts"
import { McpError } from "./McpError.ts"
import { Meta, RequestMeta } from "./Meta.ts"
import { TaskMetadata } from "./Task.ts"

/**
 * A question by form. No mode means this one (ELI-04).
 *
 * @category models
 * @since 0.1.0
 */
export interface FormParams {
  readonly mode?: "form"
  readonly message: string
  readonly requestedSchema: ElicitationSchema
  readonly task?: TaskMetadata
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link FormParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FormParams: Schema.Codec<FormParams> = Schema.Struct({
  mode: Schema.optionalKey(Schema.Literal("form")),
  message: Schema.String,
  requestedSchema: ElicitationSchema,
  task: Schema.optionalKey(TaskMetadata),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * A question by a page to visit, since 2025-11-25 (ELI-10).
 *
 * @category models
 * @since 0.1.0
 */
export interface UrlParams {
  readonly mode: "url"
  readonly message: string
  readonly url: string
  readonly elicitationId: string
  readonly task?: TaskMetadata
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link UrlParams}. The address has a scheme, and no blanks.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UrlParams: Schema.Codec<UrlParams> = Schema.Struct({
  mode: Schema.Literal("url"),
  message: Schema.String,
  url: Schema.String.check(Schema.isPattern(/^[A-Za-z][A-Za-z\d+.-]*:\S+$/, { expected: "a URL" })),
  elicitationId: Schema.String,
  task: Schema.optionalKey(TaskMetadata),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * A question of either kind.
 *
 * @category models
 * @since 0.1.0
 */
export type ElicitParams = FormParams | UrlParams

/**
 * The schema of {@link ElicitParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitParams: Schema.Codec<ElicitParams> = Schema.Union([UrlParams, FormParams])

/**
 * What the user did: accepted, with the form's content, said no, or went away (ELI-09).
 *
 * @category models
 * @since 0.1.0
 */
export interface ElicitResult {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: ElicitationContent
  readonly _meta?: Meta
}

/**
 * The schema of {@link ElicitResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitResult: Schema.Codec<ElicitResult> = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(ElicitationContent),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Which question by page has been dealt with, out of band (ELI-12).
 *
 * @category models
 * @since 0.1.0
 */
export interface ElicitationCompleteParams {
  readonly elicitationId: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link ElicitationCompleteParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitationCompleteParams: Schema.Codec<ElicitationCompleteParams> = Schema.Struct({
  elicitationId: Schema.String,
  _meta: Schema.optionalKey(Meta)
})

const UrlRequiredData = Schema.Struct({ elicitations: Schema.Array(UrlParams) })

/**
 * The error of a handler whose request cannot be served before the user has visited these pages (ELI-14).
 *
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/protocol"
 *
 * export const error = Elicitation.urlRequired([
 *   { mode: "url", message: "Sign in first", url: "https://example.com/sign-in", elicitationId: "sign-in-1" }
 * ])
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export const urlRequired = (elicitations: ReadonlyArray<UrlParams>, message = "URL elicitation required"): McpError =>
  new McpError({ code: ErrorCode.UrlElicitationRequired, message, data: { elicitations } })

/**
 * The pages that an error asks to be visited (ELI-14). `undefined` if it is of another kind, or lists them in another form.
 *
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/protocol"
 *
 * const error = Elicitation.urlRequired([
 *   { mode: "url", message: "Sign in first", url: "https://example.com/sign-in", elicitationId: "sign-in-1" }
 * ])
 *
 * // What a client shows its user, before it tries the request again.
 * export const pages = Elicitation.requiredUrls(error)?.map(({ url }) => url) // => ["https://example.com/sign-in"]
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export const requiredUrls = (error: McpError): ReadonlyArray<UrlParams> | undefined => {
  if (error.code !== ErrorCode.UrlElicitationRequired) return undefined
  const data = Schema.decodeUnknownResult(UrlRequiredData)(error.data)
  return Result.isSuccess(data) ? data.success.elicitations : undefined
}

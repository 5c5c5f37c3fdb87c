/**
 * Elicitation: a server requests input from the client's user, by a form or by a URL.
 *
 * @stability unstable
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
 * The params of an elicitation by form. An absent mode means `form` (ELI-04).
 *
 * @category models
 */
export interface FormParams {
  readonly mode?: "form"
  readonly message: string
  readonly requestedSchema: ElicitationSchema
  readonly task?: TaskMetadata
  readonly _meta?: RequestMeta
}

export const FormParams: Schema.Codec<FormParams> = Schema.Struct({
  mode: Schema.optionalKey(Schema.Literal("form")),
  message: Schema.String,
  requestedSchema: ElicitationSchema,
  task: Schema.optionalKey(TaskMetadata),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * The params of an elicitation by URL, from 2025-11-25 on (ELI-10).
 *
 * @category models
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
 * The schema of {@link UrlParams}. The URL has a scheme and no white space.
 *
 * @category schemas
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
 * The params of `elicitation/create`.
 *
 * @category models
 */
export type ElicitParams = FormParams | UrlParams

export const ElicitParams: Schema.Codec<ElicitParams> = Schema.Union([UrlParams, FormParams])

/**
 * The response of the user: accepted with the content of the form, declined, or dismissed (ELI-09).
 *
 * @category models
 */
export interface ElicitResult {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: ElicitationContent
  readonly _meta?: Meta
}

export const ElicitResult: Schema.Codec<ElicitResult> = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(ElicitationContent),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params of `notifications/elicitation/complete`: the elicitation by URL that was completed (ELI-12).
 *
 * @category models
 */
export interface ElicitationCompleteParams {
  readonly elicitationId: string
  readonly _meta?: Meta
}

export const ElicitationCompleteParams: Schema.Codec<ElicitationCompleteParams> = Schema.Struct({
  elicitationId: Schema.String,
  _meta: Schema.optionalKey(Meta)
})

const UrlRequiredData = Schema.Struct({ elicitations: Schema.Array(UrlParams) })

/**
 * Creates the error of a handler whose request requires the user to visit these URLs first (ELI-14).
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
 */
export const urlRequired = (elicitations: ReadonlyArray<UrlParams>, message = "URL elicitation required"): McpError =>
  new McpError({ code: ErrorCode.UrlElicitationRequired, message, data: { elicitations } })

/**
 * Returns the elicitations by URL that an error requires (ELI-14). Returns `undefined` for another error, or if its
 * data is malformed.
 *
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/protocol"
 *
 * const error = Elicitation.urlRequired([
 *   { mode: "url", message: "Sign in first", url: "https://example.com/sign-in", elicitationId: "sign-in-1" }
 * ])
 *
 * // The client shows these URLs to its user, and then repeats the request.
 * export const pages = Elicitation.requiredUrls(error)?.map(({ url }) => url) // => ["https://example.com/sign-in"]
 * ```
 *
 * @category errors
 */
export const requiredUrls = (error: McpError): ReadonlyArray<UrlParams> | undefined => {
  if (error.code !== ErrorCode.UrlElicitationRequired) return undefined
  const data = Schema.decodeUnknownResult(UrlRequiredData)(error.data)
  return Result.isSuccess(data) ? data.success.elicitations : undefined
}

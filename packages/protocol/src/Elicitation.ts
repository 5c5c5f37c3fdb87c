/**
 * Elicitation: a server asks the client's user, by a form or by a page to visit.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as ErrorCode from "./ErrorCode.ts"
import { McpError } from "./McpError.ts"
import { Meta, RequestMeta } from "./Meta.ts"
import { TaskMetadata } from "./Task.ts"

const described = { title: Schema.optionalKey(Schema.String), description: Schema.optionalKey(Schema.String) }

/**
 * A text of a form.
 *
 * @category models
 * @since 0.1.0
 */
export interface StringField {
  readonly type: "string"
  readonly title?: string
  readonly description?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: "email" | "uri" | "date" | "date-time"
  readonly default?: string
}

/**
 * The schema of a {@link StringField}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const StringField: Schema.Codec<StringField> = Schema.Struct({
  type: Schema.Literal("string"),
  ...described,
  minLength: Schema.optionalKey(Schema.Finite),
  maxLength: Schema.optionalKey(Schema.Finite),
  format: Schema.optionalKey(Schema.Literals(["email", "uri", "date", "date-time"])),
  default: Schema.optionalKey(Schema.String)
})

/**
 * A number of a form.
 *
 * @category models
 * @since 0.1.0
 */
export interface NumberField {
  readonly type: "number" | "integer"
  readonly title?: string
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: number
}

/**
 * The schema of a {@link NumberField}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const NumberField: Schema.Codec<NumberField> = Schema.Struct({
  type: Schema.Literals(["number", "integer"]),
  ...described,
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  default: Schema.optionalKey(Schema.Finite)
})

/**
 * A yes or no of a form.
 *
 * @category models
 * @since 0.1.0
 */
export interface BooleanField {
  readonly type: "boolean"
  readonly title?: string
  readonly description?: string
  readonly default?: boolean
}

/**
 * The schema of a {@link BooleanField}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const BooleanField: Schema.Codec<BooleanField> = Schema.Struct({
  type: Schema.Literal("boolean"),
  ...described,
  default: Schema.optionalKey(Schema.Boolean)
})

/**
 * A value with the words it is shown by.
 *
 * @category models
 * @since 0.1.0
 */
export interface TitledValue {
  readonly const: string
  readonly title: string
}

/**
 * The schema of a {@link TitledValue}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TitledValue: Schema.Codec<TitledValue> = Schema.Struct({ const: Schema.String, title: Schema.String })

/**
 * One choice among several: by bare values, with `enumNames` beside them (the older form), or by titled values.
 *
 * @category models
 * @since 0.1.0
 */
export type ChoiceField =
  | {
    readonly type: "string"
    readonly title?: string
    readonly description?: string
    readonly enum: ReadonlyArray<string>
    readonly enumNames?: ReadonlyArray<string>
    readonly default?: string
  }
  | {
    readonly type: "string"
    readonly title?: string
    readonly description?: string
    readonly oneOf: ReadonlyArray<TitledValue>
    readonly default?: string
  }

/**
 * The schema of a {@link ChoiceField}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ChoiceField: Schema.Codec<ChoiceField> = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("string"),
    ...described,
    enum: Schema.Array(Schema.String),
    enumNames: Schema.optionalKey(Schema.Array(Schema.String)),
    default: Schema.optionalKey(Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("string"),
    ...described,
    oneOf: Schema.Array(TitledValue),
    default: Schema.optionalKey(Schema.String)
  })
])

/**
 * Any number of choices among several, since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChoicesField {
  readonly type: "array"
  readonly title?: string
  readonly description?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly items:
    | { readonly type: "string"; readonly enum: ReadonlyArray<string> }
    | { readonly anyOf: ReadonlyArray<TitledValue> }
  readonly default?: ReadonlyArray<string>
}

/**
 * The schema of a {@link ChoicesField}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ChoicesField: Schema.Codec<ChoicesField> = Schema.Struct({
  type: Schema.Literal("array"),
  ...described,
  minItems: Schema.optionalKey(Schema.Finite),
  maxItems: Schema.optionalKey(Schema.Finite),
  items: Schema.Union([
    Schema.Struct({ type: Schema.Literal("string"), enum: Schema.Array(Schema.String) }),
    Schema.Struct({ anyOf: Schema.Array(TitledValue) })
  ]),
  default: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * A field of a form.
 *
 * @category models
 * @since 0.1.0
 */
export type Field = StringField | NumberField | BooleanField | ChoiceField | ChoicesField

/**
 * The schema of a {@link Field}. The choices come before plain text, which would take them too.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Field: Schema.Codec<Field> = Schema.Union([
  ChoiceField,
  StringField,
  NumberField,
  BooleanField,
  ChoicesField
])

/**
 * A form: a flat object of simple fields. Never ask for a secret in one (ELI-06).
 *
 * @category models
 * @since 0.1.0
 */
export interface Form {
  readonly type: "object"
  readonly properties: { readonly [name: string]: Field }
  readonly required?: ReadonlyArray<string>
  readonly $schema?: string
}

/**
 * The schema of a {@link Form}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Form: Schema.Codec<Form> = Schema.Struct({
  type: Schema.Literal("object"),
  properties: Schema.Record(Schema.String, Field),
  required: Schema.optionalKey(Schema.Array(Schema.String)),
  $schema: Schema.optionalKey(Schema.String)
})

/**
 * A question by form. No mode means this one (ELI-04).
 *
 * @category models
 * @since 0.1.0
 */
export interface FormParams {
  readonly mode?: "form"
  readonly message: string
  readonly requestedSchema: Form
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
  requestedSchema: Form,
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
  readonly content?: { readonly [name: string]: string | number | boolean | ReadonlyArray<string> }
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
  content: Schema.optionalKey(Schema.Record(
    Schema.String,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Array(Schema.String)])
  )),
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

/**
 * What a server may ask a user for: a form of simple fields, in the part of JSON Schema that has words for them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

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
export type EnumField =
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
 * The schema of a {@link EnumField}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EnumField: Schema.Codec<EnumField> = Schema.Union([
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
export interface MultiSelectField {
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
 * The schema of a {@link MultiSelectField}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const MultiSelectField: Schema.Codec<MultiSelectField> = Schema.Struct({
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
export type Field = StringField | NumberField | BooleanField | EnumField | MultiSelectField

/**
 * The schema of a {@link Field}. The choices come before plain text, which would take them too.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Field: Schema.Codec<Field> = Schema.Union([
  EnumField,
  StringField,
  NumberField,
  BooleanField,
  MultiSelectField
])

/**
 * A form: a flat object of simple fields. Never ask for a secret in one (ELI-06).
 *
 * @example
 * ```ts
 * import type { ElicitationSchema } from "@effect-mcp/protocol"
 *
 * export const booking: ElicitationSchema.ElicitationSchema = {
 *   type: "object",
 *   properties: {
 *     name: { type: "string", title: "Who is coming?", minLength: 1 },
 *     guests: { type: "integer", minimum: 1, maximum: 8, default: 2 },
 *     meal: { type: "string", oneOf: [{ const: "v", title: "Vegetarian" }, { const: "f", title: "Fish" }] }
 *   },
 *   required: ["name", "meal"]
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ElicitationSchema {
  readonly type: "object"
  readonly properties: { readonly [name: string]: Field }
  readonly required?: ReadonlyArray<string>
  readonly $schema?: string
}

/**
 * The schema of a {@link ElicitationSchema}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitationSchema: Schema.Codec<ElicitationSchema> = Schema.Struct({
  type: Schema.Literal("object"),
  properties: Schema.Record(Schema.String, Field),
  required: Schema.optionalKey(Schema.Array(Schema.String)),
  $schema: Schema.optionalKey(Schema.String)
})

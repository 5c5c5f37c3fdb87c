/**
 * The schema of a form: a flat object of simple fields, in a subset of JSON Schema.
 */
import * as Schema from "effect/Schema"

const described = { title: Schema.optionalKey(Schema.String), description: Schema.optionalKey(Schema.String) }

/**
 * A string field.
 *
 * @category models
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
 * A number field.
 *
 * @category models
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
 */
export const NumberField: Schema.Codec<NumberField> = Schema.Struct({
  type: Schema.Literals(["number", "integer"]),
  ...described,
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  default: Schema.optionalKey(Schema.Finite)
})

/**
 * A boolean field.
 *
 * @category models
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
 */
export const BooleanField: Schema.Codec<BooleanField> = Schema.Struct({
  type: Schema.Literal("boolean"),
  ...described,
  default: Schema.optionalKey(Schema.Boolean)
})

/**
 * A value of an enum with its title.
 *
 * @category models
 */
export interface TitledValue {
  readonly const: string
  readonly title: string
}

/**
 * The schema of a {@link TitledValue}.
 *
 * @category schemas
 */
export const TitledValue: Schema.Codec<TitledValue> = Schema.Struct({ const: Schema.String, title: Schema.String })

/**
 * A field with one of several values. The values are plain, with optional `enumNames` (the older form), or titled.
 *
 * @category models
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
 * A field with any number of several values, from 2025-11-25 on.
 *
 * @category models
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
 */
export type Field = StringField | NumberField | BooleanField | EnumField | MultiSelectField

/**
 * The schema of a {@link Field}. `EnumField` precedes `StringField`, which would also accept its values.
 *
 * @category schemas
 */
export const Field: Schema.Codec<Field> = Schema.Union([
  EnumField,
  StringField,
  NumberField,
  BooleanField,
  MultiSelectField
])

/**
 * The schema of a form: a flat object of simple fields. A form must not request secrets (ELI-06).
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
 */
export const ElicitationSchema: Schema.Codec<ElicitationSchema> = Schema.Struct({
  type: Schema.Literal("object"),
  properties: Schema.Record(Schema.String, Field),
  required: Schema.optionalKey(Schema.Array(Schema.String)),
  $schema: Schema.optionalKey(Schema.String)
})

/**
 * The schema of a form: a flat object of simple fields, in a subset of JSON Schema.
 *
 * @stability unstable
 */
import * as Option from "effect/Option"
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

interface Members {
  readonly [name: string]: unknown
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Replaces a reference by its definition, and joins the parts of `allOf`. */
const flattened = (schema: unknown, definitions: Members): Members => {
  if (!isMembers(schema)) return {}
  const { $ref, allOf, ...own } = schema
  const target = typeof $ref === "string" ? definitions[$ref.slice("#/$defs/".length)] : undefined
  const parts = [target, ...(Array.isArray(allOf) ? allOf : [])]
  return Object.assign({}, ...parts.map((part) => flattened(part, definitions)), own)
}

const isNull = (schema: unknown): boolean => isMembers(schema) && schema["type"] === "null"

/** Removes the alternative `null` of an optional member, which a form does not have. */
const withoutNull = (schema: Members): Members => {
  const { anyOf, ...own } = schema
  if (!Array.isArray(anyOf)) return schema
  const [only, ...others] = anyOf.filter((one) => !isNull(one))
  return others.length === 0 && isMembers(only) ? { ...only, ...own } : schema
}

/** The checks of JSON Schema that a form does not have. They are left out, because they only narrow the values. */
const otherChecks: ReadonlySet<string> = new Set([
  "pattern",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "uniqueItems"
])

const withoutOtherChecks = (schema: Members): Members =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => !otherChecks.has(keyword)))

// An excess keyword, such as the `enum` of a number, would change which values are valid.
const decodeField = Schema.decodeUnknownOption(Field, { onExcessProperty: "error" })

const fieldTypes = "use a string, a finite number, a boolean, an enum of strings, or an array of such an enum"

/** The encoded types of members that can be fields. */
type FieldInput = string | number | bigint | boolean | ReadonlyArray<string> | null | undefined

/**
 * The part of an encoded type whose JSON form is certainly no field: arrays, and objects without methods. A value with
 * methods, such as a `Date`, a `URL` or a `DateTime`, may be a string in JSON.
 */
type Structured<Value> = Value extends FieldInput ? never
  : Value extends ReadonlyArray<unknown> ? Value
  : [Extract<Value[keyof Value], (...args: never) => unknown>] extends [never] ? Value
  : never

/** The names of the members that no form has a field for. */
type Unsuitable<Encoded> = {
  readonly [
    // A member of an unknown type may be one of them.
    Name in keyof Encoded
  ]-?: unknown extends Encoded[Name] ? never
    : [Structured<Encoded[Name]>] extends [never] ? never
    : Name
}[keyof Encoded]

/**
 * A type that a schema satisfies if a form can be made from it: a struct or a class whose members are no structs, and
 * no arrays of other values than strings. A value that is a string in JSON, such as a `Date` or a `URL`, can be a
 * member. Otherwise the type is a text that names the first unsuitable member. What types cannot show, such as the
 * limits of a number, is checked when the form is made.
 *
 * @category models
 */
export type FormSchema<S extends Schema.Constraint> = unknown extends S["Encoded"] ? unknown
  : S["Encoded"] extends FieldInput | Date | ReadonlyArray<unknown>
    ? "a form is made from a struct or a class; this schema describes no object"
  : [Unsuitable<S["Encoded"]>] extends [never] ? unknown
  : `the member ${Unsuitable<S["Encoded"]> & string} cannot be a field of a form; ${typeof fieldTypes}`

/**
 * Creates the schema of a form from a Schema: a struct or a class whose members are strings, finite numbers, booleans,
 * enums of strings, or arrays of such enums, required or optional. Titles, descriptions, defaults and limits stay.
 * Other checks, such as patterns, do not fit into a form: decode the content of the form with the same Schema. Most
 * schemas with another member do not compile ({@link FormSchema}); the others throw an error that names the member.
 *
 * @example
 * ```ts
 * import { ElicitationSchema } from "@effect-mcp/protocol"
 * import * as Schema from "effect/Schema"
 *
 * const Booking = Schema.Struct({
 *   name: Schema.NonEmptyString.annotate({ title: "Who is coming?" }),
 *   meal: Schema.optionalKey(Schema.Literals(["vegetarian", "fish"]))
 * })
 *
 * export const { properties, required } = ElicitationSchema.fromSchema(Booking)
 * export const meal = properties["meal"] // => { type: "string", enum: ["vegetarian", "fish"] }
 * ```
 *
 * @category constructors
 */
export const fromSchema = <S extends Schema.Top>(schema: S & FormSchema<S>): ElicitationSchema => {
  const document = Schema.toJsonSchemaDocument(schema)
  const { properties, required, type } = flattened(document.schema, document.definitions)
  if (type !== "object" || !isMembers(properties)) {
    throw new Error("a form is made from a struct or a class; this schema describes no object")
  }
  const fields = Object.entries(properties).map(([name, property]) => {
    const field = decodeField(withoutOtherChecks(withoutNull(flattened(property, document.definitions))))
    if (Option.isSome(field)) return [name, field.value] as const
    throw new Error(
      `the member ${JSON.stringify(name)} cannot be a field of a form: ${JSON.stringify(property)}; ${fieldTypes}`
    )
  })
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : []
  const form = { type: "object", properties: Object.fromEntries(fields) } as const
  return names.length === 0 ? form : { ...form, required: names }
}

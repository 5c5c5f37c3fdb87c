/**
 * The definitions of resources and of resource templates, without handlers. A group lists them, and its Layer has their
 * handlers.
 *
 * @stability unstable
 */
import type { Annotations, Implementation, Meta, Resource } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { trust } from "./internal/trust.ts"
import type { CacheHint } from "./McpCaching.ts"
import * as UriTemplate from "./UriTemplate.ts"

/**
 * Identifies definitions of resources and templates.
 *
 * @category constants
 */
export const ResourceTypeId = "~effect-mcp/server/McpResource"

/**
 * The fields of a resource or a template in their lists.
 *
 * @category models
 */
export interface ResourceDescription {
  /** The name that users read. */
  readonly title?: string
  readonly description?: string
  /** The media type of the contents. Default: `application/json` with a schema, none without one. */
  readonly mimeType?: string
  /** Hints about the audience, the priority and the last change (RES-06). */
  readonly annotations?: Annotations.Annotations
  readonly icons?: ReadonlyArray<Implementation.Icon>
  /** Metadata in the list, and in no contents. */
  readonly meta?: Meta.Meta
  /** The time for which clients of revision 2026-07-28 may keep the contents. Default: they are stale at once. */
  readonly cache?: CacheHint
}

/**
 * The contents that a handler without a schema returns: text, bytes, or contents with their own URIs and media types. A
 * whole result (`{ contents, _meta }`) has metadata of its own.
 *
 * @category models
 */
export type Contents =
  | string
  | Uint8Array
  | ReadonlyArray<Resource.ResourceContents>
  | Resource.ReadResourceResult

/**
 * The value that a handler returns: one of the schema, or {@link Contents}.
 *
 * @category models
 */
export type ContentOf<Content> = Content extends Schema.Constraint ? Content["Type"] : Contents

/**
 * The services that the schema of the contents needs to encode them.
 *
 * @category models
 */
export type ServicesOf<Content> = Content extends Schema.Constraint ? Content["EncodingServices"] : never

/**
 * The definition of a resource with a fixed URI.
 *
 * @category models
 */
export interface McpResource<out Name extends string, out Content extends Schema.Constraint | undefined = undefined> {
  readonly [ResourceTypeId]: "Resource"
  readonly name: Name
  readonly uri: string
  readonly content: Content
  readonly size: number | undefined
  readonly description: ResourceDescription
  /** The scopes that a principal needs to read the resource, beside those of its group. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

/**
 * The definition of the resources whose URIs have one form.
 *
 * @category models
 */
export interface McpResourceTemplate<
  out Name extends string,
  out Parameters extends Schema.Struct.Fields = {},
  out Content extends Schema.Constraint | undefined = undefined
> {
  readonly [ResourceTypeId]: "Template"
  readonly name: Name
  readonly uriTemplate: UriTemplate.UriTemplate
  readonly parameters: Parameters
  readonly content: Content
  readonly description: ResourceDescription
  /** The scopes that a principal needs to read resources of the template, beside those of its group. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

/**
 * The definition of any resource.
 *
 * @category models
 */
export interface AnyResource extends McpResource<string, Schema.Constraint | undefined> {}

/**
 * The definition of any resource template.
 *
 * @category models
 */
export interface AnyTemplate extends McpResourceTemplate<string, Schema.Struct.Fields, Schema.Constraint | undefined> {}

/**
 * Options for the definition of a resource.
 *
 * @category models
 */
export interface Options<Content> extends ResourceDescription {
  /** The URI: absolute, with a scheme. */
  readonly uri: string
  /** The schema of the contents, which are sent as JSON. Default: the handler returns {@link Contents}. */
  readonly content?: Content
  /** The size of the contents in bytes, for clients. */
  readonly size?: number
  /**
   * The scopes that a principal needs to read the resource and to subscribe to it, beside those of its group, as
   * `McpTool.Scopes` of a tool. Default: none.
   */
  readonly scopes?: ReadonlyArray<string>
}

/**
 * Defines a resource with a fixed URI.
 *
 * @example
 * ```ts
 * import { McpResource } from "@effect-mcp/server"
 * import * as Schema from "effect/Schema"
 *
 * export const Settings = McpResource.make("settings", {
 *   uri: "app://settings",
 *   content: Schema.Struct({ theme: Schema.Literals(["light", "dark"]) })
 * })
 * ```
 *
 * @category constructors
 */
export const make = <const Name extends string, Content extends Schema.Constraint | undefined = undefined>(
  name: Name,
  options: Options<Content>
): McpResource<Name, Content> => {
  const { content, scopes, size, uri, ...description } = options
  // Without `content`, the type parameter has its default, undefined.
  return { [ResourceTypeId]: "Resource", name, uri, content: trust<Content>(content), size, description, scopes }
}

/**
 * The shapes of variables in a URI, from the encoded sides of their schemas.
 *
 * @category models
 */
export type ShapesOf<Given extends Schema.Struct.Fields> = {
  readonly [Name in keyof Given]: NonNullable<Given[Name]["Encoded"]> extends string ? "String"
    : "List"
}

type DefaultSchema<Value> = [NonNullable<Value>] extends [string] ? typeof Schema.String
  : Schema.$Array<typeof Schema.String>

type DefaultField<Encoded, Name extends keyof Encoded> = {} extends Pick<Encoded, Name>
  ? Schema.optionalKey<DefaultSchema<Encoded[Name]>>
  : DefaultSchema<Encoded[Name]>

/** The given schema, as an optional key if the variable may be absent. Schemas with a default stay as they are. */
type GivenField<Encoded, Name extends keyof Encoded, Given extends Schema.Constraint> = {} extends Pick<Encoded, Name>
  ? Given extends { readonly "~encoded.optionality": "optional" } ? Given : Schema.optionalKey<Given>
  : Given

/**
 * The schemas of the variables of a template: the given ones, or those of strings. An exploded variable, such as
 * `{?tags*}`, is an array of strings, and a variable that may be absent from the URI is an optional key.
 *
 * @category models
 */
export type ParametersOf<Template extends string, Given extends Schema.Struct.Fields> = string extends Template ? Given
  : {
    readonly [Name in keyof UriTemplate.Encoded<Template, ShapesOf<Given>>]-?: Name extends keyof Given
      ? GivenField<UriTemplate.Encoded<Template, ShapesOf<Given>>, Name, Given[Name]>
      : DefaultField<UriTemplate.Encoded<Template, ShapesOf<Given>>, Name>
  }

/**
 * A type that parameters satisfy that are variables of the template, and are encoded as text or a list.
 *
 * @category models
 */
export type OnlyVariables<Template extends string, Given extends Schema.Struct.Fields> = {
  readonly [Name in keyof Given]: Name extends UriTemplate.Variables<Template>
    ? NonNullable<Given[Name]["Encoded"]> extends UriTemplate.MatchedValue ? unknown
    : "a variable of a URI is text; use a schema whose encoded side is a string, or a list of strings"
    : "the URI template has no such variable"
}

/**
 * Options for the definition of a template.
 *
 * @category models
 */
export interface TemplateOptions<Template extends string, Given extends Schema.Struct.Fields, Content>
  extends ResourceDescription
{
  /** The URI template (RFC 6570), in a form that can be matched; see {@link UriTemplate.make}. */
  readonly uri: UriTemplate.Checked<Template>
  /**
   * The schemas of variables, from their texts in the URI. Default: strings. A variable that a URI may leave out, as
   * those of a query, is an optional key, also if its schema here is not.
   */
  readonly parameters?: Given & OnlyVariables<Template, Given>
  /** The schema of the contents, which are sent as JSON. Default: the handler returns {@link Contents}. */
  readonly content?: Content
  /**
   * The scopes that a principal needs to read resources of the template, to subscribe to them, to complete its
   * variables, and to see them in the list of resources. They add to those of its group. Default: none.
   */
  readonly scopes?: ReadonlyArray<string>
}

/** Returns the shape of values, from the encoded side of their schema. The types of `ShapesOf` state the same. */
const shapeOf = (encoded: SchemaAST.AST): UriTemplate.Shape =>
  // `Schema.optional` makes a union with undefined.
  encoded._tag === "Arrays" || (encoded._tag === "Union" && encoded.types.some((type) => shapeOf(type) === "List"))
    ? "List"
    : "String"

/** Returns the schema of a variable that has no schema of its own. */
const defaultSchema = ({ explode, optional }: UriTemplate.Variable): Schema.Constraint => {
  const schema = explode ? Schema.Array(Schema.String) : Schema.String
  return optional ? Schema.optionalKey(schema) : schema
}

/** Returns the given schema of a variable. A URI may leave a variable of a query out, whatever its schema is. */
const givenSchema = (schema: Schema.Constraint, { optional }: UriTemplate.Variable): Schema.Constraint =>
  !optional || SchemaAST.isOptional(SchemaAST.toEncoded(schema.ast)) ? schema : Schema.optionalKey(schema)

/**
 * Defines the resources whose URIs have one form. The values of the variables are decoded once, and then by their
 * schemas; a URI whose values do not fit them names no resource (RES-05). Of several templates that match a URI, the
 * most literal one is used.
 *
 * A template that cannot be matched does not compile, or throws a `UriTemplateError` if it is not known as a literal.
 *
 * @example
 * ```ts
 * import { McpResource } from "@effect-mcp/server"
 * import * as Schema from "effect/Schema"
 *
 * export const Task = McpResource.template("task", {
 *   uri: "tasks://{owner}/{id}{?fields}",
 *   parameters: { id: Schema.FiniteFromString, fields: Schema.optionalKey(Schema.Array(Schema.String)) },
 *   content: Schema.Struct({ title: Schema.String })
 * })
 *
 * export const variables = Object.keys(Task.parameters) // => ["owner", "id", "fields"]
 * ```
 *
 * @category constructors
 */
export const template = <
  const Name extends string,
  const Template extends string,
  const Given extends Schema.Struct.Fields = {},
  Content extends Schema.Constraint | undefined = undefined
>(
  name: Name,
  options: TemplateOptions<Template, Given, Content>
): McpResourceTemplate<Name, ParametersOf<Template, Given>, Content> => {
  const { content, parameters, scopes, uri, ...description } = options
  const given: { readonly [name: string]: Schema.Constraint } = { ...parameters }
  const shapes = Object.fromEntries(
    Object.entries(given).map(([variable, schema]) => [
      variable,
      shapeOf(SchemaAST.toEncoded(schema.ast))
    ])
  )
  const uriTemplate: UriTemplate.UriTemplate = Result.getOrThrow(UriTemplate.make<string>(uri, { shapes }))
  const fields = Object.fromEntries(
    uriTemplate.variables.map((variable) => {
      const schema = given[variable.name]
      return [variable.name, schema === undefined ? defaultSchema(variable) : givenSchema(schema, variable)]
    })
  )
  return {
    [ResourceTypeId]: "Template",
    name,
    uriTemplate,
    // The schemas by the names of the variables, as the type lists them.
    parameters: trust<ParametersOf<Template, Given>>(fields),
    // Without `content`, the type parameter has its default, undefined.
    content: trust<Content>(content),
    description,
    scopes
  }
}

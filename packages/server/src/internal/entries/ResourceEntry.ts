/** Resources and templates: definitions with their handlers, as the methods of resources serve them. */

import { type McpError, Resource } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as McpResource from "../../McpResource.ts"
import type * as UriTemplate from "../../UriTemplate.ts"
import { hidden, type ResourceEntry, type TemplateEntry } from "../registry/Entry.ts"
import * as Hinted from "../registry/Hinted.ts"
import { RegistrationError } from "../registry/RegistrationError.ts"
import * as JsonCodec from "../schema/JsonCodec.ts"
import { trust } from "../trust.ts"
import * as Completers from "./Completers.ts"
import * as ContentCheck from "./ContentCheck.ts"
import type { GroupRuntime, Handler } from "./GroupRuntime.ts"
import type { Handled } from "./HandlerRecord.ts"

type Definition = McpResource.AnyResource | McpResource.AnyTemplate

/** A URI with a scheme, whose characters are those of RFC 3986 (RES-10). */
const absolute = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/

/** The beginning of a template: a scheme, or a variable with it. */
const templateBegin = /^(?:[A-Za-z][A-Za-z0-9+.-]*:|\{)/

/** Returns the fields that resources and templates have in common. */
const listed = ({ content, description }: Definition) => {
  // The hint belongs to the contents.
  const { cache: _, meta, mimeType, ...fields } = description
  const type = mimeType ?? (content === undefined ? undefined : "application/json")
  return {
    ...fields,
    ...(type === undefined ? undefined : { mimeType: type }),
    ...(meta === undefined ? undefined : { _meta: meta })
  }
}

/** Returns a function that makes the contents of a resource from the value that its handler returned (RES-08). */
const contents = (
  definition: Definition,
  mimeType: string | undefined,
  isForAll: boolean
): (value: unknown, uri: string) => Handler<Resource.ReadResourceResult> => {
  const plain = withoutHint(definition, mimeType)
  const { cache } = definition.description
  if (cache === undefined) return plain
  const hinted = Hinted.make(cache, `cache of the resource "${definition.name}"`)
  return (value, uri) => Effect.flatMap(plain(value, uri), (result) => hinted(result, isForAll))
}

const withoutHint = (
  { content, name }: Definition,
  mimeType: string | undefined
): (value: unknown, uri: string) => Handler<Resource.ReadResourceResult> => {
  if (content !== undefined) {
    const { encode } = JsonCodec.make(content)
    return (value, uri) =>
      Effect.map(encode(value), (json) => ({ contents: [Resource.text(uri, JSON.stringify(json), mimeType)] }))
  }
  return (value, uri) => {
    // The type of the handler states that it returns `McpResource.Contents`.
    const raw = trust<McpResource.Contents>(value)
    if (typeof raw === "string") return Effect.succeed({ contents: [Resource.text(uri, raw, mimeType)] })
    if (raw instanceof Uint8Array) return Effect.succeed({ contents: [Resource.blob(uri, raw, mimeType)] })
    const result = "contents" in raw ? raw : { contents: raw }
    return Effect.as(ContentCheck.contents(result.contents, `the resource "${name}"`), result)
  }
}

/** Prepares a resource. Throws a `RegistrationError` if its URI is none. */
export const make = (runtime: GroupRuntime, resource: McpResource.AnyResource, handled: Handled): ResourceEntry => {
  const { name, size, uri } = resource
  if (!absolute.test(uri) || !URL.canParse(uri)) {
    throw new RegistrationError({
      group: runtime.id,
      problem:
        `the resource "${name}" has the URI ${JSON.stringify(uri)}, which is none of RFC 3986; begin it with a ` +
        "scheme, and percent-encode other characters"
    })
  }
  const definition = { name, uri, ...listed(resource), ...(size === undefined ? undefined : { size }) }
  const toContents = contents(resource, definition.mimeType, runtime.isForAll(handled.visible))
  // The type of `Handlers.resource` states that the handler is such an effect.
  const served = Effect.flatMap(trust<Handler<unknown>>(handled.handler), (value) => toContents(value, uri))
  const visible = runtime.ifVisible(handled.visible, served)
  return {
    kind: "resource",
    group: runtime.id,
    name,
    definition,
    scopes: resource.scopes,
    isConditional: handled.visible !== undefined,
    read: (context) => runtime.run(visible, { method: "resources/read", name: uri, arguments: undefined }, context)
  }
}

/** A resource of a template, as `McpGroup.ListedResource` has it. */
interface Listed extends McpResource.ResourceDescription {
  readonly name: string
  readonly parameters: unknown
  readonly size?: number
}

/** The most resources that one template lists for a client. */
const maxListed = 10_000

/**
 * Returns the values of the variables for encoded parameters. JSON has null for an undefined parameter, which is absent
 * from the URI.
 */
const variablesOf = (encoded: unknown): { readonly [name: string]: UriTemplate.Value } =>
  Object.fromEntries(
    // The encoded sides of the parameters are values of variables.
    Object.entries(trust<{ readonly [name: string]: UriTemplate.Value | null }>(encoded)).flatMap(([name, value]) =>
      value === null ? [] : [[name, value] as const]
    )
  )

/** Returns the function that lists the resources of a template. */
const lister = (
  runtime: GroupRuntime,
  template: McpResource.AnyTemplate,
  list: Effect.Effect<ReadonlyArray<unknown>, McpError.McpError, unknown>
): NonNullable<TemplateEntry["list"]> => {
  const { encode } = JsonCodec.make(Schema.Struct(template.parameters))
  const { mimeType } = template.description
  const toResource = ({ name, parameters, size, ...description }: Listed) =>
    Effect.map(encode(parameters), (values): Resource.Resource => ({
      name,
      uri: template.uriTemplate.expand(variablesOf(values)),
      ...listed({ ...template, description: mimeType === undefined ? description : { mimeType, ...description } }),
      ...(size === undefined ? undefined : { size })
    }))
  // The type of the option states what it returns.
  const resources = Effect.flatMap(
    trust<Effect.Effect<ReadonlyArray<Listed>, McpError.McpError, unknown>>(list),
    (all) => Effect.forEach(all.slice(0, maxListed), toResource)
  )
  return (context) =>
    Effect.catchCause(
      runtime.runList(resources, "resources/list", context),
      (cause) =>
        Effect.as(Effect.logError(`the template "${template.name}" lists nothing, because list failed`, cause), [])
    )
}

type Read = (parameters: unknown, uri: string) => Handler<unknown>

type Subscribable = (parameters: unknown, uri: string) => Handler<boolean>

/** Prepares a template. Throws a `RegistrationError` if its URIs have no scheme. */
export const makeTemplate = (
  runtime: GroupRuntime,
  template: McpResource.AnyTemplate,
  handled: Handled
): TemplateEntry => {
  const { name, parameters, uriTemplate } = template
  if (!templateBegin.test(uriTemplate.template)) {
    throw new RegistrationError({
      group: runtime.id,
      problem: `the template "${name}" is ${
        JSON.stringify(uriTemplate.template)
      }, which has no scheme; begin it with one`
    })
  }
  const definition = { name, uriTemplate: uriTemplate.template, ...listed(template) }
  const codec = JsonCodec.make(Schema.Struct(parameters))
  const toContents = contents(template, definition.mimeType, runtime.isForAll(handled.visible))
  // The type of `Handlers.template` states that the handler is such a function.
  const read = trust<Read>(handled.handler)
  // The type of `TemplateHandlerOptions` states that it is such a function.
  const subscribable = trust<Subscribable>(handled.subscribable ?? (() => Effect.succeed(true)))
  const served = (variables: unknown, uri: string): Handler<Resource.ReadResourceResult | undefined> =>
    Effect.matchEffect(codec.decode(variables), {
      onSuccess: (decoded) => Effect.flatMap(read(decoded, uri), (value) => toContents(value, uri)),
      // Values that are none of the parameters' name no resource.
      onFailure: () => Effect.succeed(undefined)
    })
  const unseen = (variables: unknown): Handler<typeof hidden | undefined> =>
    Effect.match(codec.decode(variables), { onSuccess: () => hidden, onFailure: () => undefined })
  return {
    kind: "template",
    group: runtime.id,
    name,
    definition,
    scopes: template.scopes,
    isConditional: handled.visible !== undefined,
    template: uriTemplate,
    read: (variables, uri, context) =>
      runtime.run(
        runtime.ifVisible(handled.visible, served(variables, uri), unseen(variables)),
        { method: "resources/read", name: uri, arguments: undefined },
        context
      ),
    fits: (variables, uri, context) =>
      Effect.orElseSucceed(
        runtime.run(
          Effect.matchEffect(codec.decode(variables), {
            onSuccess: (decoded) => subscribable(decoded, uri),
            onFailure: () => Effect.undefined
          }),
          { method: "resources/subscribe", name: uri, arguments: undefined },
          context
        ),
        () => false
      ),
    ...(handled.list === undefined ? undefined : { list: lister(runtime, template, handled.list) }),
    ...Completers.make(runtime, name, parameters, handled)
  }
}

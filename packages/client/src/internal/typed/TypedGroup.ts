/** The members of a group as functions of a client. */
import type { Completion } from "@effect-mcp/protocol"
import type * as McpGroup from "@effect-mcp/server/McpGroup"
import type { Naming } from "@effect-mcp/server/McpMount"
import * as McpPrompt from "@effect-mcp/server/McpPrompt"
import * as McpResource from "@effect-mcp/server/McpResource"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { CallOptions, McpCalls } from "../../McpCall.ts"
import { InvalidArgumentsError } from "../../TypedCallError.ts"
import { trust } from "../trust.ts"
import { Contents } from "./Contents.ts"
import { FieldValues } from "./FieldValues.ts"
import { TemplateUris } from "./TemplateUris.ts"
import { ToolMember } from "./ToolMember.ts"

/** The part of a client that typed calls use. */
export type Client = McpCalls

type Options = CallOptions<unknown> | undefined

/** The members of a group by their kind and their name. */
export interface Members {
  readonly tools: { readonly [name: string]: unknown }
  readonly resources: { readonly [name: string]: unknown }
  readonly templates: { readonly [name: string]: unknown }
  readonly prompts: { readonly [name: string]: unknown }
}

/** A member with its codecs. They are the same for all clients and prefixes. */
interface Prepared {
  readonly kind: keyof Members
  readonly name: string
  readonly bind: (client: Client, naming: Naming) => unknown
}

/** Completes an argument of a member. */
const completing =
  (client: Client, ref: Completion.Reference) =>
  (argument: string, typed: string, others: { readonly [name: string]: string } = {}, options?: Options) =>
    Effect.map(
      client.complete({
        ref,
        argument: { name: argument, value: typed },
        ...(Object.keys(others).length === 0 ? undefined : { context: { arguments: others } })
      }, options),
      ({ completion }) => completion
    )

const prepareTool = (definition: ConstructorParameters<typeof ToolMember>[0]): Prepared => {
  const tool = new ToolMember(definition)
  return {
    kind: "tools",
    name: definition.name,
    bind: (client, naming) => {
      const name = naming.name(definition.name)
      return (input: unknown, options: Options) => tool.call(client, name, input, options)
    }
  }
}

const prepareResource = (definition: McpResource.AnyResource): Prepared => {
  const contents = new Contents(definition.content)
  return {
    kind: "resources",
    name: definition.name,
    bind: (client, naming) => {
      const uri = naming.uri(definition.uri)
      const read = (options: Options) =>
        Effect.flatMap(client.readResource(uri, options), (result) => contents.decode(result, uri))
      return Object.assign(read, {
        uri,
        watch: Stream.mapEffect(client.watch(uri), (result) => contents.decode(result, uri))
      })
    }
  }
}

const prepareTemplate = (definition: McpResource.AnyTemplate): Prepared => {
  const contents = new Contents(definition.content)
  const fields = new FieldValues(definition.parameters)
  return {
    kind: "templates",
    name: definition.name,
    bind: (client, naming) => {
      const uris = new TemplateUris(naming.name(definition.name), {
        text: naming.uri(definition.uriTemplate.template),
        template: definition.uriTemplate,
        fields
      })
      const read = (parameters: unknown = {}, options: Options = {}) =>
        Effect.flatMap(
          uris.uri(parameters),
          (uri) => Effect.flatMap(client.readResource(uri, options), (result) => contents.decode(result, uri))
        )
      return Object.assign(read, {
        uri: (parameters: unknown = {}) => uris.uri(parameters),
        watch: (parameters: unknown = {}) =>
          Stream.unwrap(
            Effect.map(uris.uri(parameters), (uri) =>
              Stream.mapEffect(client.watch(uri), (result) => contents.decode(result, uri)))
          ),
        complete: completing(client, { type: "ref/resource", uri: uris.text })
      })
    }
  }
}

const preparePrompt = (definition: McpPrompt.AnyPrompt): Prepared => {
  const fields = new FieldValues(definition.arguments)
  return {
    kind: "prompts",
    name: definition.name,
    bind: (client, naming) => {
      const name = naming.name(definition.name)
      const invalid = (problem: string) =>
        new InvalidArgumentsError({ member: `the prompt ${JSON.stringify(name)}`, problem })
      const get = (input: unknown = {}, options: Options = {}) =>
        Effect.flatMap(Effect.mapError(fields.encode(input), invalid), (encoded) =>
          // The type of the definition states that the encoded sides of its arguments are strings.
          client.getPrompt(name, trust<{ readonly [name: string]: string }>(encoded), options))
      return Object.assign(get, { complete: completing(client, { type: "ref/prompt", name }) })
    }
  }
}

const prepareMember = (member: McpGroup.Member): Prepared => {
  if (McpPrompt.PromptTypeId in member) return preparePrompt(member)
  if (!(McpResource.ResourceTypeId in member)) return prepareTool(member)
  return member[McpResource.ResourceTypeId] === "Resource" ? prepareResource(member) : prepareTemplate(member)
}

/** The prepared members of groups. A group never changes. */
const prepared = new WeakMap<McpGroup.AnyGroup, ReadonlyArray<Prepared>>()

const prepare = (group: McpGroup.AnyGroup): ReadonlyArray<Prepared> => {
  const known = prepared.get(group)
  if (known !== undefined) return known
  const members = group.members.map(prepareMember)
  prepared.set(group, members)
  return members
}

/** Binds the members of a group to a client, under the names that the server gives them. */
export const bind = (client: Client, group: McpGroup.AnyGroup, naming: Naming): Members => {
  const members = prepare(group)
  const ofKind = (kind: keyof Members) =>
    Object.fromEntries(
      members.flatMap((member) => member.kind === kind ? [[member.name, member.bind(client, naming)] as const] : [])
    )
  return {
    tools: ofKind("tools"),
    resources: ofKind("resources"),
    templates: ofKind("templates"),
    prompts: ofKind("prompts")
  }
}

/** The registration of a group under a prefix: its members with other names and URIs. */

import { type Content, McpError, type Prompt, type Resource } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as UriTemplate from "../../UriTemplate.ts"
import { validName } from "../entries/ToolDefinition.ts"
import {
  type Entry,
  hidden,
  type PromptEntry,
  type Registration,
  type ResourceEntry,
  type ServerContext,
  type TemplateEntry,
  type ToolEntry
} from "../registry/Entry.ts"
import { RegistrationError } from "../registry/RegistrationError.ts"
import * as Matching from "../uri/Matching.ts"
import type { Pattern } from "../uri/Pattern.ts"
import * as Precedence from "../uri/Precedence.ts"
import type { UriMapping } from "./PrefixedUris.ts"

/** The names and the URIs of a mounted group. */
export interface Mount {
  /** The beginning of each name, with its separator. */
  readonly namePrefix: string
  readonly uris: UriMapping
  /** The groups of the mount, whose results may link to each other. */
  readonly groups: Set<MountedGroup>
}

/** Schemes whose URIs lead to the same place for everyone, so that a link to one is no link into the group. */
const elsewhere = /^(?:https?|file|data|mailto):/i

type Unlisted = NonNullable<Registration["unlisted"]>

/** Gives the members of one group, and the URIs in their results, their outer form. */
export class MountedGroup {
  readonly #mount: Mount
  readonly #group: string
  readonly #registration: Registration
  /** The URIs and the patterns of the templates of the group, without the prefix. */
  #uris: ReadonlySet<string> = new Set()
  #patterns: ReadonlyArray<Pattern> = []

  constructor(mount: Mount, registration: Registration) {
    this.#mount = mount
    this.#registration = registration
    this.#group = `${mount.namePrefix}${registration.group}`
  }

  /** Returns whether a URI without the prefix belongs to this group. */
  owns(uri: string, normalized: Matching.NormalizedUri | undefined): boolean {
    return this.#uris.has(uri) ||
      (normalized !== undefined &&
        this.#patterns.some((pattern) => Matching.match(pattern, normalized) !== undefined)) ||
      (this.#registration.unlisted !== undefined && !elsewhere.test(uri))
  }

  /** Returns the outer form of members, each in its order. One that has none is left out, or throws. */
  entries(inner: ReadonlyArray<Entry>): ReadonlyArray<readonly [inner: Entry, outer: Entry]> {
    this.#uris = new Set(inner.flatMap((entry) => entry.kind === "resource" ? [entry.definition.uri] : []))
    this.#patterns = inner.flatMap((entry) =>
      entry.kind === "template" && entry.template !== undefined ? [entry.template[Precedence.TypeId].pattern] : []
    )
    const { leaveOut } = this.#registration
    return inner.flatMap((entry) => {
      try {
        return [[entry, this.#entry(entry)] as const]
      } catch (error) {
        if (leaveOut === undefined || !(error instanceof RegistrationError)) throw error
        leaveOut(entry, error)
        return []
      }
    })
  }

  #entry(entry: Entry): Entry {
    switch (entry.kind) {
      case "tool":
        return this.#tool(entry)
      case "prompt":
        return this.#prompt(entry)
      case "resource":
        return this.#resource(entry)
      case "template":
        return this.#template(entry)
    }
  }

  #tool(tool: ToolEntry): ToolEntry {
    const name = this.#name(tool.name)
    if (!validName.test(name)) {
      throw this.#error(`the name of the tool ${JSON.stringify(name)} is not allowed; use a shorter prefix`)
    }
    return {
      kind: "tool",
      group: this.#group,
      name,
      definition: { ...tool.definition, name },
      task: tool.task,
      scopes: tool.scopes,
      isConditional: tool.isConditional,
      call: (input, server) =>
        Effect.map(
          tool.call(input, server),
          (result) => result === hidden ? hidden : { ...result, content: this.#blocks(result.content) }
        )
    }
  }

  #prompt(prompt: PromptEntry): PromptEntry {
    const name = this.#name(prompt.name)
    return {
      ...prompt,
      group: this.#group,
      name,
      definition: { ...prompt.definition, name },
      get: (input, server) =>
        Effect.map(
          prompt.get(input, server),
          (result) => result === hidden ? hidden : { ...result, messages: this.#messages(result.messages) }
        )
    }
  }

  #resource(resource: ResourceEntry): ResourceEntry {
    const { definition } = resource
    const name = this.#name(resource.name)
    return {
      kind: "resource",
      group: this.#group,
      name,
      scopes: resource.scopes,
      isConditional: resource.isConditional,
      definition: { ...definition, name: this.#name(definition.name), uri: this.#outer(definition.uri) },
      read: (server) =>
        Effect.map(
          resource.read(server),
          (result) => result === hidden ? hidden : this.#contents(result, definition.uri)
        )
    }
  }

  #template(template: TemplateEntry): TemplateEntry {
    const { definition, fits, list } = template
    const uriTemplate = this.#outer(definition.uriTemplate)
    return {
      ...template,
      group: this.#group,
      name: this.#name(template.name),
      definition: { ...definition, name: this.#name(definition.name), uriTemplate },
      template: template.template === undefined ? undefined : this.#compiled(template.template, uriTemplate),
      ...(list === undefined ? undefined : {
        list: (server) =>
          Effect.map(
            list(server),
            (all) => all.map((one) => ({ ...one, name: this.#name(one.name), uri: this.#outer(one.uri) }))
          )
      }),
      ...(fits === undefined ? undefined : {
        fits: (variables, uri, server) => {
          const inner = this.#mount.uris.inner(uri)
          return inner === undefined ? Effect.undefined : fits(variables, inner, server)
        }
      }),
      read: (variables, uri, server) => {
        const inner = this.#mount.uris.inner(uri)
        return inner === undefined
          ? Effect.undefined
          : Effect.map(
            template.read(variables, inner, server),
            (result) => typeof result === "object" ? this.#contents(result, inner) : result
          )
      }
    }
  }

  #compiled(template: UriTemplate.UriTemplate, outer: string): UriTemplate.UriTemplate {
    const { maxUriLength } = template[Precedence.TypeId].pattern
    const made = UriTemplate.make<string>(outer, { shapes: template.shapes, maxUriLength })
    if (Result.isSuccess(made)) return made.success
    throw this.#error(made.failure.message)
  }

  #name(name: string): string {
    return `${this.#mount.namePrefix}${name}`
  }

  #outer(uri: string): string {
    const outer = this.#mount.uris.outer(uri)
    if (outer !== undefined) return outer
    throw this.#error(`"${uri}" does not begin with a scheme, so it takes no prefix; set uris: "unchanged"`)
  }

  #error(problem: string): RegistrationError {
    return new RegistrationError({ group: this.#group, problem })
  }

  /** Returns the outer form of a URI in a result, if the URI belongs to the mount. Others lead elsewhere. */
  #linked(uri: string): string {
    const normalized = Matching.normalize(uri)
    const isOwn = [...this.#mount.groups].some((group) => group.owns(uri, normalized))
    return isOwn ? this.#mount.uris.outer(uri) ?? uri : uri
  }

  #block<B extends Content.ContentBlock | Prompt.PromptMessage["content"]>(block: B): B {
    if (block.type === "resource_link") return { ...block, uri: this.#linked(block.uri) }
    if (block.type === "resource") {
      return { ...block, resource: { ...block.resource, uri: this.#linked(block.resource.uri) } }
    }
    return block
  }

  #messages(messages: ReadonlyArray<Prompt.PromptMessage>): ReadonlyArray<Prompt.PromptMessage> {
    return messages.map((message) => ({ ...message, content: this.#block(message.content) }))
  }

  #blocks(blocks: ReadonlyArray<Content.ContentBlock>): ReadonlyArray<Content.ContentBlock> {
    return blocks.map((block) => this.#block(block))
  }

  /** Returns the result of reading a resource, with the URIs that clients see. */
  #contents(result: Resource.ReadResourceResult, read: string): Resource.ReadResourceResult {
    return {
      ...result,
      contents: result.contents.map((content) => ({
        ...content,
        uri: content.uri === read ? this.#mount.uris.outer(read) ?? read : this.#linked(content.uri)
      }))
    }
  }

  /** Reads a resource that is in no list of the group. */
  unlisted(read: Unlisted): Unlisted {
    return (uri, server) => {
      const inner = this.#mount.uris.inner(uri)
      return inner === undefined
        ? Effect.undefined
        : Effect.map(
          read(inner, server),
          (result) => typeof result === "object" ? this.#contents(result, inner) : result
        )
    }
  }
}

/** A group under a prefix. */
export interface MountedRegistration {
  readonly group: MountedGroup
  readonly registration: Registration
  /** Returns the outer form of members that replace those of the registration. */
  readonly entries: (inner: ReadonlyArray<Entry>) => ReadonlyArray<Entry>
}

/** Mounts a group. Throws a `RegistrationError` if a member cannot have the prefix. */
export const make = (registration: Registration, mount: Mount): MountedRegistration => {
  const group = new MountedGroup(mount, registration)
  const innerOf = new WeakMap<Entry, Entry>()
  let outerOf = new Map<Entry, Entry>()
  const entries = (inner: ReadonlyArray<Entry>) => {
    // A member that stays is the same object outside as well, so that its list does not change.
    const pairs = group.entries(inner).map(([own, outer]) => [own, outerOf.get(own) ?? outer] as const)
    outerOf = new Map(pairs)
    for (const [own, outer] of pairs) innerOf.set(outer, own)
    return pairs.map(([, outer]) => outer)
  }
  const { leaveOut, observe, permits, unlisted, visible, ...rest } = registration
  return {
    group,
    entries,
    registration: {
      ...rest,
      group: `${mount.namePrefix}${registration.group}`,
      entries: entries(registration.entries),
      visible: visible === undefined ? undefined : (listed, method, server) =>
        Effect.map(
          visible(listed.flatMap((entry) => innerOf.get(entry) ?? []), method, server),
          (seen) => {
            const shown = new Set<Entry>(seen)
            return listed.filter((entry) => {
              const inner = innerOf.get(entry)
              return inner !== undefined && shown.has(inner)
            })
          }
        ),
      ...(leaveOut === undefined ? undefined : { leaveOut }),
      ...(unlisted === undefined ? undefined : { unlisted: group.unlisted(unlisted) }),
      ...(permits === undefined ? undefined : {
        permits: (uri: string, server: ServerContext) => {
          const inner = mount.uris.inner(uri)
          return inner === undefined ? Effect.succeed(false) : permits(inner, server)
        }
      }),
      ...(observe === undefined ? undefined : {
        observe: (uri: string) => {
          const inner = mount.uris.inner(uri)
          return inner === undefined ? Effect.fail(McpError.resourceNotFound(uri)) : observe(inner)
        }
      })
    }
  }
}

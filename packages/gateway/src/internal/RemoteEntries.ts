/** The members of a proxied server, as the registry keeps them. */

import type { Completion, MethodTable, Prompt, Resource, Tool } from "@effect-mcp/protocol"
import { Excerpt, ParameterHeader } from "@effect-mcp/protocol/internal"
import { ArgumentHeaders, type RegistryEntry, Tasks, validName } from "@effect-mcp/server/internal"
import * as UriTemplate from "@effect-mcp/server/UriTemplate"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** Sends a request to the proxied server, on behalf of the client whose request is being served. */
export type Forward = <Name extends ForwardedMethod>(
  name: Name,
  params: MethodTable.ParamsOf<Name>,
  use: Use
) => RegistryEntry.Served<MethodTable.ResultOf<Name>>

/** The use of a member by a request: its name or URI, its arguments, and the server that serves it. */
export interface Use {
  readonly name: string
  readonly arguments: unknown
  readonly server: RegistryEntry.ServerContext
}

/** The methods that are forwarded. */
export type ForwardedMethod = "tools/call" | "prompts/get" | "resources/read" | "completion/complete"

/** A proxied server. */
export interface Remote {
  readonly group: string
  readonly forward: Forward
  readonly completes: boolean
}

/** The definitions of a proxied server. */
export interface Lists {
  readonly tools: ReadonlyArray<Tool.Tool>
  readonly prompts: ReadonlyArray<Prompt.Prompt>
  readonly resources: ReadonlyArray<Resource.Resource>
  readonly templates: ReadonlyArray<Resource.ResourceTemplate>
}

/** A member that is left out, with the reason. */
export interface LeftOut {
  readonly member: string
  readonly problem: string
}

/** The greatest length of a URI or a template of a proxied server, in characters. */
const maxUriLength = 8_192

/**
 * The bounds of the templates that are matched here. Matching takes steps in proportion to the templates and the URI,
 * so the list of one server must not be able to occupy the process. The server itself reads the URIs of its other
 * templates.
 */
const matchable = { variables: 8, characters: 128, allCharacters: 2_048, maxUriLength: 1_024 }

/** Makes the members of a proxied server. A definition that has not changed keeps its member. */
export class RemoteEntries {
  readonly #remote: Remote
  /** The members by their kind and definition. */
  #known: ReadonlyMap<string, RegistryEntry.Entry> = new Map()

  constructor(remote: Remote) {
    this.#remote = remote
  }

  /** Returns the members of these lists, and those that cannot be served. */
  of(lists: Lists): { readonly entries: ReadonlyArray<RegistryEntry.Entry>; readonly leftOut: ReadonlyArray<LeftOut> } {
    const leftOut: Array<LeftOut> = []
    const known = new Map<string, RegistryEntry.Entry>()
    const add = (
      kind: RegistryEntry.Kind,
      definition: object,
      make: () => RegistryEntry.Entry | LeftOut,
      variant = ""
    ) => {
      const key = `${kind}${variant} ${JSON.stringify(definition)}`
      const made = this.#known.get(key) ?? make()
      if ("problem" in made) leftOut.push(made)
      else known.set(key, made)
    }
    for (const tool of lists.tools) add("tool", tool, () => this.#tool(tool))
    for (const prompt of lists.prompts) add("prompt", prompt, () => this.#prompt(prompt))
    for (const resource of lists.resources) add("resource", resource, () => this.#resource(resource))
    let characters = 0
    for (const template of lists.templates) {
      characters += template.uriTemplate.length
      const isMatched = characters <= matchable.allCharacters
      // A template can come within the bounds when others are removed, and then it is another member.
      add("template", template, () => this.#template(template, isMatched), isMatched ? " that is matched" : "")
    }
    this.#known = known
    return { entries: [...known.values()], leftOut }
  }

  #tool(definition: Tool.Tool): RegistryEntry.ToolEntry | LeftOut {
    const { name } = definition
    if (!validName.test(name)) {
      return {
        member: `tool ${Excerpt.name(name)}`,
        problem: "its name is not allowed; names have 1 to 128 of the characters A-Z, a-z, 0-9, _, . and -"
      }
    }
    if (definition.execution?.taskSupport === "required") {
      return { member: `tool "${name}"`, problem: "it runs as a task only, and a proxy passes no tasks on" }
    }
    const headers = ParameterHeader.of(definition.inputSchema)
    if (Result.isFailure(headers)) {
      // A client over HTTP leaves it out as well (SHE-26).
      return { member: `tool "${name}"`, problem: `one of its arguments has a header, and ${headers.failure}` }
    }
    return {
      kind: "tool",
      group: this.#remote.group,
      name,
      // Its tasks are those of the remote server, which a proxy does not pass on.
      definition: Tasks.withoutTasks(definition),
      call: (input, server) =>
        ArgumentHeaders.checked(
          headers.success,
          input,
          this.#remote.forward("tools/call", input === undefined ? { name } : { name, arguments: input }, {
            name,
            arguments: input ?? {},
            server
          })
        )
    }
  }

  #prompt(definition: Prompt.Prompt): RegistryEntry.PromptEntry {
    const { name } = definition
    return {
      kind: "prompt",
      group: this.#remote.group,
      name,
      definition,
      get: (input, server) =>
        this.#remote.forward("prompts/get", { name, arguments: input }, { name, arguments: input, server }),
      complete: this.#complete({ type: "ref/prompt", name }),
      isCompletable: this.#remote.completes
    }
  }

  #resource(definition: Resource.Resource): RegistryEntry.ResourceEntry | LeftOut {
    const { uri } = definition
    if (!URL.canParse(uri) || uri.length > maxUriLength) {
      return {
        member: `resource ${Excerpt.name(uri)}`,
        problem: "its URI is not absolute, or too long"
      }
    }
    return {
      kind: "resource",
      group: this.#remote.group,
      // The names of resources are not unique on other servers. Their URIs are.
      name: uri,
      definition,
      read: (server) => this.#remote.forward("resources/read", { uri }, { name: uri, arguments: undefined, server })
    }
  }

  #template(definition: Resource.ResourceTemplate, isMatched: boolean): RegistryEntry.TemplateEntry | LeftOut {
    const { uriTemplate } = definition
    const expander = UriTemplate.expander<string>(uriTemplate)
    if (Result.isFailure(expander)) {
      return { member: `template ${Excerpt.name(uriTemplate)}`, problem: expander.failure.message }
    }
    const isSimple = uriTemplate.length <= matchable.characters &&
      expander.success.variables.length <= matchable.variables
    const template = isMatched && isSimple
      ? UriTemplate.make<string>(uriTemplate, { maxUriLength: matchable.maxUriLength })
      : Result.fail(undefined)
    return {
      kind: "template",
      group: this.#remote.group,
      name: uriTemplate,
      definition,
      // The server itself reads the URIs of a template that cannot be matched here.
      template: Result.getOrUndefined(template),
      read: (_, uri, server) =>
        this.#remote.forward("resources/read", { uri }, { name: uri, arguments: undefined, server }),
      complete: this.#complete({ type: "ref/resource", uri: uriTemplate }),
      isCompletable: this.#remote.completes
    }
  }

  #complete(ref: Completion.CompleteParams["ref"]): RegistryEntry.Complete {
    const name = ref.type === "ref/prompt" ? ref.name : ref.uri
    return (completing, server) => {
      const { argument, others, typed } = completing
      return Effect.map(
        this.#remote.forward("completion/complete", {
          ref,
          argument: { name: argument, value: typed },
          ...(Object.keys(others).length === 0 ? undefined : { context: { arguments: others } })
        }, { name, arguments: completing, server }),
        ({ completion }) => completion
      )
    }
  }
}

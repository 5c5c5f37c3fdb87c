/** The names of the tools and prompts of a group, and the members that have them. */

import type { Prompt, Tool } from "@effect-mcp/protocol"
import type * as GroupList from "../../GroupList.ts"
import { NameTable } from "./NameTable.ts"
import * as PublicNames from "./PublicNames.ts"

/** The two kinds of members that have names of the group. */
export type Kind = "tool" | "prompt"

/** Options of the names of a group. */
export interface GroupNamesOptions {
  readonly rules: PublicNames.NameRules
  /** Returns the wished name of a tool, or `undefined` to leave it out. Without it, each tool has its given name. */
  readonly toolName: ((tool: GroupList.GroupTool) => string | undefined) | undefined
}

/** The list that a server had when its tools were named last, and the named tools. */
interface NamedTools {
  readonly list: ReadonlyArray<Tool.Tool>
  readonly named: ReadonlyArray<GroupList.GroupTool>
}

const groupTool = (server: string) => (definition: Tool.Tool, name: string): GroupList.GroupTool => ({
  ...definition,
  name,
  server,
  definition
})

const groupPrompt = (server: string) => (definition: Prompt.Prompt, name: string): GroupList.GroupPrompt => ({
  ...definition,
  name,
  server,
  definition
})

/** Returns the members of a list that the group has given names to, each original name once. */
const named = <A extends { readonly name: string }, B>(
  list: ReadonlyArray<A>,
  given: ReadonlyMap<string, string>,
  toGroup: (definition: A, name: string) => B
): ReadonlyArray<B> => {
  const left = new Map(given)
  return list.flatMap((definition) => {
    const name = left.get(definition.name)
    left.delete(definition.name)
    return name === undefined ? [] : [toGroup(definition, name)]
  })
}

/** The names that a group has given. */
export class GroupNames {
  readonly #options: GroupNamesOptions
  readonly #tables: { readonly [Name in Kind]: NameTable }
  readonly #named = new Map<string, NamedTools>()

  constructor(options: GroupNamesOptions) {
    this.#options = options
    this.#tables = { tool: new NameTable(options.rules), prompt: new NameTable(options.rules) }
  }

  /** Returns whether these are the tools of a server that were named last. */
  isNamed(server: string, tools: ReadonlyArray<Tool.Tool>): boolean {
    const before = this.#named.get(server)?.list
    // A list that is read again may have the same members, from the pages that the session has kept.
    return before?.length === tools.length && before.every((tool, index) => tool === tools[index])
  }

  /** Returns the tools of one server with the names of the group. */
  tools(server: string, tools: ReadonlyArray<Tool.Tool>): ReadonlyArray<GroupList.GroupTool> {
    const { rules, toolName } = this.#options
    const before = this.#named.get(server)
    if (before?.list === tools && toolName === undefined) return before.named
    const toGroup = groupTool(server)
    const given = this.#tables.tool.assign(server, tools.map(({ name }) => name), (name, index) => {
      const tool = tools[index]
      const given = PublicNames.nameOf({ server, name }, rules)
      return tool === undefined || toolName === undefined ? given : toolName(toGroup(tool, given))
    })
    const all = named(tools, given, toGroup)
    this.#named.set(server, { list: tools, named: all })
    return all
  }

  /** Returns the prompts of one server with the names of the group. */
  prompts(server: string, prompts: ReadonlyArray<Prompt.Prompt>): ReadonlyArray<GroupList.GroupPrompt> {
    const { rules } = this.#options
    const names = prompts.map(({ name }) => name)
    const given = this.#tables.prompt.assign(server, names, (name) => PublicNames.nameOf({ server, name }, rules))
    return named(prompts, given, groupPrompt(server))
  }

  /** Returns the origin of a name. */
  find(kind: Kind, name: string): PublicNames.Origin | undefined {
    return this.#tables[kind].find(name)
  }

  /** Removes the names of a server. */
  remove(server: string): void {
    this.#named.delete(server)
    this.#tables.tool.remove(server)
    this.#tables.prompt.remove(server)
  }
}

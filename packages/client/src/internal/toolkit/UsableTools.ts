/** The tools of a group that a provider of a model gets. */

import { ModelSchema, type Tool } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as GroupList from "../../GroupList.ts"
import { LogLimit } from "../logs/LogLimit.ts"

/** A tool as a provider gets it. */
export interface UsableTool {
  readonly tool: GroupList.GroupTool
  readonly description: string | undefined
  readonly schema: Tool.ObjectSchema
  /** The names of arguments that the tool has, by those of the schema. Only names that differ. */
  readonly names: ReadonlyMap<string, string>
}

/** Options of the tools for a provider. */
export interface UsableToolsOptions {
  readonly schema: ((tool: GroupList.GroupTool) => Tool.ObjectSchema | undefined) | undefined
  readonly maxTools: number
  /** The greatest length of all descriptions and schemas, which are in each request. */
  readonly maxToolCharacters: number
}

/** The number of tools that are left out with a warning. */
const maxWarned = 1_000

/** The greatest length of a description. */
const maxDescription = 16_384

/** The names of tools that all large providers accept. */
const allowedName = /^[\w-]{1,64}$/

const problemOfName = (name: string): string | undefined =>
  allowedName.test(name)
    ? undefined
    : "providers do not accept its name; make the group with the option names: \"model\""

/** A call of such a tool is rejected: the toolkit calls tools without tasks. */
const problemOfTask = ({ execution }: GroupList.GroupTool): string | undefined =>
  execution?.taskSupport === "required" ? "it runs as a task only; call it by tasks.call of its client" : undefined

const descriptionOf = ({ description = "" }: GroupList.GroupTool): string | undefined =>
  description.trim() === "" ? undefined : Excerpt.of(description, maxDescription).toWellFormed()

/** The lengths of schemas as JSON. A list that has not changed has the same schemas. */
const lengths = new WeakMap<Tool.ObjectSchema, number>()

const lengthOf = ({ description = "", schema }: UsableTool): number => {
  const length = lengths.get(schema) ?? JSON.stringify(schema).length
  lengths.set(schema, length)
  return description.length + length
}

/** Returns as many tools as a request may have, from each server in turn, so that no server displaces the others. */
const within = (
  tools: ReadonlyArray<UsableTool>,
  { maxToolCharacters, maxTools }: UsableToolsOptions
): ReadonlyArray<UsableTool> => {
  const total = tools.reduce((sum, usable) => sum + lengthOf(usable), 0)
  if (tools.length <= maxTools && total <= maxToolCharacters) return tools
  const chosen = new Set<UsableTool>()
  let characters = 0
  const byServer = new Map<string, Array<UsableTool>>()
  for (const usable of tools) {
    const list = byServer.get(usable.tool.server) ?? []
    byServer.set(usable.tool.server, list)
    list.push(usable)
  }
  const servers = [...byServer.values()]
  const longest = servers.reduce((longest, { length }) => Math.max(longest, length), 0)
  for (let turn = 0; turn < longest && chosen.size < maxTools; turn++) {
    for (const list of servers) {
      const usable = list[turn]
      if (usable === undefined || chosen.size >= maxTools) continue
      const next = characters + lengthOf(usable)
      if (next > maxToolCharacters) continue
      characters = next
      chosen.add(usable)
    }
  }
  return tools.filter((usable) => chosen.has(usable))
}

/** Leaves out tools, and warns of each once. */
class Selection {
  /** The schemas that were converted. A list that has not changed has the same ones. */
  readonly #schemas = new WeakMap<Tool.ObjectSchema, Result.Result<ModelSchema.ModelSchema, string>>()
  readonly #warned = new Set<string>()
  readonly #limit = new LogLimit(
    { burst: 10, perSecond: 1 },
    (leftOut) => Effect.logWarning(`${leftOut} more tools are not offered to the model`)
  )

  of(
    tools: ReadonlyArray<GroupList.GroupTool>,
    options: UsableToolsOptions
  ): Effect.Effect<ReadonlyArray<UsableTool>> {
    return Effect.gen({ self: this }, function*() {
      const { maxToolCharacters, maxTools, schema } = options
      const usable: Array<UsableTool> = []
      for (const tool of tools) {
        // A server decides the number and the size of schemas. Other fibers and timers run between two of them.
        if (!this.#schemas.has(tool.inputSchema)) yield* Effect.yieldNow
        const converted = this.#schemaOf(tool.inputSchema)
        const problem = problemOfName(tool.name) ?? problemOfTask(tool) ??
          (Result.isFailure(converted) ? `${converted.failure}; simplify the schema` : undefined)
        if (problem !== undefined || Result.isFailure(converted)) {
          yield* this.#warn(tool.name, `the tool ${Excerpt.name(tool.name)} is not offered to the model: ${problem}`)
          continue
        }
        const { names, schema: inputSchema } = converted.success
        const given = schema === undefined ? inputSchema : schema({ ...tool, inputSchema })
        if (given !== undefined) usable.push({ tool, names, schema: given, description: descriptionOf(tool) })
      }
      const offered = within(usable, options)
      if (offered.length < usable.length) {
        yield* this.#warn(
          "",
          `only ${offered.length} of ${usable.length} tools are offered to the model, because a request has at most ` +
            `${maxTools} tools with ${maxToolCharacters} characters; choose tools with the option toolName of the ` +
            "group, or set maxTools and maxToolCharacters"
        )
      }
      return offered
    })
  }

  #schemaOf(schema: Tool.ObjectSchema): Result.Result<ModelSchema.ModelSchema, string> {
    const converted = this.#schemas.get(schema) ?? ModelSchema.of(schema)
    this.#schemas.set(schema, converted)
    return converted
  }

  #warn(subject: string, message: string): Effect.Effect<void> {
    if (this.#warned.has(subject) || this.#warned.size === maxWarned) return Effect.void
    this.#warned.add(subject)
    return this.#limit.within(Effect.logWarning(message))
  }
}

const selections = new WeakMap<object, Selection>()

/** Returns what a provider gets of the tools of this group. */
export const of = (
  group: object,
  tools: ReadonlyArray<GroupList.GroupTool>,
  options: UsableToolsOptions
): Effect.Effect<ReadonlyArray<UsableTool>> => {
  // Each generation makes the toolkit of its group anew.
  const selection = selections.get(group) ?? new Selection()
  selections.set(group, selection)
  return selection.of(tools, options)
}

/** Returns arguments with the names that the tool gives them. */
export const argumentsOf = (
  { names }: UsableTool,
  input: { readonly [name: string]: unknown }
): { readonly [name: string]: unknown } =>
  names.size === 0
    ? input
    : Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]))

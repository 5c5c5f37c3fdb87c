/** The tools that a server offers to the model with a question. */

import { ModelSchema, type Sampling, type Tool as McpTool } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

/** A tool of a server, as the model knows it. The client never runs it. */
type OfferedTool = Tool.Dynamic<string, {
  readonly parameters: McpTool.ObjectSchema
  readonly success: typeof Schema.Unknown
  readonly failure: typeof Schema.Never
  readonly failureMode: "error"
}>

/** The tools as a toolkit whose tools never run. */
export type SamplingToolkit = Toolkit.WithHandler<Record<string, OfferedTool>>

/** A use of a tool: its name and its arguments. */
type Use = Pick<Sampling.ToolUseContent, "name" | "input">

/** The greatest number of tools of a question, and the greatest length of their descriptions and schemas. */
const max = { tools: 128, characters: 524_288 }

const renamed = (input: Use["input"], names: ReadonlyMap<string, string>): Use["input"] =>
  names.size === 0
    ? input
    : Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]))

const inverse = (names: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map(Array.from(names, ([one, other]) => [other, one]))

/** Returns a name with characters that all providers accept. */
const readable = (name: string): string => name.replace(/[^\w-]+/g, "_").slice(0, 56) || "tool"

/** Gives the tools of a server the names that providers accept, and translates their uses in both directions. */
export class SamplingTools {
  readonly #tools: Array<OfferedTool> = []
  readonly #arguments = new Map<string, ReadonlyMap<string, string>>()
  /** The names of tools for the model, by those of the server. */
  readonly #given = new Map<string, string>()
  readonly #own = new Map<string, string>()
  #characters = 0

  /** Adds a tool, or returns its problem. */
  add({ description, inputSchema, name }: McpTool.Tool): string | undefined {
    if (this.#given.has(name)) return `two tools have the name ${Excerpt.name(name)}`
    const converted = ModelSchema.of(inputSchema)
    if (Result.isFailure(converted)) return `the tool ${Excerpt.name(name)}: ${converted.failure}`
    const { names, schema } = converted.success
    this.#characters += (description?.length ?? 0) + JSON.stringify(schema).length
    if (this.#characters > max.characters) return `tools: expected at most ${max.characters} characters`
    const wished = readable(name)
    let given = wished
    for (let number = 2; this.#own.has(given); number++) given = `${wished}_${number}`
    this.#given.set(name, given)
    this.#own.set(given, name)
    this.#arguments.set(name, names)
    const text = description?.toWellFormed()
    this.#tools.push(Tool.dynamic(given, { description: text, parameters: schema }))
    return undefined
  }

  get toolkit(): SamplingToolkit {
    return {
      tools: Object.fromEntries(this.#tools.map((tool) => [tool.name, tool])),
      handle: (name) => Effect.die(new Error(`the client does not run the tool ${String(name)} of a server`))
    }
  }

  /** Returns the name that the model knows a tool by. */
  nameOf(name: string): string {
    return this.#given.get(name) ?? readable(name)
  }

  /** Returns a use of an earlier message with the names that the model knows. */
  forModel({ input, name }: Use): Use {
    return { name: this.nameOf(name), input: renamed(input, inverse(this.#arguments.get(name) ?? new Map())) }
  }

  /** Returns a use of the model with the names of the server. */
  forServer({ input, name: given }: Use): Use {
    const name = this.#own.get(given) ?? given
    return { name, input: renamed(input, this.#arguments.get(name) ?? new Map()) }
  }
}

/** Converts the tools of a question. Fails with the problem of one that no provider accepts. */
export const make = Effect.fnUntraced(function*(
  offered: ReadonlyArray<McpTool.Tool>
): Effect.fn.Return<SamplingTools, string> {
  if (offered.length > max.tools) {
    return yield* Effect.fail(`tools: expected at most ${max.tools}, got ${offered.length}`)
  }
  const tools = new SamplingTools()
  for (const tool of offered) {
    // A server decides the size of schemas. Other fibers and timers run between two of them.
    yield* Effect.yieldNow
    const problem = tools.add(tool)
    if (problem !== undefined) return yield* Effect.fail(problem)
  }
  return tools
})

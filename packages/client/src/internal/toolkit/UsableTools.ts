/** The tools of a group that a provider of a model gets. */

import type { Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as GroupList from "../../GroupList.ts"
import * as excerpts from "../excerpts.ts"
import { LogLimit } from "../logs/LogLimit.ts"
import * as ToolSchemas from "./ToolSchemas.ts"

/** The number of tools that are left out with a warning. */
const maxWarned = 1_000

/** Leaves out tools, and warns of each once. */
class Selection {
  /** The problems of the schemas that were checked. A list that has not changed has the same ones. */
  readonly #problems = new WeakMap<Tool.ObjectSchema, string | undefined>()
  readonly #warned = new Set<string>()
  readonly #limit = new LogLimit(
    { burst: 10, perSecond: 1 },
    (leftOut) => Effect.logWarning(`${leftOut} more tools are not offered to the model, because of their input schemas`)
  )

  of(tools: ReadonlyArray<GroupList.GroupTool>): Effect.Effect<ReadonlyArray<GroupList.GroupTool>> {
    return Effect.filter(tools, (tool) => {
      const problem = this.#problemOf(tool.inputSchema)
      return problem === undefined ? Effect.succeed(true) : Effect.as(this.#warn(tool.name, problem), false)
    })
  }

  #problemOf(schema: Tool.ObjectSchema): string | undefined {
    if (!this.#problems.has(schema)) this.#problems.set(schema, ToolSchemas.problemOf(schema))
    return this.#problems.get(schema)
  }

  #warn(tool: string, problem: string): Effect.Effect<void> {
    if (this.#warned.has(tool) || this.#warned.size === maxWarned) return Effect.void
    this.#warned.add(tool)
    return this.#limit.within(
      Effect.logWarning(`the tool ${excerpts.name(tool)} is not offered to the model: ${problem}; simplify the schema`)
    )
  }
}

const selections = new WeakMap<object, Selection>()

/** Leaves out tools of this group. */
export const of = (
  group: object,
  tools: ReadonlyArray<GroupList.GroupTool>
): Effect.Effect<ReadonlyArray<GroupList.GroupTool>> => {
  // Each generation makes the toolkit of its group anew.
  const selection = selections.get(group) ?? new Selection()
  selections.set(group, selection)
  return selection.of(tools)
}

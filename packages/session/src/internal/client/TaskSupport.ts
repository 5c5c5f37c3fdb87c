/** Which tools of a server run as tasks, as its lists say (TSK-04, TSK-05). */

import type { Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { RequestError } from "../../RequestError.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"

/** Whether a tool runs as a task. */
export type Support = NonNullable<NonNullable<Tool.Tool["execution"]>["taskSupport"]>

/** The most tools that are stored, and the characters of all their names. */
const bounds = { size: 10_000, weight: 1_048_576 }

/** The support of the tools that the session has listed last. */
export class TaskSupport {
  readonly #list: Stream.Stream<Tool.Tool, RequestError>
  readonly #known = LeastRecentlyUsed.make<Support>(bounds)

  constructor(list: Stream.Stream<Tool.Tool, RequestError>) {
    this.#list = list
  }

  /** Stores what a page of a list says. */
  observe(tools: ReadonlyArray<Tool.Tool>): void {
    for (const { execution, name } of tools) this.#known.set(name, execution?.taskSupport ?? "forbidden", name.length)
  }

  /** Forgets all tools, because the list has changed. */
  clear(): void {
    this.#known.clear()
  }

  /** Returns the support of a tool that was listed. */
  known(tool: string): Support | undefined {
    return this.#known.get(tool)
  }

  /** Returns the support of a tool. Lists the tools of the server, up to this one, if it is not known. */
  of(tool: string): Effect.Effect<Support, RequestError> {
    return Effect.suspend(() => {
      const known = this.#known.get(tool)
      if (known !== undefined) return Effect.succeed(known)
      const found = Stream.runHead(Stream.filter(this.#list, ({ name }) => name === tool))
      return Effect.map(found, () => this.#known.get(tool) ?? "forbidden")
    })
  }
}

/**
 * The lists of a group of servers: their elements, their changes, and the lists that are missing.
 *
 * @stability unstable
 */
import type { Prompt, Resource, Tool } from "@effect-mcp/protocol"
import type { Absence } from "./internal/lists/BoundedList.ts"
import type * as McpClient from "./McpClient.ts"

/**
 * A tool of a group. `name` is the name that the group gives it, and `definition` is what its server lists.
 *
 * @category models
 */
export interface GroupTool extends Tool.Tool {
  readonly server: string
  readonly definition: Tool.Tool
}

/**
 * A prompt of a group. `name` is the name that the group gives it, and `definition` is what its server lists.
 *
 * @category models
 */
export interface GroupPrompt extends Prompt.Prompt {
  readonly server: string
  readonly definition: Prompt.Prompt
}

/**
 * A resource of a group, with its server.
 *
 * @category models
 */
export interface GroupResource extends Resource.Resource {
  readonly server: string
}

/**
 * A resource template of a group, with its server.
 *
 * @category models
 */
export interface GroupResourceTemplate extends Resource.ResourceTemplate {
  readonly server: string
}

/**
 * A list of a server that the last merged list lacks, or has an old state of.
 *
 * - `Down`: the server was down.
 * - `Slow`: the list was not there within `withinMillis`. The merged list has the state that was read last, if the
 *   server has been there. The reading goes on, and `changes` reports when the list has arrived.
 * - `Failed`: the server answered with an error, or the client could not reach it.
 *
 * @category models
 */
export interface Omission {
  readonly list: "tools" | "prompts" | "resources" | "resourceTemplates"
  readonly reason: Absence
}

/**
 * A change of a list of one server.
 *
 * @category models
 */
export interface ListChange {
  readonly server: string
  readonly list: McpClient.ListName
}

/**
 * Fingerprints of tools. A host stores those of the tools that its user has approved, and notices a tool that has
 * changed since then.
 *
 * @stability unstable
 */
import type { Tool } from "@effect-mcp/protocol"
import { CanonicalJson } from "@effect-mcp/protocol/internal"
import * as Sha256 from "./internal/Sha256.ts"

/**
 * The members of a tool that its fingerprint covers: those that a model sees, and those on which the decision to allow
 * the tool rests. `icons`, `execution` and `_meta` are for programs, and change without another meaning of the tool.
 *
 * @category constants
 */
export const members = [
  "name",
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "annotations"
] as const satisfies ReadonlyArray<keyof Tool.Tool>

/**
 * Returns the fingerprint of a tool: `sha256:` and the SHA-256 of the canonical JSON (RFC 8785) of its
 * {@link members}, in hexadecimal digits. It does not depend on the order of members, at any depth.
 *
 * The fingerprint of a tool of a group is that of its `definition`, because the group changes its name.
 *
 * @example
 * ```ts
 * import { ToolFingerprint } from "@effect-mcp/client"
 *
 * const tool = { name: "read", description: "Reads a file.", inputSchema: { type: "object" } } as const
 *
 * export const isSame = ToolFingerprint.of(tool) === ToolFingerprint.of({ ...tool, description: "Reads any file." })
 * // => false
 * ```
 *
 * @category accessors
 */
export const of = (tool: Tool.Tool): string => {
  const covered = members.flatMap((member) => tool[member] === undefined ? [] : [[member, tool[member]]])
  return `sha256:${Sha256.hexOf(CanonicalJson.textOf(Object.fromEntries(covered)))}`
}

/**
 * The differences between approved tools and those that a server lists now, by their names.
 *
 * @category models
 */
export interface Differences {
  readonly added: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
}

/**
 * Compares the fingerprints of approved tools, by their names, with the tools that a server lists now.
 *
 * @example
 * ```ts
 * import { ToolFingerprint } from "@effect-mcp/client"
 *
 * const read = { name: "read", inputSchema: { type: "object" } } as const
 * const approved = { read: ToolFingerprint.of(read) }
 *
 * export const differences = ToolFingerprint.compare(approved, [{ ...read, description: "Reads, and sends it away." }])
 * // => { added: [], changed: ["read"], removed: [] }
 * ```
 *
 * @category combinators
 */
export const compare = (
  approved: { readonly [name: string]: string },
  tools: ReadonlyArray<Tool.Tool>
): Differences => {
  const before = new Map(Object.entries(approved))
  const names = new Set(tools.map(({ name }) => name))
  // A server that lists a name twice could otherwise pass the approved tool along with another one.
  const changed = new Set(tools.flatMap((tool) => {
    const print = before.get(tool.name)
    return print === undefined || print === of(tool) ? [] : [tool.name]
  }))
  return {
    added: [...names].filter((name) => !before.has(name)),
    changed: [...changed],
    removed: [...before.keys()].filter((name) => !names.has(name))
  }
}

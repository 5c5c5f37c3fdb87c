/** The members that every result has in a revision without a handshake, whatever its method. */

import { RequestMetadata } from "@effect-mcp/protocol"

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Returns a complete result without its type and without the name of the server, as older revisions have it. A program
 * that passes results on, or compares them, then needs no knowledge of the revision.
 */
export const open = (result: unknown): unknown => {
  if (!isMembers(result)) return result
  const { _meta, resultType: _, ...rest } = result
  if (!isMembers(_meta)) return "_meta" in result ? { ...rest, _meta } : rest
  const { [RequestMetadata.keys.serverInfo]: __, ...meta } = _meta
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
}

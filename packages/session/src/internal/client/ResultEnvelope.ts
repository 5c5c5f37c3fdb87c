/** The members that every result has in a revision without a handshake, whatever its method. */

import { RequestMetadata, TaskExtension } from "@effect-mcp/protocol"
import * as Predicate from "effect/Predicate"

/**
 * Returns a complete result without its type and without the name of the server, as older revisions have it. A program
 * that passes results on, or compares them, then needs no knowledge of the revision.
 */
export const remove = (result: unknown): unknown => {
  if (!Predicate.isObject(result)) return result
  const { _meta, resultType, ...others } = result
  // A task is no result, and its type says so.
  const rest = resultType === TaskExtension.resultType ? { ...others, resultType } : others
  if (!Predicate.isObject(_meta)) return "_meta" in result ? { ...rest, _meta } : rest
  const { [RequestMetadata.keys.serverInfo]: __, ...meta } = _meta
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
}

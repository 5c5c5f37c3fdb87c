/** The member of a server that a request uses, as messages to operators name it. */

import type { JsonRpc } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"

/** The member of params that names the target, by method. Other methods have none. */
const members: ReadonlyMap<string, "name" | "uri"> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["resources/subscribe", "uri"],
  ["resources/unsubscribe", "uri"]
])

const memberOf = (method: string, params: JsonRpc.Params): unknown => {
  const member = members.get(method)
  if (member !== undefined) return params[member]
  const reference = method === "completion/complete" ? params["ref"] : undefined
  if (typeof reference !== "object" || reference === null) return undefined
  if ("name" in reference) return reference.name
  return "uri" in reference ? reference.uri : undefined
}

/**
 * Returns the method with the name or the URI of its target, such as `tools/call "weather"`. The peer chooses both, so
 * the target is cut and escaped.
 */
export const describe = ({ method, params }: JsonRpc.Request): string => {
  const target = params === undefined ? undefined : memberOf(method, params)
  return typeof target === "string" ? `${method} ${Excerpt.name(target)}` : method
}

/** Messages that no session has sent, as lines. */

import { JsonRpc, Revision } from "@effect-mcp/protocol"
import type * as Command from "./Command.ts"
import type { Last } from "./Recorder.ts"
import { resultFor } from "./simulatedTools.ts"

/** An id that no session assigns. */
const unassignedId = 4711

const frameOf = (
  what: Exclude<Command.Injection, "NotJson" | "MuchNotJson" | "LateProgress">,
  last: Last,
  number: number
): unknown => {
  switch (what) {
    case "Malformed":
      return { jsonrpc: "2.0", id: 1.5, method: "ping" }
    case "UnknownResponse":
      return JsonRpc.success(unassignedId, resultFor("unknown"))
    case "TextualId":
      return JsonRpc.success("1", resultFor("textual"))
    case "NullId":
      return { jsonrpc: "2.0", id: null, error: { code: -32700, message: "what?" } }
    case "RepeatedResponse":
      return last.response ?? JsonRpc.success(unassignedId, {})
    case "StrayProgress":
      return JsonRpc.notification("notifications/progress", { progressToken: "no-token", progress: 1 })
    case "Log":
      return JsonRpc.notification("notifications/message", { level: "info", data: number })
    case "StrayCancel":
      return JsonRpc.notification("notifications/cancelled", { requestId: unassignedId })
    case "Cancel":
      return JsonRpc.notification("notifications/cancelled", { requestId: last.request?.id ?? unassignedId })
    case "Initialize":
      return JsonRpc.request("again", "initialize", {
        protocolVersion: Revision.legacy[0],
        capabilities: {},
        clientInfo: { name: "intruder", version: "1.0.0" }
      })
    case "Initialized":
      return JsonRpc.notification("notifications/initialized")
    case "Request":
    case "DuplicateRequest": {
      const id = what === "Request" ? "injected" : last.request?.id ?? "injected"
      return JsonRpc.request(id, "tools/call", { name: "echo", arguments: { nonce: "intruder" } })
    }
  }
}

/** Returns progress of a request that has its response. */
export const lateProgress = (progressToken: JsonRpc.Response["id"]): string =>
  `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 99 } })}\n`

/** The id of the last request of a client. */
export const lastId = "last"

/** A request without the line feed that ends it. */
export const unterminated = JSON.stringify(
  JsonRpc.request(lastId, "tools/call", { name: "echo", arguments: { nonce: "unterminated" } })
)

const notJson = "npm warn {\n"

/**
 * Returns the line of an injected message. Some refer to the last message of the peer, others are distinguished by a
 * number.
 */
export const lineOf = (what: Exclude<Command.Injection, "LateProgress">, last: Last, number: number): string => {
  if (what === "NotJson") return notJson
  return what === "MuchNotJson" ? notJson.repeat(25) : `${JSON.stringify(frameOf(what, last, number))}\n`
}

/** Messages that no session has sent, as lines. */

import { JsonRpc, Revision } from "@effect-mcp/protocol"
import type { Recorder } from "@effect-mcp/testing/internal"
import type * as Command from "./Command.ts"
import type { Era } from "./Conversation.ts"
import { resultFor } from "./simulatedTools.ts"

/** The injections that are lines of their own. */
type Written = Exclude<Command.Injection, "LateProgress" | "TextualId">

/** An id that no session assigns. */
const unassignedId = 4711

/** The metadata of a request of revision 2026-07-28. */
const metadata = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "intruder", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} }
}

/** Returns a call of a tool, in the form of an era. */
const call = (
  era: Era,
  id: JsonRpc.Request["id"],
  name: Command.Tool,
  nonce: string,
  others: JsonRpc.Params = {}
): JsonRpc.Request =>
  JsonRpc.request(id, "tools/call", {
    name,
    arguments: { nonce },
    ...others,
    ...(era === "Modern" ? { _meta: metadata } : undefined)
  })

/** A state that no server has sealed. */
export const forgedState = "forged"

const frameOf = (
  what: Exclude<Written, "NotJson" | "MuchNotJson">,
  last: Recorder.Last,
  number: number,
  era: Era
): unknown => {
  switch (what) {
    case "Malformed":
      return { jsonrpc: "2.0", id: 1.5, method: "ping" }
    case "UnknownResponse":
      return JsonRpc.success(unassignedId, resultFor("unknown"))
    case "PaddedId":
      return JsonRpc.success("01", resultFor("padded"))
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
      return call(era, "injected", "echo", "intruder")
    case "DuplicateRequest":
      return call(era, last.request?.id ?? "injected", "echo", "intruder")
    case "RequestOfOtherEra":
      return call(era === "Modern" ? "Handshake" : "Modern", "other", "echo", "intruder")
    case "ForgedState":
      return call("Modern", "forged", "elicit", "intruder", { requestState: forgedState, inputResponses: {} })
  }
}

/** Returns progress of a request that has its response. */
export const lateProgress = (progressToken: JsonRpc.Response["id"]): string =>
  `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 99 } })}\n`

/** The id of the last request of a client. */
export const lastId = "last"

/** Returns a request without the line feed that ends it. */
export const unterminated = (era: Era): string => JSON.stringify(call(era, lastId, "echo", "unterminated"))

const notJson = "npm warn {\n"

/**
 * Returns the line of an injected message. Some refer to the last message of the peer, others are distinguished by a
 * number.
 */
export const lineOf = (
  what: Written,
  last: Recorder.Last,
  number: number,
  era: Era
): string => {
  if (what === "NotJson") return notJson
  return what === "MuchNotJson" ? notJson.repeat(25) : `${JSON.stringify(frameOf(what, last, number, era))}\n`
}

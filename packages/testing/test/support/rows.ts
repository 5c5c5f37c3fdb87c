import { type Method, Methods } from "@effect-mcp/protocol"

/** The row of a request or of a notification that this side may send. */
export const rowOf = (method: string, from: Method.Role): Methods.AnyRequest | Methods.AnyNotification | undefined =>
  Methods.findRequest(method, from) ?? Methods.findNotification(method, from)

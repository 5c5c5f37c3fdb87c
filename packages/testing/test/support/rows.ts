import { type MethodDefinition, MethodTable } from "@effect-mcp/protocol"

/** Returns the row of a request or a notification that this side may send. */
export const rowOf = (
  method: string,
  from: MethodDefinition.Role
): MethodTable.AnyRequest | MethodTable.AnyNotification | undefined =>
  MethodTable.findRequest(method, from) ?? MethodTable.findNotification(method, from)

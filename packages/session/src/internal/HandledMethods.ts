/** The names of the methods that a program can handle, because the session does not handle them itself. */

import type { MethodDefinition, MethodTable } from "@effect-mcp/protocol"

/** The names of the requests from `From` that a program can handle. */
export type RequestName<From extends MethodDefinition.Role> = Exclude<
  MethodTable.RequestName<From>,
  "initialize" | "ping" | "server/discover"
>

/** The names of the notifications from `From` that a program can handle. */
export type NotificationName<From extends MethodDefinition.Role> = Exclude<
  MethodTable.NotificationName<From>,
  | "notifications/initialized"
  | "notifications/cancelled"
  | "notifications/progress"
  | "notifications/subscriptions/acknowledged"
>

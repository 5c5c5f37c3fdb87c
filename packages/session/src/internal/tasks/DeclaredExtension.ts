/** Clients that have declared the tasks extension, and the error for the others (TKX-02). */

import { McpError, type Profile, TaskExtension } from "@effect-mcp/protocol"

/** Returns whether a client has declared the extension. */
export const isIn = ({ capabilities }: Pick<Profile.Profile, "capabilities">): boolean =>
  Object.hasOwn(capabilities.extensions ?? {}, TaskExtension.name)

/** Returns the error of a request that needs the extension. */
export const missing = (method: string): McpError.McpError =>
  McpError.missingCapability(method, { extensions: { [TaskExtension.name]: {} } })

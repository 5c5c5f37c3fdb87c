/** Clients that have declared the tasks extension, and the error for the others (TKX-02). */

import { McpError, type Profile, Revision, TaskExtension } from "@effect-mcp/protocol"
import type { TaskSupport } from "./TaskEndpoint.ts"

/** Returns whether a client has declared the extension. */
export const isIn = ({ capabilities }: Pick<Profile.Profile, "capabilities">): boolean =>
  Object.hasOwn(capabilities.extensions ?? {}, TaskExtension.name)

/** Returns whether a client can call a tool with this support. */
export const isCallable = (
  support: TaskSupport,
  profile: Pick<Profile.Profile, "capabilities" | "revision">
): boolean => support !== "required" || !Revision.isModern(profile.revision) || isIn(profile)

/** Returns the error of a request that needs the extension. */
export const missing = (method: string): McpError.McpError =>
  McpError.missingCapability(method, { extensions: { [TaskExtension.name]: {} } })

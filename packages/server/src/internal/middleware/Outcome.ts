/** The outcome of a handler, as middleware can see it. */

import type { McpError } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { HandlerResult } from "../../McpMiddleware.ts"
import { hidden } from "../registry/Entry.ts"

/**
 * The outcome: a result; a result with `isError`; an error response; a defect; an interruption; or a member that the
 * client does not see.
 */
export type Outcome = "success" | "failure" | "error" | "defect" | "interrupted" | "hidden"

/** Returns the outcome of a handler that has returned. */
export const ofResult = (result: unknown): Outcome => {
  if (result === hidden) return "hidden"
  return typeof result === "object" && result !== null && "isError" in result && result.isError === true
    ? "failure"
    : "success"
}

/** Returns the outcome of a handler. */
export const of = (exit: Exit.Exit<HandlerResult, McpError.McpError>): Outcome => {
  if (Exit.isSuccess(exit)) return ofResult(exit.value)
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted"
  return Cause.hasFails(exit.cause) ? "error" : "defect"
}

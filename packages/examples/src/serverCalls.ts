/**
 * The calls of tools that the demonstration makes, for each server. The demonstration is the same with every server:
 * only the names of the tools and their arguments differ.
 */
import type { Prompt, Tool } from "@effect-mcp/protocol"

/** A request that the server answers with an error: the call of a tool, or one for a prompt. */
export type RejectedRequest =
  | { readonly method: "tools/call"; readonly params: Tool.CallToolParams }
  | { readonly method: "prompts/get"; readonly params: Prompt.GetPromptParams }

/** The calls of one server. */
export interface ServerCalls {
  /** Returns the sum of 15 and 27. */
  readonly sum: Tool.CallToolParams
  /** Reports ten steps of progress before its result. */
  readonly tenSteps: Tool.CallToolParams
  /** Reports progress soon, and takes longer than the demonstration waits. */
  readonly long: Tool.CallToolParams
  /** Fails as a tool: the response is a result with `isError`. */
  readonly failing: Tool.CallToolParams
  /** Fails as a request: the response is an error. */
  readonly rejected: RejectedRequest
  /** Makes the server send a log message. */
  readonly logging: Tool.CallToolParams
  /** Makes the server stop, if `logging` makes it send log messages continually. */
  readonly stopLogging?: Tool.CallToolParams
}

/** The calls for `calculator.ts`. */
export const calculator: ServerCalls = {
  sum: { name: "add", arguments: { a: 15, b: 27 } },
  tenSteps: { name: "count", arguments: { to: 10, delayMs: 80 } },
  long: { name: "count", arguments: { to: 20, delayMs: 150 } },
  failing: { name: "fail", arguments: { message: "division by zero" } },
  rejected: { method: "tools/call", params: { name: "divide", arguments: { a: 1, b: 0 } } },
  logging: { name: "log", arguments: { level: "warning", message: "the disk is nearly full" } }
}

/** The calls for the official `@modelcontextprotocol/server-everything`. */
export const everything: ServerCalls = {
  sum: { name: "get-sum", arguments: { a: 15, b: 27 } },
  tenSteps: { name: "trigger-long-running-operation", arguments: { duration: 0.8, steps: 10 } },
  // This server ignores cancellations, and its process lives until the operation has ended: so it takes only 1.5 s.
  long: { name: "trigger-long-running-operation", arguments: { duration: 1.5, steps: 3 } },
  failing: { name: "get-sum", arguments: { a: "fifteen" } },
  // This server reports an unknown tool as a failing tool, but an unknown prompt as an error.
  rejected: { method: "prompts/get", params: { name: "divide" } },
  logging: { name: "toggle-simulated-logging", arguments: {} },
  stopLogging: { name: "toggle-simulated-logging", arguments: {} }
}

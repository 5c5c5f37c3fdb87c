/**
 * The words of a server: what its tools are called, and what they are to be asked. The conversation is the same with
 * every server; only these differ.
 */
import type { Prompt, Tool } from "@effect-mcp/protocol"

/** One call of a tool. */
export type Call = Tool.CallToolParams

/** A request that the server answers with an error: the call of a tool, or one of its prompts. */
export type Refused =
  | { readonly method: "tools/call"; readonly params: Call }
  | { readonly method: "prompts/get"; readonly params: Prompt.GetPromptParams }

/** A call for each thing that the conversation wants to happen. */
export interface Vocabulary {
  /** Answers with the sum of 15 and 27. */
  readonly sum: Call
  /** Reports ten steps of progress, then answers. */
  readonly tenSteps: Call
  /** Takes longer than anyone will wait, and reports progress soon. */
  readonly long: Call
  /** Fails as a tool: the answer is a result that says so. */
  readonly failing: Call
  /** Fails as a request: the answer is an error. */
  readonly refused: Refused
  /** Has the server send a log message. */
  readonly logging: Call
  /** Has it stop, if it goes on by itself. */
  readonly quiet?: Call
}

/** The words of `calculator.ts`. */
export const calculator: Vocabulary = {
  sum: { name: "add", arguments: { a: 15, b: 27 } },
  tenSteps: { name: "count", arguments: { to: 10, delayMs: 80 } },
  long: { name: "count", arguments: { to: 20, delayMs: 150 } },
  failing: { name: "fail", arguments: { message: "the abacus is out of beads" } },
  refused: { method: "tools/call", params: { name: "divide", arguments: { a: 1, b: 0 } } },
  logging: { name: "log", arguments: { level: "warning", message: "the abacus is nearly out of beads" } }
}

/** The words of the official `@modelcontextprotocol/server-everything`. */
export const everything: Vocabulary = {
  sum: { name: "get-sum", arguments: { a: 15, b: 27 } },
  tenSteps: { name: "trigger-long-running-operation", arguments: { duration: 0.8, steps: 10 } },
  // It does not stop when it is cancelled, and its process ends only with it: so this is not as long as it could be.
  long: { name: "trigger-long-running-operation", arguments: { duration: 1.5, steps: 3 } },
  failing: { name: "get-sum", arguments: { a: "fifteen" } },
  // An unknown tool is a failing tool to this server; an unknown prompt is an error.
  refused: { method: "prompts/get", params: { name: "divide" } },
  logging: { name: "toggle-simulated-logging", arguments: {} },
  quiet: { name: "toggle-simulated-logging", arguments: {} }
}

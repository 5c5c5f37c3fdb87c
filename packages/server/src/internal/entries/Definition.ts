/** The types of definitions and of handlers, as the public modules and the entries share them. */

import type { Prompt } from "@effect-mcp/protocol"
import type * as Tool from "effect/ai/Tool"
import type * as Effect from "effect/Effect"
import type * as McpPrompt from "../../McpPrompt.ts"
import type * as McpResource from "../../McpResource.ts"

/** A member of a group. */
export type Member = Tool.Any | McpResource.AnyResource | McpResource.AnyTemplate | McpPrompt.AnyPrompt

/** The second argument of a tool's handler. */
export interface ToolContext<Success> {
  /** The id of the request as text, for handlers that are written for `effect/ai`. */
  readonly toolCallId: string
  /**
   * Sends an interim result as a step of progress: its text form is the message, and the steps count 1, 2, 3. It sends
   * nothing if the client requested no progress.
   */
  readonly preliminary: (result: Success) => Effect.Effect<void>
}

/** The messages of a prompt. A text is one message of the user; a result has a description and metadata of its own. */
export type PromptMessages = string | ReadonlyArray<Prompt.PromptMessage> | Prompt.GetPromptResult

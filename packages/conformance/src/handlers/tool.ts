/** Tools: the definition that clients see, and an Effect that runs the tool on arguments that fit its schema. */
import * as Content from "@effect-mcp/protocol/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Protocol from "@effect-mcp/protocol/Tool"
import * as AjvValidator from "@effect-mcp/session/AjvValidator"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** The failure of a tool. Its message is for the model (TOOL-04). */
export class ToolFailure extends Data.TaggedError("ToolFailure")<{ readonly message: string }> {}

/** The validated arguments of a call. */
export interface Arguments {
  readonly [name: string]: unknown
}

/** A tool with its definition and implementation. */
export interface Tool {
  readonly definition: Protocol.Tool
  readonly run: (
    input: Arguments
  ) => Effect.Effect<ReadonlyArray<Content.ContentBlock>, ToolFailure | RequestError, RequestContext>
}

/** The schema of a tool without arguments. */
export const nothing: Protocol.ObjectSchema = { type: "object", additionalProperties: false }

const failure = (text: string): Protocol.CallToolResult => ({ content: [Content.text(text)], isError: true })

/** Rejects invalid arguments: from 2025-11-25 on with a tool result, before with a protocol error (TOOL-05). */
const rejectArguments = (problem: string) =>
  Effect.flatMap(RequestContext, ({ profile }) =>
    Revision.isAtLeast(profile.revision, "2025-11-25")
      ? Effect.succeed(failure(problem))
      : Effect.fail(McpError.invalidParams(problem)))

/** Creates the handlers for tools. All tools are on one page. */
export const handlers = (tools: ReadonlyArray<Tool>): Handlers.Handlers<"client", RequestContext> => {
  const validator = AjvValidator.make()
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
  return {
    "tools/list": ({ cursor }) =>
      cursor === undefined
        ? Effect.succeed({ tools: tools.map(({ definition }) => definition) })
        : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`)),
    "tools/call": Effect.fnUntraced(function*({ arguments: input = {}, name }) {
      const tool = byName.get(name)
      if (tool === undefined) return yield* McpError.invalidParams(`Unknown tool: ${name}`)
      // The schemas are constants of this package, so a compilation error is a defect.
      const problem = Result.getOrThrow(validator.compile(tool.definition.inputSchema))(input)
      if (problem !== undefined) return yield* rejectArguments(`Invalid arguments for tool ${name}: ${problem}`)
      return yield* tool.run(input).pipe(
        Effect.map((content) => ({ content })),
        Effect.catchTag(["ToolFailure", "RequestError"], ({ message }) => Effect.succeed(failure(message)))
      )
    })
  }
}

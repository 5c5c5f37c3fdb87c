/**
 * A tool: a schema of what it takes, and an Effect that answers in text. The schema is written once; the JSON Schema
 * that clients see and the check of what they send are both derived from it.
 */
import * as Content from "@effect-mcp/protocol/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Protocol from "@effect-mcp/protocol/Tool"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** A tool that could not do what it was asked to. Its words are for the model to read (TOOL-04). */
export class ToolFailure extends Data.TaggedError("ToolFailure")<{ readonly message: string }> {}

/** A tool, ready to be listed and called. */
export interface Tool {
  readonly definition: Protocol.Tool
  readonly call: (input: unknown) => Effect.Effect<Protocol.CallToolResult, McpError.McpError, RequestContext>
}

/** What there is to say about a tool, and what it does. */
export interface Options<Input> {
  readonly title: string
  readonly description: string
  readonly annotations: Protocol.ToolAnnotations
  readonly input: Schema.Codec<Input, unknown>
  readonly run: (input: Input) => Effect.Effect<string, ToolFailure, RequestContext>
}

/** Arguments are checked as strictly as the JSON Schema says it. */
const strictly = { onExcessProperty: "error" } as const

const answer = (text: string): Protocol.CallToolResult => ({ content: [Content.text(text)] })

const failure = (text: string): Protocol.CallToolResult => ({ ...answer(text), isError: true })

/** Since 2025-11-25 the model reads what was wrong with its arguments; before, its client gets a protocol error. */
const misfit = (problem: string) =>
  Effect.flatMap(RequestContext, ({ profile }) =>
    Revision.isAtLeast(profile.revision, "2025-11-25")
      ? Effect.succeed(failure(problem))
      : Effect.fail(McpError.invalidParams(problem)))

export const make = <Input>(name: string, options: Options<Input>): Tool => {
  const { annotations, description, input, run, title } = options
  const decode = Schema.decodeUnknownResult(input, strictly)
  return {
    definition: {
      name,
      title,
      description,
      annotations,
      // Made when it is first asked for: the first answer of a server should not wait for it.
      get inputSchema() {
        return { ...Schema.toJsonSchemaDocument(input, strictly).schema, type: "object" } as const
      }
    },
    call: (given) => {
      const decoded = decode(given)
      if (Result.isFailure(decoded)) {
        const problem = decoded.failure.message.replaceAll(/\s+/g, " ")
        return misfit(`Invalid arguments for tool ${name}: ${problem}`)
      }
      return Effect.match(run(decoded.success), {
        onSuccess: answer,
        onFailure: ({ message }) => failure(message)
      })
    }
  }
}

/** What a server does with these tools. All of them fit on one page. */
export const handlers = (tools: ReadonlyArray<Tool>): Handlers.Handlers<"client", RequestContext> => {
  const definitions = tools.map(({ definition }) => definition)
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
  return {
    "tools/list": ({ cursor }) =>
      cursor === undefined
        ? Effect.succeed({ tools: definitions })
        : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`)),
    "tools/call": ({ arguments: input, name }) =>
      byName.get(name)?.call(input ?? {}) ?? Effect.fail(McpError.invalidParams(`Unknown tool: ${name}`))
  }
}

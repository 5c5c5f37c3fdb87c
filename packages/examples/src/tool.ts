/**
 * Tools that are made of a schema and an Effect. The JSON Schema that clients get, and the check of arguments, are
 * derived from the schema. `tools.ts` and `notebook/tools` use this module.
 */
import * as Content from "@effect-mcp/protocol/Content"
import * as Excerpt from "@effect-mcp/protocol/Excerpt"
import type * as Implementation from "@effect-mcp/protocol/Implementation"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Protocol from "@effect-mcp/protocol/Tool"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** The failure of a tool. The model gets its message (TOOL-04). */
export class ToolFailure extends Data.TaggedError("ToolFailure")<{ readonly message: string }> {}

/** A tool that can be listed and called. */
export interface Tool<out R = RequestContext> {
  readonly definition: Protocol.Tool
  readonly call: (input: unknown) => Effect.Effect<Protocol.CallToolResult, McpError.McpError, R>
  /** Whether the tool is available now. */
  readonly isOffered: Effect.Effect<boolean, never, R>
}

/** The return value of a tool: text, or a result. */
export type Output = string | Protocol.CallToolResult

/** The description of a tool, and its implementation. */
export interface Options<Input, R> {
  readonly title: string
  readonly description: string
  readonly annotations: Protocol.ToolAnnotations
  readonly icons?: ReadonlyArray<Implementation.Icon>
  readonly input: Schema.Codec<Input, unknown>
  /** The schema of its structured content, if it has any (TOOL-07). */
  readonly output?: Schema.Codec<unknown, unknown>
  /** Whether the tool is available now. Default: always. */
  readonly isOffered?: Effect.Effect<boolean, never, R>
  /**
   * Runs the tool. The model gets the message of a `ToolFailure`, and of a request to the client that failed. The
   * client gets an `McpError`.
   */
  readonly run: (
    input: Input
  ) => Effect.Effect<Output, ToolFailure | RequestError | McpError.McpError, R>
}

/** Options of a check that is as strict as the JSON Schema. */
const strict = { onExcessProperty: "error" } as const

/** Returns the name of a referenced definition: the last token of a JSON Pointer in a URI. */
const definitionOf = ($ref: string): string =>
  decodeURIComponent($ref.slice("#/$defs/".length)).replaceAll("~1", "/").replaceAll("~0", "~")

/** Returns the JSON Schema of a codec, with the definitions of classes and recursive schemas. */
const schemaOf = (codec: Schema.Codec<unknown, unknown>): Protocol.ObjectSchema => {
  const { definitions, schema: { $ref, ...schema } } = Schema.toJsonSchemaDocument(codec, strict)
  // The schema of a class is only a reference, but clients look for properties at the root.
  const root = typeof $ref === "string" ? definitions[definitionOf($ref)] : undefined
  return {
    ...root,
    ...schema,
    ...(Object.keys(definitions).length === 0 ? undefined : { $defs: definitions }),
    type: "object"
  }
}

const toResult = (output: Output): Protocol.CallToolResult =>
  typeof output === "string" ? { content: [Content.text(output)] } : output

const failure = (text: string): Protocol.CallToolResult => ({ ...toResult(text), isError: true })

/** Returns structured content, and the same as text for clients that read only text (TOOL-09). */
export const structured = (content: { readonly [name: string]: unknown }): Protocol.CallToolResult => ({
  ...toResult(JSON.stringify(content)),
  structuredContent: content
})

/**
 * Rejects arguments: from revision 2025-11-25 on with a message for the model, before that with an error response for
 * the client.
 */
const rejectArguments = (problem: string) =>
  Effect.flatMap(RequestContext, ({ profile }) =>
    Revision.isAtLeast(profile.revision, "2025-11-25")
      ? Effect.succeed(failure(problem))
      : Effect.fail(McpError.invalidParams(problem)))

/** Creates a tool. */
export const make = <Input, R = never>(name: string, options: Options<Input, R>): Tool<RequestContext | R> => {
  const { annotations, description, icons, input, isOffered, output, run, title } = options
  const decode = Schema.decodeUnknownResult(input, strict)
  return {
    definition: {
      name,
      title,
      description,
      annotations,
      ...(icons === undefined ? undefined : { icons }),
      ...(output === undefined ? undefined : { outputSchema: schemaOf(output) }),
      // A lazy getter, because the first response of a server would wait for the conversion.
      get inputSchema() {
        return schemaOf(input)
      }
    },
    call: (value) => {
      const decoded = decode(value)
      if (Result.isFailure(decoded)) {
        const problem = decoded.failure.message.replaceAll(/\s+/g, " ")
        return rejectArguments(`Invalid arguments for tool ${name}: ${problem}`)
      }
      return run(decoded.success).pipe(
        Effect.map(toResult),
        Effect.catchTag(["ToolFailure", "RequestError"], ({ message }) => Effect.succeed(failure(message)))
      )
    },
    isOffered: isOffered ?? Effect.succeed(true)
  }
}

/** Returns the handlers of `tools/list` and `tools/call`. The list has one page. */
export const handlers = <R>(tools: ReadonlyArray<Tool<R>>): Handlers.Handlers<"client", R> => {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
  const unknownTool = (name: string) => McpError.invalidParams(`Unknown tool: ${Excerpt.of(name)}`)
  return {
    "tools/list": ({ cursor }) =>
      cursor === undefined
        ? Effect.map(
          Effect.filter(tools, ({ isOffered }) => isOffered),
          (offered) => ({ tools: offered.map(({ definition }) => definition) })
        )
        : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`)),
    "tools/call": Effect.fnUntraced(function*({ arguments: input, name }) {
      const tool = byName.get(name)
      if (tool === undefined || !(yield* tool.isOffered)) return yield* unknownTool(name)
      return yield* tool.call(input ?? {})
    })
  }
}

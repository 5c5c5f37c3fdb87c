/**
 * A tool: a schema of what it takes, and an Effect that answers. The schema is written once; the JSON Schema that clients
 * see and the check of what they send are both derived from it.
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

/** A tool that could not do what it was asked to. Its words are for the model to read (TOOL-04). */
export class ToolFailure extends Data.TaggedError("ToolFailure")<{ readonly message: string }> {}

/** A tool, ready to be listed and called. */
export interface Tool<out R = RequestContext> {
  readonly definition: Protocol.Tool
  readonly call: (input: unknown) => Effect.Effect<Protocol.CallToolResult, McpError.McpError, R>
  /** Whether it is there to be called now. */
  readonly isOffered: Effect.Effect<boolean, never, R>
}

/** What a tool answers: plain text, or a whole result. */
export type Answer = string | Protocol.CallToolResult

/** What there is to say about a tool, and what it does. */
export interface Options<Input, R> {
  readonly title: string
  readonly description: string
  readonly annotations: Protocol.ToolAnnotations
  readonly icons?: ReadonlyArray<Implementation.Icon>
  readonly input: Schema.Codec<Input, unknown>
  /** What is structured in its answers, if anything is (TOOL-07). */
  readonly output?: Schema.Codec<unknown, unknown>
  /** Default: always. */
  readonly isOffered?: Effect.Effect<boolean, never, R>
  /**
   * Fails with a `ToolFailure`, or with what kept the client from answering, for the model to read; or with an `McpError`
   * for the client.
   */
  readonly run: (
    input: Input
  ) => Effect.Effect<Answer, ToolFailure | RequestError | McpError.McpError, R>
}

/** Arguments are checked as strictly as the JSON Schema says it. */
const strictly = { onExcessProperty: "error" } as const

/** The name of the definition that a reference leads to: the last token of a JSON Pointer in a URI. */
const definitionOf = ($ref: string): string =>
  decodeURIComponent($ref.slice("#/$defs/".length)).replaceAll("~1", "/").replaceAll("~0", "~")

/** The JSON Schema of a codec, with the definitions of the classes and the recursive schemas that it refers to. */
const schemaOf = (codec: Schema.Codec<unknown, unknown>): Protocol.ObjectSchema => {
  const { definitions, schema: { $ref, ...schema } } = Schema.toJsonSchemaDocument(codec, strictly)
  // A class is a reference all by itself. Clients look for its properties at the root.
  const root = typeof $ref === "string" ? definitions[definitionOf($ref)] : undefined
  return {
    ...root,
    ...schema,
    ...(Object.keys(definitions).length === 0 ? undefined : { $defs: definitions }),
    type: "object"
  }
}

const answer = (given: Answer): Protocol.CallToolResult =>
  typeof given === "string" ? { content: [Content.text(given)] } : given

const failure = (text: string): Protocol.CallToolResult => ({ ...answer(text), isError: true })

/** Structured content, and the same as text for those who read only that (TOOL-09). */
export const structured = (content: { readonly [name: string]: unknown }): Protocol.CallToolResult => ({
  ...answer(JSON.stringify(content)),
  structuredContent: content
})

/** Since 2025-11-25 the model reads what was wrong with its arguments; before, its client gets a protocol error. */
const misfit = (problem: string) =>
  Effect.flatMap(RequestContext, ({ profile }) =>
    Revision.isAtLeast(profile.revision, "2025-11-25")
      ? Effect.succeed(failure(problem))
      : Effect.fail(McpError.invalidParams(problem)))

export const make = <Input, R = never>(name: string, options: Options<Input, R>): Tool<RequestContext | R> => {
  const { annotations, description, icons, input, isOffered, output, run, title } = options
  const decode = Schema.decodeUnknownResult(input, strictly)
  return {
    definition: {
      name,
      title,
      description,
      annotations,
      ...(icons === undefined ? undefined : { icons }),
      ...(output === undefined ? undefined : { outputSchema: schemaOf(output) }),
      // Made when it is first asked for: the first answer of a server should not wait for it.
      get inputSchema() {
        return schemaOf(input)
      }
    },
    call: (given) => {
      const decoded = decode(given)
      if (Result.isFailure(decoded)) {
        const problem = decoded.failure.message.replaceAll(/\s+/g, " ")
        return misfit(`Invalid arguments for tool ${name}: ${problem}`)
      }
      return run(decoded.success).pipe(
        Effect.map(answer),
        Effect.catchTag(["ToolFailure", "RequestError"], ({ message }) => Effect.succeed(failure(message)))
      )
    },
    isOffered: isOffered ?? Effect.succeed(true)
  }
}

/** What a server does with these tools. All of them fit on one page. */
export const handlers = <R>(tools: ReadonlyArray<Tool<R>>): Handlers.Handlers<"client", R> => {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
  const unknown = (name: string) => McpError.invalidParams(`Unknown tool: ${Excerpt.of(name)}`)
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
      if (tool === undefined || !(yield* tool.isOffered)) return yield* unknown(name)
      return yield* tool.call(input ?? {})
    })
  }
}

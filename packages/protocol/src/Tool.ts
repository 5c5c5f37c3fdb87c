/**
 * Tools: a server lists them in `tools/list` and runs them in `tools/call`.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { ContentBlock } from "./Content.ts"
import { Icon } from "./Implementation.ts"
import { trust } from "./internal/trust.ts"
import { Meta, RequestMeta } from "./Meta.ts"
import { TaskMetadata } from "./Task.ts"

/**
 * A JSON Schema of an object (TOOL-06). Without `$schema`, its dialect is draft 2020-12 (MSG-32).
 *
 * @category models
 */
export interface ObjectSchema {
  readonly type: "object"
  readonly [keyword: string]: unknown
}

/**
 * The schema of an {@link ObjectSchema}.
 *
 * @category schemas
 */
export const ObjectSchema: Schema.Codec<ObjectSchema> = trust(Schema.Struct({ type: Schema.Literal("object") }))

/**
 * The JSON Schema of the structured content of a tool. From 2026-07-28 on, that is any JSON value. In older revisions
 * it is an object, so the schema is an {@link ObjectSchema} there. Without `$schema`, its dialect is draft 2020-12
 * (MSG-32).
 *
 * @category models
 */
export interface OutputSchema {
  readonly [keyword: string]: unknown
}

/**
 * The schema of an {@link OutputSchema}.
 *
 * @category schemas
 */
export const OutputSchema: Schema.Codec<OutputSchema> = Meta

/**
 * Hints about the behaviour of a tool. They are untrusted unless the server is trusted (TOOL-11).
 *
 * @category models
 */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

export const ToolAnnotations: Schema.Codec<ToolAnnotations> = Schema.Struct({
  title: Schema.optionalKey(Schema.String),
  readOnlyHint: Schema.optionalKey(Schema.Boolean),
  destructiveHint: Schema.optionalKey(Schema.Boolean),
  idempotentHint: Schema.optionalKey(Schema.Boolean),
  openWorldHint: Schema.optionalKey(Schema.Boolean)
})

/**
 * A tool in the list of a server.
 *
 * @category models
 */
export interface Tool {
  readonly name: string
  readonly inputSchema: ObjectSchema
  readonly title?: string
  readonly description?: string
  readonly outputSchema?: OutputSchema
  readonly annotations?: ToolAnnotations
  readonly execution?: { readonly taskSupport?: "forbidden" | "optional" | "required" }
  readonly icons?: ReadonlyArray<Icon>
  readonly _meta?: Meta
}

/**
 * The schema of a {@link Tool}.
 *
 * @category schemas
 */
export const Tool: Schema.Codec<Tool> = Schema.Struct({
  name: Schema.String,
  inputSchema: ObjectSchema,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  outputSchema: Schema.optionalKey(OutputSchema),
  annotations: Schema.optionalKey(ToolAnnotations),
  execution: Schema.optionalKey(Schema.Struct({
    taskSupport: Schema.optionalKey(Schema.Literals(["forbidden", "optional", "required"]))
  })),
  icons: Schema.optionalKey(Schema.Array(Icon)),
  _meta: Schema.optionalKey(Meta)
})

/**
 * One page of tools. The last page has no `nextCursor` (PAG-03).
 *
 * @category models
 */
export interface ListToolsResult {
  readonly tools: ReadonlyArray<Tool>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

export const ListToolsResult: Schema.Codec<ListToolsResult> = Schema.Struct({
  tools: Schema.Array(Tool),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params of `tools/call`: the name of the tool and its arguments.
 *
 * @category models
 */
export interface CallToolParams {
  readonly name: string
  readonly arguments?: { readonly [name: string]: unknown }
  readonly task?: TaskMetadata
  readonly _meta?: RequestMeta
}

export const CallToolParams: Schema.Codec<CallToolParams> = Schema.Struct({
  name: Schema.String,
  arguments: Schema.optionalKey(Meta),
  task: Schema.optionalKey(TaskMetadata),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * The result of `tools/call`. `isError` marks a failure of the tool itself, which the model should read (TOOL-04).
 * `structuredContent` matches the output schema of the tool, if it has one (TOOL-07). From 2026-07-28 on, it is any
 * JSON value. Older revisions have objects only: a server sends another value there as text.
 *
 * @category models
 */
export interface CallToolResult {
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Meta
}

export const CallToolResult: Schema.Codec<CallToolResult> = Schema.Struct({
  content: Schema.Array(ContentBlock),
  structuredContent: Schema.optionalKey(Schema.Unknown),
  isError: Schema.optionalKey(Schema.Boolean),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Returns the members of the structured content of a result: none if it is absent, or no object.
 *
 * @example
 * ```ts
 * import { Tool } from "@effect-mcp/protocol"
 *
 * export const sum = Tool.structuredMembers({ content: [], structuredContent: { sum: 42 } })["sum"] // => 42
 * ```
 *
 * @category getters
 */
export const structuredMembers = (
  { structuredContent }: CallToolResult
): { readonly [name: string]: unknown } =>
  typeof structuredContent === "object" && structuredContent !== null && !Array.isArray(structuredContent)
    // The type `object` has no index signature.
    ? trust<{ readonly [name: string]: unknown }>(structuredContent)
    : {}

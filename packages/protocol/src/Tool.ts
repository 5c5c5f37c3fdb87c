/**
 * Tools: a server lists them in `tools/list` and runs them in `tools/call`.
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

/**
 * The schema of {@link ToolAnnotations}.
 *
 * @category schemas
 */
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
  readonly outputSchema?: ObjectSchema
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
  outputSchema: Schema.optionalKey(ObjectSchema),
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

/**
 * The schema of {@link ListToolsResult}.
 *
 * @category schemas
 */
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

/**
 * The schema of {@link CallToolParams}.
 *
 * @category schemas
 */
export const CallToolParams: Schema.Codec<CallToolParams> = Schema.Struct({
  name: Schema.String,
  arguments: Schema.optionalKey(Meta),
  task: Schema.optionalKey(TaskMetadata),
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * The result of `tools/call`. `isError` marks a failure of the tool itself, which the model should read (TOOL-04).
 * `structuredContent` matches the output schema of the tool, if it has one (TOOL-07).
 *
 * @category models
 */
export interface CallToolResult {
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: { readonly [name: string]: unknown }
  readonly isError?: boolean
  readonly _meta?: Meta
}

/**
 * The schema of {@link CallToolResult}.
 *
 * @category schemas
 */
export const CallToolResult: Schema.Codec<CallToolResult> = Schema.Struct({
  content: Schema.Array(ContentBlock),
  structuredContent: Schema.optionalKey(Meta),
  isError: Schema.optionalKey(Schema.Boolean),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Parts of tools that `effect/ai/Tool` does not have. Tools are defined by `Tool.make`, and by `Tool.dynamic` for a raw
 * JSON Schema. The annotations `Tool.Title`, `Readonly`, `Destructive`, `Idempotent`, `OpenWorld`, `Meta` and `Strict`
 * apply here, too.
 *
 * @stability unstable
 */
import { Content as ProtocolContent, type Implementation, Meta } from "@effect-mcp/protocol"
import type { ServerTasks } from "@effect-mcp/tasks"
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

/**
 * The annotation with the icons of a tool. Default: none.
 *
 * @example
 * ```ts
 * import { McpTool } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 *
 * export const Search = Tool.make("search").annotate(McpTool.Icons, [{ src: "https://example.com/search.svg" }])
 * ```
 *
 * @category annotations
 */
export const Icons: Context.Reference<ReadonlyArray<Implementation.Icon>> = Context.Reference(
  "@effect-mcp/server/McpTool/Icons",
  { defaultValue: (): ReadonlyArray<Implementation.Icon> => [] }
)

/**
 * The annotation of a tool whose calls become tasks: work that outlives its request, and that a client finds again by
 * its id. The handler stays the same. Default: `"forbidden"`.
 *
 * @example
 * ```ts
 * import { McpTool } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 *
 * export const Report = Tool.make("report").annotate(McpTool.Task, "optional")
 * ```
 *
 * @category annotations
 */
export const Task: Context.Reference<ServerTasks.TaskSupport | ServerTasks.ToolTasks> = Context.Reference(
  "@effect-mcp/server/McpTool/Task",
  { defaultValue: (): ServerTasks.TaskSupport | ServerTasks.ToolTasks => "forbidden" }
)

/**
 * The annotation with the scopes that a principal needs to call a tool, beside those of its group. A call without them
 * is rejected before middleware and handlers: with 403 and a challenge over HTTP (AUT-46), or else with the error
 * `InsufficientScope` (−31012). The tool is listed for every client. Default: none.
 *
 * @example
 * ```ts
 * import { McpTool } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 *
 * export const Write = Tool.make("write").annotate(McpTool.Scopes, ["notes:write"])
 * ```
 *
 * @category annotations
 */
export const Scopes: Context.Reference<ReadonlyArray<string>> = Context.Reference(
  "@effect-mcp/server/McpTool/Scopes",
  { defaultValue: (): ReadonlyArray<string> => [] }
)

/**
 * The success of a tool that returns content: text, images, audio, links and embedded resources. Such a tool has no
 * output schema and no structured content.
 *
 * @example
 * ```ts
 * import { McpTool } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 *
 * export const Screenshot = Tool.make("screenshot", { success: McpTool.Content })
 * ```
 *
 * @category schemas
 */
export const Content: Schema.Codec<ReadonlyArray<ProtocolContent.ContentBlock>> = Schema.Array(
  ProtocolContent.ContentBlock
)

/**
 * The result of a tool with content and metadata.
 *
 * @category models
 */
export interface ContentWithMeta {
  readonly content: ReadonlyArray<ProtocolContent.ContentBlock>
  /** Metadata of the result, for the client. */
  readonly _meta?: Meta.Meta
}

/**
 * The success of a tool that returns content, as {@link Content}, with metadata.
 *
 * @example
 * ```ts
 * import { McpTool } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 *
 * export const Screenshot = Tool.make("screenshot", { success: McpTool.ContentWithMeta })
 * ```
 *
 * @category schemas
 */
export const ContentWithMeta: Schema.Codec<ContentWithMeta> = Schema.Struct({
  content: Content,
  _meta: Schema.optionalKey(Meta.Meta)
})

/**
 * The member of `_meta` with the encoded failure of a tool, in a result with `isError`: for clients that have the
 * definition of the tool.
 *
 * @category constants
 */
export const failureKey = "effect-mcp/failure"

/**
 * The member of `_meta` with the encoded success of a tool whose content does not show it: a text that could be a
 * number as well, or the content of `toModelOutput`. It is for clients that have the definition, in revisions without
 * structured content for values that are no objects.
 *
 * @category constants
 */
export const successKey = "effect-mcp/success"

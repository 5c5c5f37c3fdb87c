/**
 * The tools of servers as a toolkit of `effect/ai`, for language models. An entry point of its own, because `effect/ai`
 * is unstable.
 *
 * @stability unstable
 */
import { Tool as Protocol } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as AiError from "effect/ai/AiError"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as GroupList from "./GroupList.ts"
import * as JsonDepth from "./internal/toolkit/JsonDepth.ts"
import * as ModelParts from "./internal/toolkit/ModelParts.ts"
import * as ModelText from "./internal/toolkit/ModelText.ts"
import * as UsableTools from "./internal/toolkit/UsableTools.ts"
import { trust } from "./internal/trust.ts"
import type * as McpClients from "./McpClients.ts"

const origin = { server: Schema.String, tool: Schema.String }

/**
 * The failure of a tool that ran and reported an error. `message` is the text of its result, and `details` its
 * structured content, unless that has more than 512 levels.
 *
 * @example
 * ```ts
 * import * as McpRemoteToolkit from "@effect-mcp/client/McpRemoteToolkit"
 *
 * const failure = new McpRemoteToolkit.RemoteToolFailedError({ server: "files", tool: "read", message: "no file" })
 *
 * export const message = failure.message
 * // => "no file"
 * ```
 *
 * @category errors
 */
export class RemoteToolFailedError extends Schema.TaggedError<RemoteToolFailedError>()("RemoteToolFailedError", {
  ...origin,
  message: Schema.String,
  details: Schema.optionalKey(Schema.Unknown)
}) {}

/**
 * The failure of a call that was not carried out: the server is down, the group has no such tool, or the server or the
 * client rejected the call.
 *
 * @example
 * ```ts
 * import * as McpRemoteToolkit from "@effect-mcp/client/McpRemoteToolkit"
 *
 * const failure = new McpRemoteToolkit.ToolNotCalledError({
 *   server: "files",
 *   tool: "read",
 *   reason: "ServerUnavailableError",
 *   message: "the server \"files\" is not available"
 * })
 *
 * export const message = failure.message
 * // => "the server \"files\" is not available"
 * ```
 *
 * @category errors
 */
export class ToolNotCalledError extends Schema.TaggedError<ToolNotCalledError>()("ToolNotCalledError", {
  ...origin,
  /** The tag of the error, or that of the reason of a `RequestError`. */
  reason: Schema.String,
  message: Schema.String
}) {}

/**
 * The failure of a call that the server may have carried out: the response was lost, was too late, or was no valid
 * result.
 *
 * @example
 * ```ts
 * import * as McpRemoteToolkit from "@effect-mcp/client/McpRemoteToolkit"
 *
 * const failure = new McpRemoteToolkit.ToolOutcomeUnknownError({
 *   server: "mail",
 *   tool: "send",
 *   reason: "Timeout",
 *   message: "timed out after 60000 ms"
 * })
 *
 * export const message = failure.message
 * // => "timed out after 60000 ms"
 * ```
 *
 * @category errors
 */
export class ToolOutcomeUnknownError extends Schema.TaggedError<ToolOutcomeUnknownError>()("ToolOutcomeUnknownError", {
  ...origin,
  reason: Schema.String,
  message: Schema.String
}) {}

/**
 * The failures of remote tools.
 *
 * @category errors
 */
export type Failure = RemoteToolFailedError | ToolNotCalledError | ToolOutcomeUnknownError

export const Failure: Schema.Union<
  readonly [typeof RemoteToolFailedError, typeof ToolNotCalledError, typeof ToolOutcomeUnknownError]
> = Schema.Union([RemoteToolFailedError, ToolNotCalledError, ToolOutcomeUnknownError])

/**
 * A remote tool. Its parameters are those of the JSON Schema of the server, and its result is that of `tools/call`,
 * with `content` and `structuredContent`.
 *
 * @category models
 */
export interface RemoteTool<Mode extends Tool.FailureMode = "return"> extends
  Tool.Tool<string, {
    readonly parameters: typeof Schema.Unknown
    readonly success: typeof Protocol.CallToolResult
    readonly failure: typeof Failure
    readonly failureMode: Mode
  }>
{}

/**
 * The toolkit of remote tools, with their handlers.
 *
 * @category models
 */
export type RemoteToolkit<Mode extends Tool.FailureMode = "return"> = Toolkit.WithHandler<
  Record<string, RemoteTool<Mode>>
>

/**
 * Options of a toolkit.
 *
 * @category models
 */
export interface Options<Mode extends Tool.FailureMode = "return"> {
  /**
   * `"return"` returns failures to the model, which can correct a call or try another tool. `"error"` fails the
   * generation with them. Default `"return"`.
   */
  readonly failureMode?: Mode
  /** Decides whether a person has to approve a call before it is sent. Default: none has to. */
  readonly needsApproval?: (tool: GroupList.GroupTool, input: unknown) => boolean | Effect.Effect<boolean>
  /**
   * Returns the input schema that the provider gets for a tool, or `undefined` to leave the tool out. `inputSchema` of
   * the given tool is what `ModelSchema.of` returned, and `definition` has the schema of the server. Default:
   * `inputSchema`.
   */
  readonly schema?: (tool: GroupList.GroupTool) => Protocol.ObjectSchema | undefined
  /**
   * The number of tools that the provider accepts. Of more, tools of each server in turn are offered, and a warning of
   * the log says so. Default: 128.
   */
  readonly maxTools?: number
  /**
   * The length of the descriptions and schemas of all tools in UTF-16 units, bounded as `maxTools` does. Default:
   * 524,288.
   */
  readonly maxToolCharacters?: number
  /**
   * The media types of files that the model reads; other files are a text that says so. Providers reject the whole
   * request otherwise, and each later one of the conversation. Default: PNG, JPEG, GIF, WebP and PDF.
   */
  readonly mediaTypes?: ReadonlyArray<string>
  /** The size of all files of one result in bytes. Default: 3,932,160, which are 5 MiB of base64. */
  readonly maxFileBytes?: number
  /** The length of all texts of one result in UTF-16 units. Default: 200,000. */
  readonly maxCharacters?: number
}

type ToolClients = Pick<McpClients.McpClientsShape, "tools" | "callTool">

/** The reasons of a `RequestError` after which the server may have carried the call out. */
const unknownOutcomes: ReadonlySet<string> = new Set([
  "Closed",
  "InvalidResult",
  "MalformedResponse",
  "OutcomeUnknown",
  "Timeout"
])

/** The greatest length of the message of a failed call. A server's message about arguments has up to 4,096 bytes. */
const maxMessage = 8_192

/** The reasons of a `RequestError` whose message the server or this client wrote for the caller. */
const shown: ReadonlySet<string> = new Set(["ErrorResponse", "InvalidParams", "InvalidResult", "UnusableSchema"])

/** Returns the words for the model. A cause, a status and standard error of a process may have secrets. */
const wordsOf = (error: McpClients.GroupCallError): string => {
  switch (error._tag) {
    case "ServerUnavailableError":
      return `the server ${Excerpt.name(error.server)} is not available; the call waited ${error.waitedMillis} ms`
    case "RequestError":
      return shown.has(error.reason._tag) ? error.message : RequestError.withoutCause(error)
    case "NoSuchNameError":
      return error.message
  }
}

const failureOf = ({ name, server }: GroupList.GroupTool, error: McpClients.GroupCallError): Failure => {
  const reason = error._tag === "RequestError" ? error.reason._tag : error._tag
  const failure = { server, tool: name, reason, message: Excerpt.text(wordsOf(error), maxMessage) }
  const isUnsent = error._tag === "RequestError" && error.reason._tag === "Closed" && !error.reason.isSent
  return unknownOutcomes.has(reason) && !isUnsent
    ? new ToolOutcomeUnknownError(failure)
    : new ToolNotCalledError(failure)
}

const isInput = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the structured content of a failure, unless it is too deep or too long for a model. */
const detailsOf = (
  structuredContent: Protocol.CallToolResult["structuredContent"],
  { maxCharacters }: ModelParts.PartLimits
): { readonly details?: unknown } => {
  if (structuredContent === undefined || JsonDepth.isDeeper(structuredContent, JsonDepth.maxLevels)) return {}
  if (JSON.stringify(structuredContent).length > maxCharacters) return {}
  return { details: ModelText.within(structuredContent) }
}

const call = Effect.fnUntraced(function*(
  clients: ToolClients,
  usable: UsableTools.UsableTool,
  input: unknown,
  limits: ModelParts.PartLimits
): Effect.fn.Return<Protocol.CallToolResult, Failure | AiError.AiErrorReason> {
  const { tool } = usable
  const { definition, name, server } = tool
  if (!isInput(input)) {
    return yield* new AiError.ToolParameterValidationError({
      toolName: name,
      description: `the arguments of ${Excerpt.line(definition.name, Excerpt.defaultLength)} must be an object`
    })
  }
  const result = yield* Effect.catch(clients.callTool(tool, UsableTools.argumentsOf(usable, input)), (error) => {
    const failed = Effect.fail(failureOf(tool, error))
    return wordsOf(error) === error.message
      ? failed
      : Effect.andThen(
        Effect.logWarning(`the call of the tool ${Excerpt.name(name)} failed: ${Excerpt.line(error.message)}`),
        failed
      )
  })
  if (result.isError !== true) {
    if (!JsonDepth.isDeeper(result, JsonDepth.maxLevels)) return result
    return yield* new ToolOutcomeUnknownError({
      server,
      tool: name,
      reason: "InvalidResult",
      message: `the tool has run, but its result cannot be shown: it has more than ${JsonDepth.maxLevels} levels`
    })
  }
  const { content, structuredContent } = result
  return yield* new RemoteToolFailedError({
    server,
    tool: name,
    message: ModelParts.textOf(content, limits),
    ...detailsOf(structuredContent, limits)
  })
})

const toolOf = (
  usable: UsableTools.UsableTool,
  failureMode: Tool.FailureMode,
  needsApproval: Options["needsApproval"],
  limits: ModelParts.PartLimits
): RemoteTool<Tool.FailureMode> => {
  const { description, schema, tool } = usable
  const { annotations, name, title = annotations?.title } = tool
  const remote = Tool.dynamic(name, {
    description,
    parameters: schema,
    success: Protocol.CallToolResult,
    failure: Failure,
    failureMode,
    toModelOutput: ModelParts.of(limits),
    ...needsApproval === undefined ? undefined : {
      needsApproval: (input: unknown) =>
        needsApproval(tool, isInput(input) ? UsableTools.argumentsOf(usable, input) : input)
    }
    // Schemas of servers seldom keep the rules of a strict mode, and a provider rejects the whole request then.
  }).annotate(Tool.Strict, false)
  // The parameters of a dynamic tool with a JSON Schema are unknown.
  return trust<RemoteTool<Tool.FailureMode>>(
    title === undefined ? remote : remote.annotate(Tool.Title, title.toWellFormed())
  )
}

/**
 * Returns the present tools of a group as a toolkit. Give this effect itself to `generateText` and `streamText`: then
 * each generation has the tools that are there at its beginning.
 *
 * - The model gets the content of a result: text, images and other files as parts, and the structured content as JSON
 *   unless a text has it. What the server marked for the user only is left out. The program gets the whole result.
 * - A failure is a {@link Failure}. By default it is returned to the model. Its message has the words of the server to
 *   its caller, but no cause of a lost connection and no standard error of a process: these are logged.
 * - Providers reject a whole request if they do not accept one schema in it. The model therefore gets the schema that
 *   `ModelSchema.of` returns for the schema of the server. A tool is left out if it has none, as one with more than 64
 *   levels or 65,536 characters, if its name is not allowed, or if it runs as a task only (revision 2025-11-25). A
 *   warning of the log names the tool.
 * - A request has at most 128 tools, with 524,288 characters of descriptions and schemas.
 * - Results keep a conversation alive: files that providers reject, blank texts and half surrogate pairs are left out,
 *   and files and texts have a greatest size.
 * - A result with more than 512 levels is a {@link ToolOutcomeUnknownError}.
 * - Arguments are not checked against the JSON Schema. The server does that, and its error is returned to the model.
 *
 * Make the group with `names: "model"`, because providers accept fewer names than servers may use.
 *
 * @example
 * ```ts
 * import { McpClients, McpTarget } from "@effect-mcp/client/node"
 * import * as McpRemoteToolkit from "@effect-mcp/client/McpRemoteToolkit"
 * import * as LanguageModel from "effect/ai/LanguageModel"
 * import * as Effect from "effect/Effect"
 *
 * const servers = {
 *   files: McpTarget.command("npx", ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada"]),
 *   search: McpTarget.url("https://example.com/mcp")
 * }
 *
 * export const answer = Effect.gen(function*() {
 *   const clients = yield* McpClients.make(servers, { info: { name: "agent", version: "1.0.0" }, names: "model" })
 *   return yield* LanguageModel.generateText({
 *     prompt: "Which of my files mention Effect?",
 *     toolkit: McpRemoteToolkit.make(clients)
 *   })
 * })
 * ```
 *
 * @category constructors
 */
export const make = <Mode extends Tool.FailureMode = "return">(
  clients: ToolClients,
  options: Options<Mode> = {}
): Effect.Effect<RemoteToolkit<Mode>> =>
  Effect.gen(function*() {
    const { failureMode = "return", maxToolCharacters = 524_288, maxTools = 128, needsApproval, schema } = options
    NumericOption.check<Options>({ ...options, failureMode: "return" }, {
      maxTools: NumericOption.countFromZero,
      maxToolCharacters: NumericOption.countFromZero,
      maxFileBytes: NumericOption.countFromZero,
      maxCharacters: NumericOption.countFromZero
    })
    const limits: ModelParts.PartLimits = {
      mediaTypes: options.mediaTypes === undefined ? ModelParts.limits.mediaTypes : new Set(options.mediaTypes),
      maxBytes: options.maxFileBytes ?? ModelParts.limits.maxBytes,
      maxCharacters: options.maxCharacters ?? ModelParts.limits.maxCharacters
    }
    const tools = yield* UsableTools.of(clients, yield* clients.tools, { maxToolCharacters, maxTools, schema })
    // In parts, because a function has a limit of arguments.
    const parts = Arr.chunksOf(tools.map((usable) => toolOf(usable, failureMode, needsApproval, limits)), 1_000)
    const toolkit = Toolkit.merge(...parts.map((part) => Toolkit.make(...part)))
    const handlers = yield* toolkit.toHandlers(
      Object.fromEntries(
        tools.map((usable) => [usable.tool.name, (input: unknown) => call(clients, usable, input, limits)])
      )
    )
    // The tools have the mode of the options, whose default is that of the type.
    return trust<RemoteToolkit<Mode>>(yield* Effect.provideContext(toolkit, handlers))
  })

/** Tools: definitions of `effect/ai/Tool` with their handlers, as `tools/list` and `tools/call` serve them. */

import { Capabilities, Content, ErrorCode, McpError, Revision, type Tool as Protocol } from "@effect-mcp/protocol"
import { Excerpt, type ParameterHeader } from "@effect-mcp/protocol/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as RequestError from "@effect-mcp/session/RequestError"
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ElicitationCancelledError, ElicitationDeclinedError } from "../../ElicitationError.ts"
import * as McpTool from "../../McpTool.ts"
import type { ToolEntry } from "../registry/Entry.ts"
import { Misfit } from "../schema/Misfit.ts"
import * as UnfitAnswer from "../schema/UnfitAnswer.ts"
import { trust } from "../trust.ts"
import * as Approval from "./Approval.ts"
import * as ArgumentHeaders from "./ArgumentHeaders.ts"
import * as ContentCheck from "./ContentCheck.ts"
import type { ToolContext } from "./Definition.ts"
import type { GroupRuntime, Handler } from "./GroupRuntime.ts"
import type { Handled } from "./HandlerRecord.ts"
import * as ModelOutput from "./ModelOutput.ts"
import * as ToolDefinition from "./ToolDefinition.ts"
import { ToolMessage } from "./ToolMessage.ts"

type ToolHandler = (params: unknown, context: ToolContext<unknown>) => Handler<unknown, unknown>

const textOf = (encoded: unknown): string => typeof encoded === "string" ? encoded : JSON.stringify(encoded)

/** Returns whether an encoded value has the same text as another one: the string `12` has that of a number. */
const hasTextOfAnother = (encoded: unknown): boolean => {
  if (typeof encoded !== "string") return false
  try {
    return typeof JSON.parse(encoded) !== "string"
  } catch {
    return false
  }
}

const failed = (text: string, meta?: { readonly [key: string]: unknown }): Protocol.CallToolResult => ({
  content: [Content.text(text)],
  isError: true,
  ...(meta === undefined ? undefined : { _meta: meta })
})

/** Fails where the client can declare the capability in a repeated request: where it declares them in each (VER-11). */
const lacksCapability = (capability: string, message: Protocol.CallToolResult): Handler<Protocol.CallToolResult> =>
  Effect.flatMap(RequestContext.RequestContext, ({ method, profile }) =>
    Revision.isModern(profile.revision)
      ? Effect.fail(McpError.missingCapability(method, Capabilities.ofPath(capability)))
      : Effect.succeed(message))

/** The error of a call whose session ended while its handler waited: what the handler has done is not known. */
const sessionEnded = McpError.outcomeUnknown("The session ended while the tool waited for an answer of the client")

/** Returns the error of a call whose session ended before the user approved it. The client can send it again. */
const unapproved = (tool: string): McpError.McpError =>
  McpError.received({
    code: ErrorCode.InternalError,
    message: `The session ended before the user approved the call: the tool "${tool}" did not run`
  })

/**
 * Returns the result of a handler whose request failed. Text of the client of the call may be sent to it: the client
 * was asked, and has answered. The cause of a request to another party may be secret.
 */
const requestFailed = (
  error: RequestError.RequestError,
  onSessionEnd: McpError.McpError
): Handler<Protocol.CallToolResult> =>
  Effect.flatMap(RequestContext.RequestContext, (request) => {
    const { _tag } = error.reason
    const isOwn = request.isOwnError(error) || UnfitAnswer.isOf(request, error)
    // With a result, the client would believe that the tool has failed.
    if (isOwn && _tag === "Closed") return Effect.fail(onSessionEnd)
    if (isOwn && (_tag === "ErrorResponse" || _tag === "InvalidResult")) return Effect.succeed(failed(error.message))
    const message = failed(RequestError.withoutCause(error))
    if (isOwn && error.reason._tag === "MissingCapability") return lacksCapability(error.reason.capability, message)
    return isOwn
      ? Effect.succeed(message)
      : Effect.as(Effect.logWarning(`a request of a tool failed: ${Excerpt.line(error.message)}`), message)
  })

/** The second argument of a handler. A class, because its getters cost nothing for handlers that do not use them. */
class CallContext implements ToolContext<unknown> {
  readonly #request: RequestContext.RequestContext["Service"]
  readonly #encode: (value: unknown) => Handler<unknown, never>
  #step = 0

  constructor(request: RequestContext.RequestContext["Service"], encode: (value: unknown) => Handler<unknown, never>) {
    this.#request = request
    this.#encode = encode
  }

  get toolCallId(): string {
    return String(this.#request.id)
  }

  get preliminary(): (result: unknown) => Effect.Effect<void> {
    return (result) =>
      // The services of the schema are those of the handler that calls this.
      trust<Effect.Effect<void>>(
        Effect.flatMap(
          this.#encode(result),
          (encoded) => this.#request.progress({ progress: ++this.#step, message: textOf(encoded) })
        )
      )
  }
}

/** Serves the calls of one tool. Everything that does not depend on the call is prepared once. */
class ToolServer {
  readonly #tool: Tool.Any
  readonly #handler: ToolHandler
  readonly #definition: ToolDefinition.ToolDefinition
  readonly #isStructured: boolean
  /** Whether the handler decides about the content. Otherwise it is text. */
  readonly #hasMedia: boolean
  /** The arguments that clients repeat in headers. */
  readonly #headers: ReadonlyArray<ParameterHeader.ParameterHeader>

  constructor(tool: Tool.Any, definition: ToolDefinition.ToolDefinition, handler: ToolHandler) {
    this.#tool = tool
    this.#handler = handler
    this.#definition = definition
    this.#isStructured = definition.tool.outputSchema !== undefined
    this.#hasMedia = tool.successSchema === McpTool.Content || tool.successSchema === McpTool.ContentWithMeta ||
      tool.toModelOutput !== undefined
    this.#headers = definition.headers
  }

  call(input: unknown): Handler<Protocol.CallToolResult> {
    return this.#headers.length === 0
      ? this.#decoded(input)
      : ArgumentHeaders.checked(this.#headers, input, Effect.suspend(() => this.#decoded(input)))
  }

  #decoded(input: unknown): Handler<Protocol.CallToolResult> {
    const decoded = this.#definition.decode(input)
    const onSuccess = (params: unknown) =>
      this.#tool.needsApproval === undefined ? this.#run(params) : this.#approved(params, input)
    // Most schemas decode at once, without a fiber.
    if (Exit.isExit(decoded) && Exit.isSuccess(decoded)) return onSuccess(decoded.value)
    return Effect.matchEffect(decoded, { onSuccess, onFailure: ({ problem }) => this.#misfit(problem) })
  }

  /** Rejects arguments that do not fit. From 2025-11-25 on, the model reads the reason (TOOL-04, TOOL-05). */
  #misfit(problem: string): Handler<Protocol.CallToolResult> {
    const message = `Invalid arguments for the tool "${this.#tool.name}": ${problem}`
    return Effect.flatMap(
      RequestContext.RequestContext,
      ({ profile }) =>
        Revision.isAtLeast(profile.revision, "2025-11-25")
          ? Effect.succeed(failed(message))
          : Effect.fail(McpError.invalidParams(message))
    )
  }

  #approved(params: unknown, input: unknown): Handler<Protocol.CallToolResult> {
    return Effect.matchEffect(Approval.refusal(this.#tool, params, input), {
      onSuccess: (refusal) => refusal === undefined ? this.#run(params) : Effect.succeed(failed(refusal)),
      onFailure: (error) =>
        error instanceof RequestError.RequestError
          ? requestFailed(error, unapproved(this.#tool.name))
          : Effect.die(error)
    })
  }

  #run(params: unknown): Handler<Protocol.CallToolResult> {
    return Effect.flatMap(
      RequestContext.RequestContext,
      (request) =>
        Effect.matchEffect(this.#handler(params, new CallContext(request, this.#encode)), {
          onSuccess: (value) => this.#succeeded(value),
          onFailure: (error) => this.#failed(error)
        })
    )
  }

  /** Encodes a result. A value that the schema does not have is a defect of the handler. */
  readonly #encode = (value: unknown): Handler<unknown, never> => Effect.orDie(this.#definition.encode(value))

  #succeeded(value: unknown): Handler<Protocol.CallToolResult> {
    const result = Effect.map(this.#encode(value), (encoded) => this.#resultOf(value, encoded))
    return this.#hasMedia
      ? Effect.tap(result, ({ content }) => ContentCheck.blocks(content, `the tool "${this.#tool.name}"`))
      : result
  }

  #resultOf(value: unknown, encoded: unknown): Protocol.CallToolResult {
    if (this.#tool.successSchema === McpTool.Content) {
      // The encoded form of this schema is content.
      return { content: trust<ReadonlyArray<Content.ContentBlock>>(encoded) }
    }
    if (this.#tool.successSchema === McpTool.ContentWithMeta) {
      // The encoded form of this schema is content with metadata.
      return trust<McpTool.ContentWithMeta>(encoded)
    }
    const content = this.#contentOf(value, encoded)
    const result = this.#isStructured ? { content, structuredContent: encoded } : { content }
    // The revision of the client decides whether it gets the value as structured content, and the result may be kept
    // for another client.
    return this.#definition.isObject || this.#isShown(encoded)
      ? result
      : { ...result, _meta: { [McpTool.successKey]: encoded } }
  }

  /** Returns whether the content alone shows the value to a client that has the definition. */
  #isShown(encoded: unknown): boolean {
    return this.#tool.toModelOutput === undefined && (this.#definition.isText || !hasTextOfAnother(encoded))
  }

  /** Returns the content of a result: that of `toModelOutput`, or else the text form of the value (TOOL-09). */
  #contentOf(value: unknown, encoded: unknown): ReadonlyArray<Content.ContentBlock> {
    if (this.#tool.toModelOutput !== undefined) return ModelOutput.toContent(this.#tool.toModelOutput(value))
    return encoded === null ? [] : [Content.text(textOf(encoded))]
  }

  #failed(error: unknown): Handler<Protocol.CallToolResult> {
    if (error instanceof McpError.McpError) return Effect.fail(error)
    // A bridge can find out late that arguments do not fit.
    if (error instanceof Misfit) return this.#misfit(error.problem)
    if (error instanceof RequestError.RequestError) return requestFailed(error, sessionEnded)
    if (
      error instanceof ElicitationDeclinedError || error instanceof ElicitationCancelledError ||
      error instanceof ToolMessage
    ) return Effect.succeed(failed(error.message))
    return Effect.map(
      Effect.orDie(this.#definition.encodeFailure(error)),
      (encoded) =>
        failed(error instanceof Error && error.message !== "" ? error.message : textOf(encoded), {
          [McpTool.failureKey]: encoded
        })
    )
  }
}

/**
 * Prepares a tool. Throws a `RegistrationError` if its definition cannot be served. `input` replaces the arguments that
 * the parameters of the tool describe.
 */
export const make = (
  runtime: GroupRuntime,
  tool: Tool.Any,
  { handler, visible }: Pick<Handled, "handler" | "visible">,
  input?: ToolDefinition.Input
): ToolEntry => {
  const definition = ToolDefinition.make(runtime.id, tool, runtime.layer, input)
  // The type of `Handlers.tool` states that the handler is such a function.
  const server = new ToolServer(tool, definition, trust<ToolHandler>(handler))
  return {
    kind: "tool",
    group: runtime.id,
    name: tool.name,
    definition: definition.tool,
    task: definition.task,
    scopes: Context.get(tool.annotations, McpTool.Scopes),
    isConditional: visible !== undefined,
    call: (given = {}, context) =>
      runtime.run(runtime.ifVisible(visible, server.call(given)), {
        method: "tools/call",
        name: tool.name,
        arguments: given
      }, context)
  }
}

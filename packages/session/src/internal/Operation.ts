import { ErrorCode, McpError } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { RequestError } from "../RequestError.ts"

/**
 * What observability says of one request: the names of OpenTelemetry's semantic conventions for MCP.
 */
export interface Attributes {
  readonly [name: string]: string
}

/** The members of params that say what a request is about. */
interface Subject {
  readonly name?: unknown
  readonly uri?: unknown
}

const tool = "tools/call"
const prompt = "prompts/get"
const aboutResources: ReadonlySet<string> = new Set(["resources/read", "resources/subscribe", "resources/unsubscribe"])

const text = (key: string, value: unknown): Attributes => typeof value === "string" ? { [key]: value } : {}

/** The tool or prompt that a request is about; there are few of them, and a name of many things should not have more parts. */
export const targetOf = (method: string, params: Subject): string | undefined =>
  (method === tool || method === prompt) && typeof params.name === "string" ? params.name : undefined

/** The kind of a request, and what it is about. */
export const attributesOf = (method: string, params: Subject, revision: string | undefined): Attributes => ({
  "mcp.method.name": method,
  ...text("mcp.protocol.version", revision),
  ...(method === tool ? { "gen_ai.operation.name": "execute_tool", ...text("gen_ai.tool.name", params.name) } : {}),
  ...(method === prompt ? text("gen_ai.prompt.name", params.name) : {})
})

/** The resource that a request is about. There may be any number of them, so this is nothing to count by. */
export const resourceOf = (method: string, params: Subject): Attributes =>
  aboutResources.has(method) ? text("mcp.resource.uri", params.uri) : {}

/** A request that the receiver could not serve, and that is not its failure. */
const faultsOfTheCaller: ReadonlySet<number> = new Set([
  ErrorCode.ParseError,
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
  ErrorCode.ResourceNotFound
])

const isToolError = (result: unknown): boolean =>
  typeof result === "object" && result !== null && "isError" in result && result.isError === true

const failureOf = (direction: Direction, cause: Cause.Cause<unknown>): Attributes => {
  if (Cause.hasInterruptsOnly(cause)) return { "error.type": "cancelled" }
  const found = Cause.findError(cause)
  const error = Result.isSuccess(found) ? found.success : undefined
  if (error instanceof McpError.McpError || !(error instanceof RequestError)) {
    const code = error instanceof McpError.McpError ? error.code : ErrorCode.InternalError
    return codeOf(code, direction === "outbound" || !faultsOfTheCaller.has(code))
  }
  const { reason } = error
  return reason._tag === "ErrorResponse" ? codeOf(reason.error.code, true) : { "error.type": reason._tag }
}

const codeOf = (code: number, isError: boolean): Attributes => ({
  "rpc.response.status_code": String(code),
  ...(isError ? { "error.type": String(code) } : {})
})

/** Whether a request is the peer's or this side's. */
export type Direction = "inbound" | "outbound"

/** How a request ended. */
export const outcomeOf = (direction: Direction, exit: Exit.Exit<unknown, unknown>): Attributes =>
  Exit.isFailure(exit)
    ? failureOf(direction, exit.cause)
    : isToolError(exit.value)
    ? { "error.type": "tool_error" }
    : {}

import { ErrorCode, McpError, MethodTable, type RequestId } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { RequestError } from "../../RequestError.ts"

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

/** Stands for every value that is outside of a bounded set, as OpenTelemetry has it. */
export const other = "_OTHER"

const tool = "tools/call"
const prompt = "prompts/get"
const aboutResources: ReadonlySet<string> = new Set(["resources/read", "resources/subscribe", "resources/unsubscribe"])

const methods: ReadonlySet<string> = new Set([
  ...Object.keys(MethodTable.requests),
  ...Object.keys(MethodTable.notifications)
])

/** Whether a method is one of the method table, so that its name cannot be a peer's invention. */
export const isMethod = (name: string): boolean => methods.has(name)

/** The longest name, and the longest URI, that a span carries; what is longer is cut. */
const longestName = 256
const longestUri = 2048

const cut = (value: string, longest: number): string => value.length > longest ? `${value.slice(0, longest)}…` : value

const text = (key: string, value: unknown, longest = longestName): Attributes =>
  typeof value === "string" ? { [key]: cut(value, longest) } : {}

/** The tool or prompt that a request is about. */
export const targetOf = (method: string, params: Subject): string | undefined =>
  (method === tool || method === prompt) && typeof params.name === "string" ? params.name : undefined

/** The kind of a request, and the tool or prompt that it is about, if it is shown. */
export const attributesOf = (method: string, target: string | undefined, revision: string | undefined): Attributes => ({
  ...text("mcp.method.name", method),
  ...text("mcp.protocol.version", revision),
  ...(method === tool ? { "gen_ai.operation.name": "execute_tool", ...text("gen_ai.tool.name", target) } : {}),
  ...(method === prompt ? text("gen_ai.prompt.name", target) : {})
})

/** The resource that a request is about. There may be any number of them, so it is no label of a metric. */
export const resourceOf = (method: string, params: Subject): Attributes =>
  aboutResources.has(method) ? text("mcp.resource.uri", params.uri, longestUri) : {}

/** The id of a request as an attribute shows it. */
export const idOf = (id: RequestId.RequestId): string => cut(String(id), longestName)

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

const codes: ReadonlySet<string> = new Set(Object.values(ErrorCode).map(String))

/** How a request ended, for a label of a metric: error codes that this library does not know are one. */
export const boundedOutcomeOf = (direction: Direction, exit: Exit.Exit<unknown, unknown>): Attributes => {
  const outcome = outcomeOf(direction, exit)
  const code = outcome["rpc.response.status_code"]
  if (code === undefined || codes.has(code)) return outcome
  return {
    "rpc.response.status_code": other,
    ...(outcome["error.type"] === undefined ? {} : { "error.type": other })
  }
}

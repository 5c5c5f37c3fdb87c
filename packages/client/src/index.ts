/**
 * Clients as applications use them: supervised sessions with one server or many, whose lists are kept and renewed.
 *
 * @stability unstable
 */

// The modules that a program starts from.
export * as McpAnswers from "./McpAnswers.ts"
export * as McpClient from "./McpClient.ts"
export * as McpClients from "./McpClients.ts"
export * as McpTarget from "./McpTarget.ts"
export * as McpTypedClient from "./McpTypedClient.ts"

// From other packages, so that a first client needs one import: Content is of protocol, RequestError of session.
export * as Content from "@effect-mcp/protocol/Content"
export * as RequestError from "@effect-mcp/session/RequestError"

// More.
export * as GroupError from "./GroupError.ts"
export * as GroupList from "./GroupList.ts"
export * as McpCall from "./McpCall.ts"
export * as McpServerLog from "./McpServerLog.ts"
export * as McpTasks from "./McpTasks.ts"
export * as PlainText from "./PlainText.ts"
export * as ServerStatus from "./ServerStatus.ts"
export * as ServerUnavailableError from "./ServerUnavailableError.ts"
export * as TaskIds from "./TaskIds.ts"
export * as ToolFingerprint from "./ToolFingerprint.ts"
export * as TypedCallError from "./TypedCallError.ts"

/**
 * Clients as applications use them: supervised sessions with one server or many, whose lists are kept and renewed.
 */
export * as GroupError from "./GroupError.ts"
export * as GroupList from "./GroupList.ts"
export * as McpAnswers from "./McpAnswers.ts"
export * as McpCall from "./McpCall.ts"
export * as McpClient from "./McpClient.ts"
export * as McpClients from "./McpClients.ts"
export * as McpServerLog from "./McpServerLog.ts"
export * as McpServersConfig from "./McpServersConfig.ts"
export * as McpTarget from "./McpTarget.ts"
export * as McpTypedClient from "./McpTypedClient.ts"
export * as PlainText from "./PlainText.ts"
export * as ServerStatus from "./ServerStatus.ts"
export * as ServerUnavailable from "./ServerUnavailable.ts"
export * as ToolFingerprint from "./ToolFingerprint.ts"
export * as TypedCallError from "./TypedCallError.ts"

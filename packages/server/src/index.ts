/**
 * Servers as applications write them: definitions of tools, resources and prompts, and Layers that implement them.
 *
 * @stability unstable
 */

// The modules that a program starts from.
export * as McpGroup from "./McpGroup.ts"
export * as McpMiddleware from "./McpMiddleware.ts"
export * as McpPrompt from "./McpPrompt.ts"
export * as McpRequest from "./McpRequest.ts"
export * as McpResource from "./McpResource.ts"
export * as McpServer from "./McpServer.ts"
export * as McpTool from "./McpTool.ts"

// From other packages, so that a first server needs one import: Content and McpError are of protocol.
export * as Content from "@effect-mcp/protocol/Content"
export * as McpError from "@effect-mcp/protocol/McpError"

// More.
export * as ElicitationError from "./ElicitationError.ts"
export * as McpAuditLog from "./McpAuditLog.ts"
export * as McpCaching from "./McpCaching.ts"
export * as McpConcurrencyLimit from "./McpConcurrencyLimit.ts"
export * as McpLogger from "./McpLogger.ts"
export * as McpMount from "./McpMount.ts"
export * as McpResponseCache from "./McpResponseCache.ts"
export * as McpScopes from "./McpScopes.ts"
export * as McpTiming from "./McpTiming.ts"
export * as SessionState from "./SessionState.ts"
export * as UriTemplate from "./UriTemplate.ts"

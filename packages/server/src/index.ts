/**
 * Servers as applications write them: definitions of tools, resources and prompts, and Layers that implement them.
 */
export * as ElicitationError from "./ElicitationError.ts"
export * as McpGroup from "./McpGroup.ts"
export * as McpLogger from "./McpLogger.ts"
export * as McpMiddleware from "./McpMiddleware.ts"
export * as McpMount from "./McpMount.ts"
export * as McpPrompt from "./McpPrompt.ts"
export * as McpProxy from "./McpProxy.ts"
export * as McpRequest from "./McpRequest.ts"
export * as McpResource from "./McpResource.ts"
export * as McpServer from "./McpServer.ts"
export * as McpTool from "./McpTool.ts"
export * as SessionState from "./SessionState.ts"
export * as UriTemplate from "./UriTemplate.ts"

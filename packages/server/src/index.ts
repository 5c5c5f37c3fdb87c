/**
 * Servers as applications write them: definitions of tools, resources and prompts, and Layers that implement them.
 */
export * as McpPrompt from "./McpPrompt.ts"
export * as UriTemplate from "./UriTemplate.ts"

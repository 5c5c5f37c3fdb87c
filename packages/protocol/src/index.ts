/**
 * The Model Context Protocol as plain values.
 *
 * @since 0.1.0
 */
export * as Cancelled from "./Cancelled.ts"
export * as Capabilities from "./Capabilities.ts"
export * as CloseReason from "./CloseReason.ts"
export * as Content from "./Content.ts"
export * as ErrorCode from "./ErrorCode.ts"
export * as Handshake from "./Handshake.ts"
export * as Implementation from "./Implementation.ts"
export * as Initialize from "./Initialize.ts"
export * as JsonRpc from "./JsonRpc.ts"
export * as Logging from "./Logging.ts"
export * as McpError from "./McpError.ts"
export * as Meta from "./Meta.ts"
export * as Method from "./Method.ts"
export * as Methods from "./Methods.ts"
export * as Profile from "./Profile.ts"
export * as Progress from "./Progress.ts"
export * as RequestId from "./RequestId.ts"
export * as Revision from "./Revision.ts"
export * as Tool from "./Tool.ts"

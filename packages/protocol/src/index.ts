/**
 * The Model Context Protocol as plain values.
 *
 * @stability unstable
 */

// The modules that a program starts from.
export * as Content from "./Content.ts"
export * as Handshake from "./Handshake.ts"
export * as JsonRpc from "./JsonRpc.ts"
export * as McpError from "./McpError.ts"
export * as MethodTable from "./MethodTable.ts"
export * as Prompt from "./Prompt.ts"
export * as Resource from "./Resource.ts"
export * as Revision from "./Revision.ts"
export * as Tool from "./Tool.ts"

// More.
export * as Annotations from "./Annotations.ts"
export * as Cancelled from "./Cancelled.ts"
export * as Capabilities from "./Capabilities.ts"
export * as CloseReason from "./CloseReason.ts"
export * as Completion from "./Completion.ts"
export * as Discover from "./Discover.ts"
export * as Elicitation from "./Elicitation.ts"
export * as ElicitationContent from "./ElicitationContent.ts"
export * as ElicitationSchema from "./ElicitationSchema.ts"
export * as ErrorCode from "./ErrorCode.ts"
export * as ExactJson from "./ExactJson.ts"
export * as Implementation from "./Implementation.ts"
export * as Initialize from "./Initialize.ts"
export * as InputRequired from "./InputRequired.ts"
export * as Logging from "./Logging.ts"
export * as Meta from "./Meta.ts"
export * as MethodDefinition from "./MethodDefinition.ts"
export * as ModelSchema from "./ModelSchema.ts"
export * as Pagination from "./Pagination.ts"
export * as PlainText from "./PlainText.ts"
export * as Profile from "./Profile.ts"
export * as Progress from "./Progress.ts"
export * as RequestId from "./RequestId.ts"
export * as RequestMetadata from "./RequestMetadata.ts"
export * as RevisionProjection from "./RevisionProjection.ts"
export * as Roots from "./Roots.ts"
export * as Sampling from "./Sampling.ts"
export * as Subscription from "./Subscription.ts"
export * as Task from "./Task.ts"
export * as TaskExtension from "./TaskExtension.ts"
export * as TraceContext from "./TraceContext.ts"

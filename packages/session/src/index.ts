/**
 * One Model Context Protocol conversation: the sessions of both sides, and the port below them.
 *
 * @since 0.1.0
 */
export * as CallbackContext from "./CallbackContext.ts"
export * as ClientSession from "./ClientSession.ts"
export * as Dispatch from "./Dispatch.ts"
export * as Extension from "./Extension.ts"
export * as Handlers from "./Handlers.ts"
export * as HandshakeError from "./HandshakeError.ts"
export * as JsonSchemaValidator from "./JsonSchemaValidator.ts"
export * as Limits from "./Limits.ts"
export * as MemoryTransport from "./MemoryTransport.ts"
export * as Metrics from "./Metrics.ts"
export * as Middleware from "./Middleware.ts"
export * as Recording from "./Recording.ts"
export * as RequestContext from "./RequestContext.ts"
export * as RequestError from "./RequestError.ts"
export * as RequestOptions from "./RequestOptions.ts"
export * as ServerSession from "./ServerSession.ts"
export * as Session from "./Session.ts"
export * as SessionClosed from "./SessionClosed.ts"
export * as SessionEvent from "./SessionEvent.ts"
export * as Tracing from "./Tracing.ts"
export * as Transport from "./Transport.ts"
export * as TransportError from "./TransportError.ts"
export * as UnsupportedSchema from "./UnsupportedSchema.ts"

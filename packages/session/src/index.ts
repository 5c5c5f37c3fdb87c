/**
 * Sessions of the Model Context Protocol for clients and servers, and the ports below them.
 *
 * @stability unstable
 */

// The modules that a program starts from.
export * as ClientSession from "./ClientSession.ts"
export * as Limits from "./Limits.ts"
export * as MemoryTransport from "./MemoryTransport.ts"
export * as RequestContext from "./RequestContext.ts"
export * as RequestError from "./RequestError.ts"
export * as ServerSession from "./ServerSession.ts"
export * as SessionHost from "./SessionHost.ts"
export * as Transport from "./Transport.ts"

// More.
export * as ChangeBus from "./ChangeBus.ts"
export * as ClientRequestContext from "./ClientRequestContext.ts"
export * as EventStore from "./EventStore.ts"
export * as Extension from "./Extension.ts"
export * as Handlers from "./Handlers.ts"
export * as HandshakeError from "./HandshakeError.ts"
export * as HostLimits from "./HostLimits.ts"
export * as InvalidOptionError from "./InvalidOptionError.ts"
export * as JsonSchemaValidator from "./JsonSchemaValidator.ts"
export * as Listener from "./Listener.ts"
export * as MemoryBudget from "./MemoryBudget.ts"
export * as Metrics from "./Metrics.ts"
export * as Middleware from "./Middleware.ts"
export * as NotificationContext from "./NotificationContext.ts"
export * as Principal from "./Principal.ts"
export * as Question from "./Question.ts"
export * as Recording from "./Recording.ts"
export * as RequestOptions from "./RequestOptions.ts"
export * as RequestStateSeal from "./RequestStateSeal.ts"
export * as Session from "./Session.ts"
export * as SessionClosedError from "./SessionClosedError.ts"
export * as SessionEvent from "./SessionEvent.ts"
export * as SessionOwners from "./SessionOwners.ts"
export * as SessionStore from "./SessionStore.ts"
export * as StatelessServer from "./StatelessServer.ts"
export * as SupersededError from "./SupersededError.ts"
export * as Tracing from "./Tracing.ts"
export * as TransportError from "./TransportError.ts"
export * as UnsupportedSchemaError from "./UnsupportedSchemaError.ts"
export * as UsedStates from "./UsedStates.ts"

/**
 * Parts of this package that other packages of this project use. They change without notice.
 */
export * as HostRules from "./internal/configuration/HostRules.ts"
export * as JsonWithComments from "./internal/configuration/JsonWithComments.ts"
export * as Toml from "./internal/configuration/Toml.ts"
export * as ListChanges from "./internal/lists/ListChanges.ts"
export * as Reconnection from "./internal/supervision/Reconnection.ts"
export * as SupervisedSessions from "./internal/supervision/SupervisedSessions.ts"
export { SupervisedTransport } from "./internal/supervision/SupervisedTransport.ts"

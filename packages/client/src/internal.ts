/**
 * Parts of this package that other packages of this project use. They change without notice.
 */
export * as ListChanges from "./internal/lists/ListChanges.ts"
export * as Reconnection from "./internal/supervision/Reconnection.ts"
export * as SupervisedSessions from "./internal/supervision/SupervisedSessions.ts"
export { SupervisedTransport } from "./internal/supervision/SupervisedTransport.ts"

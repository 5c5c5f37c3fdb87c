/**
 * Laws of transports and stores, as values for any test runner.
 */
export * as EventStoreLaws from "./EventStoreLaws.ts"
export * as LawServer from "./LawServer.ts"
export * as SessionStoreLaws from "./SessionStoreLaws.ts"
export * as StoreLaw from "./StoreLaw.ts"
export * as TaskStoreLaws from "./TaskStoreLaws.ts"
export * as TransportLaw from "./TransportLaw.ts"
export * as TransportLaws from "./TransportLaws.ts"
export * as TransportSubject from "./TransportSubject.ts"

/**
 * Laws of transports and stores, as values for any test runner.
 *
 * @stability unstable
 */
export * as ChangeBusLaws from "./ChangeBusLaws.ts"
export * as EventStoreLaws from "./EventStoreLaws.ts"
export * as TransportLaw from "./law/TransportLaw.ts"
export * as TransportSubject from "./law/TransportSubject.ts"
export * as LawServer from "./LawServer.ts"
export * as SessionOwnersLaws from "./SessionOwnersLaws.ts"
export * as SessionStoreLaws from "./SessionStoreLaws.ts"
export * as StoreLaw from "./StoreLaw.ts"
export * as TaskStoreLaws from "./TaskStoreLaws.ts"
export * as TokenStoreLaws from "./TokenStoreLaws.ts"
export * as TransportLaws from "./TransportLaws.ts"

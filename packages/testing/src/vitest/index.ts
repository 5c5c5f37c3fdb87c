/**
 * Laws as suites of Vitest tests.
 *
 * @stability unstable
 */
export * as ChangeBusSuite from "./ChangeBusSuite.ts"
export * as EventStoreSuite from "./EventStoreSuite.ts"
export * as JsonSchemaValidatorSuite from "./JsonSchemaValidatorSuite.ts"
export * as SessionOwnersSuite from "./SessionOwnersSuite.ts"
export * as SessionStoreSuite from "./SessionStoreSuite.ts"
export * as TaskStoreSuite from "./TaskStoreSuite.ts"
export * as TokenStoreSuite from "./TokenStoreSuite.ts"
export * as TransportSuite from "./TransportSuite.ts"

/**
 * The part of this package that needs Vitest.
 *
 * @since 0.1.0
 */
export * as EventStoreLaws from "./EventStoreLawSuite.ts"
export * as JsonSchemaValidatorLaws from "./JsonSchemaValidatorLaws.ts"
export * as SessionStoreLaws from "./SessionStoreLawSuite.ts"
export * as TransportLaws from "./TransportLawSuite.ts"

/**
 * The part of this package that needs Vitest.
 *
 * @since 0.1.0
 */
export * as JsonSchemaValidatorLaws from "./JsonSchemaValidatorLaws.ts"
export * as TransportLaws from "./TransportLawSuite.ts"

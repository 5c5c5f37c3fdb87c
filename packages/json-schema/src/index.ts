/**
 * Checks of values against JSON Schemas of the peer: adapters for the port `JsonSchemaValidator` of
 * `@effect-mcp/session`.
 *
 * @stability unstable
 */
export * as AjvValidator from "./AjvValidator.ts"

/**
 * Instruments for testing sessions and transports.
 *
 * @since 0.1.0
 */
export * as Census from "./Census.ts"
export * as JsonSchemaArbitrary from "./JsonSchemaArbitrary.ts"
export * as LawServer from "./LawServer.ts"
export * as Pattern from "./Pattern.ts"
export * as RawPeer from "./RawPeer.ts"
export * as ScriptedPeer from "./ScriptedPeer.ts"
export * as TestSession from "./TestSession.ts"
export * as ToolProperties from "./ToolProperties.ts"
export * as Transcript from "./Transcript.ts"

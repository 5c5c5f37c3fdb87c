/**
 * Arbitrary messages, valid and invalid, and their parts.
 *
 * @stability unstable
 */
export * as ErrorObjects from "./ErrorObjects.ts"
export * as HandshakeStates from "./HandshakeStates.ts"
export * as Hostile from "./Hostile.ts"
export * as HostileBytes from "./HostileBytes.ts"
export * as HostileText from "./HostileText.ts"
export * as JsonSchemaArbitrary from "./JsonSchemaArbitrary.ts"
export * as Mutation from "./Mutation.ts"
export * as NearlyValid from "./NearlyValid.ts"
export * as Pattern from "./Pattern.ts"
export * as Profiles from "./Profiles.ts"
export * as RequestIds from "./RequestIds.ts"
export * as ValidMessages from "./ValidMessages.ts"

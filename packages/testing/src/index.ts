/**
 * Instruments for testing sessions and transports.
 *
 * @since 0.1.0
 */
export * as Census from "./Census.ts"
export * as Command from "./Command.ts"
export * as Conversation from "./Conversation.ts"
export * as ConversationLaws from "./ConversationLaws.ts"
export * as ErrorObjects from "./ErrorObjects.ts"
export * as FailureReport from "./FailureReport.ts"
export * as Faults from "./Faults.ts"
export * as HandshakeStates from "./HandshakeStates.ts"
export * as History from "./History.ts"
export * as Hostile from "./Hostile.ts"
export * as HostileBytes from "./HostileBytes.ts"
export * as HostileText from "./HostileText.ts"
export * as LawServer from "./LawServer.ts"
export * as Mutation from "./Mutation.ts"
export * as NearlyValid from "./NearlyValid.ts"
export * as Profiles from "./Profiles.ts"
export * as RawPeer from "./RawPeer.ts"
export * as RequestIds from "./RequestIds.ts"
export * as Search from "./Search.ts"
export * as SimulatedTransport from "./SimulatedTransport.ts"
export * as Simulation from "./Simulation.ts"
export * as TransportLaws from "./TransportLaws.ts"
export * as ValidMessages from "./ValidMessages.ts"
export * as World from "./World.ts"

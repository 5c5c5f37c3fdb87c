/**
 * Instruments for testing sessions and transports.
 *
 * @since 0.1.0
 */
export * as Census from "./Census.ts"
export * as Faults from "./Faults.ts"
export * as LawServer from "./LawServer.ts"
export * as RawPeer from "./RawPeer.ts"
export * as SimulatedTransport from "./SimulatedTransport.ts"
export * as World from "./World.ts"

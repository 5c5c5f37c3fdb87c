/**
 * Tools for tests of clients and servers: sessions, transcripts, scripted peers and simulated wires.
 *
 * @stability unstable
 */

// The modules that a program starts from.
export * as ScriptedPeer from "./ScriptedPeer.ts"
export * as SimulatedTransport from "./SimulatedTransport.ts"
export * as TestSession from "./TestSession.ts"
export * as ToolProperties from "./ToolProperties.ts"
export * as Transcript from "./Transcript.ts"
export * as VirtualRuntime from "./VirtualRuntime.ts"

// More.
export * as Faults from "./Faults.ts"
export * as FiberCount from "./FiberCount.ts"
export * as RawPeer from "./RawPeer.ts"

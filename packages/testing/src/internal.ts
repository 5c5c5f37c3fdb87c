/**
 * The parts of this package that other packages of this project use. They change without notice.
 */
export type * as Journal from "./internal/simulation/Journal.ts"
export * as ProtocolLaws from "./internal/simulation/ProtocolLaws.ts"
export * as Recorder from "./internal/simulation/Recorder.ts"

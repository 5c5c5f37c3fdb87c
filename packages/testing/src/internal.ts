/**
 * The parts of this package that other packages of this project use. They change without notice.
 */
export * as generators from "./internal/arbitrary/generators.ts"
export * as jsonValues from "./internal/arbitrary/jsonValues.ts"
export type * as Journal from "./internal/simulation/Journal.ts"
export * as ProtocolLaws from "./internal/simulation/ProtocolLaws.ts"
export type * as Recorder from "./internal/simulation/Recorder.ts"
export * as Report from "./internal/simulation/Report.ts"
export * as Search from "./internal/simulation/Search.ts"
export * as Served from "./internal/simulation/Served.ts"
export * as Setting from "./internal/simulation/Setting.ts"
export * as World from "./internal/simulation/World.ts"

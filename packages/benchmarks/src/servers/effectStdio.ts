// No server, but the modules that one loads for standard input and output as streams of Effect.
export * as NodeRuntime from "@effect/platform-node/NodeRuntime"
export * as NodeStdio from "@effect/platform-node/NodeStdio"
export * as Effect from "effect/Effect"
export * as Schema from "effect/Schema"

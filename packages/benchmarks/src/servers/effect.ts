// No server, but the modules that every program with Effect and its schemas loads.
export * as Effect from "effect/Effect"
export * as Schema from "effect/Schema"

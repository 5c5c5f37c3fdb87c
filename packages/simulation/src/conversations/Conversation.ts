/** A conversation to simulate: its commands, its connection, and the seed of all random decisions. */
import { Faults } from "@effect-mcp/testing"
import { Setting } from "@effect-mcp/testing/internal"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Command } from "./Command.ts"

/**
 * The revisions that the client supports: those with a handshake, or 2026-07-28, which has none. The server serves all.
 */
export const Era = Schema.Literals(["Handshake", "Modern"])

/** An era. */
export type Era = typeof Era.Type

/** A conversation of up to two sessions in one program. */
export const Conversation = Schema.Struct({
  /** A conversation that was stored without an era has a handshake. */
  era: Era.pipe(Schema.withDecodingDefaultKey(Effect.succeed<Era>("Handshake"))),
  ...Setting.fields,
  commands: Schema.Array(Command)
})

/** A conversation. */
export type Conversation = typeof Conversation.Type

/** The greatest number of commands of a conversation. */
export const length = 24

/**
 * Generates conversations of up to 24 commands for a property. A failing one shrinks to few commands and, if possible,
 * a handshake and no faults.
 */
export const arbitrary: Arbitrary.Arbitrary<Conversation> = Arbitrary.all({
  era: Arbitrary.schema(Era),
  ...Setting.arbitraries,
  // More laws hold on connections that lose nothing, so they are drawn more often.
  faults: Arbitrary.schema(Schema.Union([Faults.OrderKeeping, Faults.Faults])),
  commands: Arbitrary.array(Arbitrary.schema(Command), { minLength: 1, maxLength: length })
})

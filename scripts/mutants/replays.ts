/**
 * The conversations that show the mutants to be broken, as they were found last.
 */
import { Conversation } from "@effect-mcp/testing"
import * as Schema from "effect/Schema"
import { read } from "../workspace.ts"

const Replay = Schema.Struct({
  /** The law that does not hold in it. */
  law: Schema.String,
  /** How many conversations were held until it was found. */
  runs: Schema.Int,
  conversation: Conversation.Conversation
})

/** One of them. */
export type Replay = typeof Replay.Type

export const replaysFile = "scripts/mutants/replays.json"

/** All of them, by the names of the mutants. */
export const readReplays = (): ReadonlyMap<string, Replay> =>
  new Map(Object.entries(
    Schema.decodeUnknownSync(Schema.Record(Schema.String, Replay))(JSON.parse(read(replaysFile)))
  ))

/**
 * The recorded conversations that find the mutants.
 */
import * as Schema from "effect/Schema"
import { read } from "../../../../scripts/workspace.ts"
import * as Conversation from "../conversations/Conversation.ts"

const Replay = Schema.Struct({
  /** The law that the mutant breaks in the conversation. */
  law: Schema.String,
  /** The number of conversations up to the one that found the mutant. */
  runs: Schema.Int,
  conversation: Conversation.Conversation
})

/** A recorded conversation. */
export type Replay = typeof Replay.Type

export const replaysFile = "packages/simulation/src/mutants/replays.json"

/** Returns the recorded conversations by the names of their mutants. */
export const readReplays = (): ReadonlyMap<string, Replay> =>
  new Map(Object.entries(
    Schema.decodeUnknownSync(Schema.Record(Schema.String, Replay))(JSON.parse(read(replaysFile)))
  ))

/**
 * Runs simulated conversations, and searches for one that breaks a law.
 *
 * `pnpm simulate --sessions 100000 --seed 1` runs that many. `--conversation '{…}'` runs one, in the form of a report,
 * and prints its history. The program fails if a conversation breaks a law.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { parseArgs } from "node:util"
import { orExit, UsageError, wholeNumber } from "../../../scripts/commandLine.ts"
import * as Conversation from "./conversations/Conversation.ts"
import * as Search from "./conversations/Search.ts"

/** Parses a conversation in the form of a report. */
const conversationIn = (text: string): Conversation.Conversation => {
  try {
    return Schema.decodeUnknownSync(Conversation.Conversation)(JSON.parse(text))
  } catch (error) {
    throw new UsageError(
      `--conversation takes a conversation as a report prints it: ${error instanceof Error ? error.message : error}`
    )
  }
}

const { conversation, seed, total } = orExit(() => {
  const { values } = parseArgs({
    options: {
      sessions: { type: "string", default: "10000" },
      seed: { type: "string", default: "1" },
      conversation: { type: "string" }
    }
  })
  return {
    total: wholeNumber("sessions", values.sessions),
    seed: values.seed,
    conversation: values.conversation === undefined ? undefined : conversationIn(values.conversation)
  }
})

// No stack trace is printed, and capturing them takes time.
Error.stackTraceLimit = 0

if (conversation === undefined) {
  const portion = 1000
  const began = performance.now()
  for (let held = 0; held < total; held += portion) {
    const runs = Math.min(portion, total - held)
    const found = await Effect.runPromise(Search.run({ runs, seed: `${seed} ${held}` }))
    if (found !== undefined) {
      process.exitCode = 1
      console.log(Search.describe(found))
      break
    }
    const done = held + runs
    const perSecond = Math.round(done / (performance.now() - began) * 1000)
    if (done % (10 * portion) === 0 || done === total) {
      console.log(`${done} conversations, ${perSecond} a second, no law broken`)
    }
  }
} else {
  const violations = Search.judge(conversation)
  if (violations.length > 0) process.exitCode = 1
  console.log(Search.describe({ input: conversation, violations }))
}

/**
 * Holds simulated conversations and looks for one in which a law does not hold.
 *
 * `node scripts/simulate.ts --sessions 100000 --seed 1` holds so many; `--conversation '{…}'` holds one, as a report gives it, and shows
 * what happens in it. Fails if a law does not hold.
 */
import { Conversation, FailureReport, Search } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    conversation: { type: "string" }
  }
})

// Where an error arose is of no interest here, and to find out takes time.
Error.stackTraceLimit = 0

const show = (found: Search.Found): void => {
  process.exitCode = 1
  console.log(Search.describe(found))
}

if (values.conversation === undefined) {
  const total = Number(values.sessions)
  if (!Number.isInteger(total) || total < 1) {
    throw new Error(`--sessions takes a whole number above 0, not ${values.sessions}`)
  }
  const portion = 1000
  const began = performance.now()
  for (let held = 0; held < total; held += portion) {
    const runs = Math.min(portion, total - held)
    const found = await Effect.runPromise(Search.run({ runs, seed: `${values.seed} ${held}` }))
    if (found !== undefined) {
      show(found)
      break
    }
    const done = held + runs
    const perSecond = Math.round(done / (performance.now() - began) * 1000)
    if (done % (10 * portion) === 0 || done === total) {
      console.log(`${done} conversations, ${perSecond} a second, no law broken`)
    }
  }
} else {
  const conversation = Schema.decodeUnknownSync(Conversation.Conversation)(JSON.parse(values.conversation))
  const { history, violations } = Search.judge(conversation)
  if (violations.length > 0) show({ conversation, history, violations, runs: 1 })
  else if (history !== undefined) console.log(FailureReport.describe(history, []))
}

/**
 * Runs simulated conversations, or scripts of credentials or of fleets, and searches for one that breaks a law.
 *
 * `pnpm simulate --sessions 100000 --seed 1` runs that many conversations. `--scripts 10000` runs that many scripts of
 * credentials instead, and `--fleets 10000` that many scripts of fleets. `--conversation '{…}'`, `--script '{…}'` or
 * `--fleet '{…}'` runs one, in the form of a report, and prints its history. The program fails if a law is broken.
 */
import type { Search as EverySearch } from "@effect-mcp/testing/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { parseArgs } from "node:util"
import { orExit, UsageError, wholeNumber } from "../../../scripts/commandLine.ts"
import * as Conversation from "./conversations/Conversation.ts"
import * as Search from "./conversations/Search.ts"
import { Script } from "./credentials/Script.ts"
import * as CredentialSearch from "./credentials/Search.ts"
import * as Fleet from "./processes/Script.ts"
import * as FleetSearch from "./processes/Search.ts"

/** Parses an input in the form of a report. */
const inputIn = <A>(option: string, schema: Schema.ConstraintDecoder<A>, text: string): A => {
  try {
    return Schema.decodeUnknownSync(schema)(JSON.parse(text))
  } catch (error) {
    throw new UsageError(
      `--${option} takes a ${option} as a report prints it: ${error instanceof Error ? error.message : error}`
    )
  }
}

const { conversation, fleet, fleets, script, scripts, seed, total } = orExit(() => {
  const { values } = parseArgs({
    options: {
      sessions: { type: "string", default: "10000" },
      scripts: { type: "string" },
      fleets: { type: "string" },
      seed: { type: "string", default: "1" },
      conversation: { type: "string" },
      script: { type: "string" },
      fleet: { type: "string" }
    }
  })
  return {
    total: wholeNumber("sessions", values.sessions),
    scripts: values.scripts === undefined ? undefined : wholeNumber("scripts", values.scripts),
    fleets: values.fleets === undefined ? undefined : wholeNumber("fleets", values.fleets),
    seed: values.seed,
    conversation: values.conversation === undefined
      ? undefined
      : inputIn("conversation", Conversation.Conversation, values.conversation),
    script: values.script === undefined ? undefined : inputIn("script", Script, values.script),
    fleet: values.fleet === undefined ? undefined : inputIn("fleet", Fleet.Script, values.fleet)
  }
})

// No stack trace is printed, and capturing them takes time.
Error.stackTraceLimit = 0

/** A simulation whose inputs are searched. */
interface Simulation<Found> {
  /** The name of its inputs. */
  readonly inputs: string
  readonly total: number
  /** The number of inputs after which progress is printed. */
  readonly between: number
  readonly run: (options: EverySearch.Options) => Effect.Effect<Found | undefined>
  readonly describe: (found: Found) => string | Promise<string>
}

/** The number of inputs of one search. Inputs grow during a search, so several short ones run. */
const portion = 1000

const search = async <Found>({ between, describe, inputs, run, total }: Simulation<Found>): Promise<void> => {
  const began = performance.now()
  for (let held = 0; held < total; held += portion) {
    const runs = Math.min(portion, total - held)
    const found = await Effect.runPromise(run({ runs, seed: `${seed} ${held}` }))
    if (found !== undefined) {
      process.exitCode = 1
      return console.log(await describe(found))
    }
    const done = held + runs
    const perSecond = Math.round(done / (performance.now() - began) * 1000)
    if (done % between === 0 || done === total) {
      console.log(`${done} ${inputs}, ${perSecond} a second, no law broken`)
    }
  }
}

if (conversation !== undefined) {
  const violations = Search.judge(conversation)
  if (violations.length > 0) process.exitCode = 1
  console.log(Search.describe({ input: conversation, violations }))
} else if (script !== undefined) {
  const violations = await CredentialSearch.judge(script)
  if (violations.length > 0) process.exitCode = 1
  console.log(await CredentialSearch.describe({ input: script, violations }))
} else if (fleet !== undefined) {
  const violations = await FleetSearch.judge(fleet)
  if (violations.length > 0) process.exitCode = 1
  console.log(await FleetSearch.describe({ input: fleet, violations }))
} else if (scripts !== undefined) {
  await search({ inputs: "scripts", total: scripts, between: portion, ...CredentialSearch })
} else if (fleets !== undefined) {
  await search({ inputs: "fleets", total: fleets, between: portion, ...FleetSearch })
} else {
  await search({ inputs: "conversations", total, between: 10 * portion, ...Search })
}

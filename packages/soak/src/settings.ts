/** The settings on the command line. */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { choice, wholeNumber } from "../../../scripts/commandLine.ts"
import type { EndingName } from "./EndingName.ts"
import { endings } from "./endings.ts"
import type { Subject } from "./Subject.ts"
import { subjects } from "./subjects.ts"

export interface Settings {
  readonly sessions: number
  /** The number of restarts of the servers of supervised clients; `undefined` for a soak of sessions. */
  readonly restarts: number | undefined
  /** The number of tasks; `undefined` for another soak. */
  readonly tasks: number | undefined
  /** The number of expiries of access tokens; `undefined` for another soak. */
  readonly expiries: number | undefined
  readonly rounds: number
  readonly seed: number
  readonly subjects: ReadonlyArray<Subject>
  /** The selected endings; `undefined` for all. */
  readonly endings: ReadonlyArray<EndingName> | undefined
  readonly out: string
  readonly leakBytes: number
}

const defaults = {
  sessions: "20000",
  rounds: "30",
  seed: "1",
  out: fileURLToPath(new URL("../results", import.meta.url)),
  leak: "0"
}

const isEnding = (name: string): name is EndingName => Object.hasOwn(endings, name)

/** Parses the command line. Throws a `UsageError`, or an error of `parseArgs`. */
export const parse = (args: ReadonlyArray<string>): Settings => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sessions: { type: "string", default: defaults.sessions },
      supervised: { type: "string" },
      tasks: { type: "string" },
      expiries: { type: "string" },
      rounds: { type: "string", default: defaults.rounds },
      seed: { type: "string", default: defaults.seed },
      only: { type: "string", multiple: true, default: [] },
      ending: { type: "string", multiple: true, default: [] },
      out: { type: "string", default: defaults.out },
      leak: { type: "string", default: defaults.leak }
    }
  })
  const names = subjects.map(({ name }) => name)
  for (const name of values.only) choice("only", name, names)
  const wanted = values.ending.map((name) => choice("ending", name, Object.keys(endings).filter(isEnding)))
  return {
    sessions: wholeNumber("sessions", values.sessions, 1),
    restarts: values.supervised === undefined ? undefined : wholeNumber("supervised", values.supervised, 1),
    tasks: values.tasks === undefined ? undefined : wholeNumber("tasks", values.tasks, 1),
    expiries: values.expiries === undefined ? undefined : wholeNumber("expiries", values.expiries, 1),
    rounds: wholeNumber("rounds", values.rounds, 1),
    seed: wholeNumber("seed", values.seed, 0),
    subjects: subjects.filter(({ name }) => values.only.length === 0 || values.only.includes(name)),
    endings: wanted.length === 0 ? undefined : wanted,
    out: values.out,
    leakBytes: wholeNumber("leak", values.leak, 0)
  }
}

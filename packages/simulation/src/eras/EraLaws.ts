/**
 * The laws of a handler that serves both eras. Each compares the observations of a script in both of them.
 *
 * Steps that run beside others may send their messages in another order, because it depends on the times of answers.
 */
import { Search } from "@effect-mcp/testing/internal"
import { callsOf, type Era, type Observation } from "./EraRun.ts"
import { beside, maxRounds } from "./Script.ts"
import type { Trial } from "./Trial.ts"

/** The observations of a trial in both eras. */
export interface Observed {
  readonly trial: Trial
  readonly legacy: Observation
  readonly modern: Observation
}

interface Law {
  readonly name: string
  /** Returns the problems of a trial. */
  readonly problems: (observed: Observed) => ReadonlyArray<string>
}

const textOf = (value: unknown): string => JSON.stringify(value) ?? "nothing"

const differ = (what: string, legacy: unknown, modern: unknown): ReadonlyArray<string> =>
  textOf(legacy) === textOf(modern)
    ? []
    : [`${what}\n    with a handshake: ${textOf(legacy)}\n    in 2026-07-28:    ${textOf(modern)}`]

const bothOf = ({ legacy, modern }: Observed): ReadonlyArray<readonly [era: Era, observation: Observation]> => [
  ["2025-11-25", legacy],
  ["2026-07-28", modern]
]

/** Returns whether the order of the messages of these steps depends on the times of answers. */
const isOrderOpen = ({ calls, script }: Trial, tag: "Ask" | "Log" | "Progress"): boolean =>
  calls > 1 || beside(script).some(({ _tag }) => _tag === tag)

const ends: Law = {
  name: "the caller receives the same result or error",
  problems: ({ legacy, modern }) => differ("the ends of the calls:", legacy.ends, modern.ends)
}

const questions: Law = {
  name: "the user is asked the same questions",
  problems: ({ legacy, modern, trial }) => {
    const inOrder = (asked: ReadonlyArray<string>) => isOrderOpen(trial, "Ask") ? asked.toSorted() : asked
    return differ("the questions:", inOrder(legacy.asked), inOrder(modern.asked))
  }
}

const answers: Law = {
  name: "each question gets its own answer",
  problems: (observed) =>
    bothOf(observed).flatMap(([era, { journal }]) =>
      journal.received.flatMap(({ answer, expected, question }) =>
        answer === expected ? [] : [`in ${era}, "${question}" gets ${answer} instead of ${expected}`]
      )
    )
}

const calls: Law = {
  name: "a call knows nothing of another one",
  problems: (observed) =>
    bothOf(observed).flatMap(([era, { ends }]) =>
      ends.flatMap((end, index) =>
        callsOf(observed.trial).flatMap((other, at) =>
          at !== index && end.includes(other) ? [`in ${era}, call ${index} ends with ${end}`] : []
        )
      )
    )
}

const steps: Law = {
  name: "a step of once runs as often",
  problems: ({ legacy, modern }) => {
    const keys = new Set([...legacy.journal.steps.keys(), ...modern.journal.steps.keys()])
    return [...keys].flatMap((key) => {
      const before = legacy.journal.steps.get(key) ?? 0
      const now = modern.journal.steps.get(key) ?? 0
      const isSealed = !modern.journal.unsealed.has(key)
      const runs = modern.journal.runs.get(key.split(" ")[0] ?? "") ?? 0
      const holds = isSealed ? before === 1 && now === 1 : before === 1 && now >= 1 && now <= runs
      return holds ? [] : [`${key} runs ${before} times with a handshake, and ${now} times in 2026-07-28`]
    })
  }
}

const progress: Law = {
  name: "the caller receives the same progress, in increasing order",
  problems: (observed) => {
    const { legacy, modern, trial } = observed
    const decreasing = bothOf(observed).flatMap(([era, { progress }]) =>
      progress.flatMap((values) =>
        values.some((value, index) => index > 0 && value <= (values[index - 1] ?? 0))
          ? [`in ${era}, progress is ${textOf(values)}`]
          : []
      )
    )
    // A step beside others may be overtaken by a higher one, and is then not sent.
    const seen = (all: Observation["progress"]) =>
      beside(trial.script).some(({ _tag }) => _tag === "Progress") ? all.map((values) => values.at(-1)) : all
    return [...decreasing, ...differ("the progress:", seen(legacy.progress), seen(modern.progress))]
  }
}

const logs: Law = {
  name: "the client receives the same log messages, each once",
  problems: ({ legacy, modern, trial }) => {
    const inOrder = (messages: ReadonlyArray<string>) => isOrderOpen(trial, "Log") ? messages.toSorted() : messages
    return differ("the log messages:", inOrder(legacy.logs), inOrder(modern.logs))
  }
}

const rounds: Law = {
  name: "a call has no more rounds than its script has questions after one another",
  problems: ({ legacy, modern, trial }) => {
    const most = maxRounds(trial.script)
    return [
      ...[...legacy.journal.runs].flatMap(([call, runs]) =>
        runs === 1 ? [] : [`the handler of the ${call} call starts ${runs} times with a handshake`]
      ),
      ...[...modern.journal.runs].flatMap(([call, runs]) =>
        runs - 1 <= most ? [] : [`the ${call} call has ${runs - 1} rounds instead of at most ${most}`]
      )
    ]
  }
}

const resources: Law = {
  name: Search.nothingLeft,
  problems: (observed) =>
    bothOf(observed).flatMap(([era, { fibersLeft, journal: { acquired, released } }]) => [
      ...(acquired === released ? [] : [`in ${era}, ${acquired} are acquired, and ${released} released`]),
      ...(fibersLeft === 0 ? [] : [`in ${era}, ${fibersLeft} fibers are left`])
    ])
}

/** The laws. */
export const laws: ReadonlyArray<Law> = [ends, questions, answers, calls, steps, progress, logs, rounds, resources]

/** Returns the laws that do not hold. */
export const violations = (observed: Observed): ReadonlyArray<Search.Violation> =>
  laws.flatMap(({ name, problems }) => problems(observed).map((problem) => ({ law: name, problem })))

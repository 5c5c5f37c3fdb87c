/** The mutants of the replay: servers of revision 2026-07-28 with one bug each, one line away from the library. */
import { type Mutant, mutantsOf } from "./Mutant.ts"

const replay = "packages/session/src/internal/server/replay"
const questionJournal = `${replay}/QuestionJournal.ts`
const replayedRun = `${replay}/ReplayedRun.ts`
const runFiber = `${replay}/RunFiber.ts`
const sentLogs = `${replay}/SentLogs.ts`
const onceSteps = "packages/session/src/internal/engine/OnceSteps.ts"

export const mutants: ReadonlyArray<Mutant> = [
  ...mutantsOf(questionJournal, [
    [
      "knows questions by their position",
      "const key = given ?? this.#keyOf(digest)",
      "const key = given ?? String(this.#questions.size)"
    ],
    [
      "gives the first answer to every question",
      ": this.#responses.get(key)\n",
      ": [...this.#responses.values()][0]\n"
    ],
    [
      "gives one answer to the same question each time",
      "return occurrence === 0 ? digest : `${digest}.${occurrence + 1}`",
      "return digest"
    ],
    [
      "forgets the answers of earlier rounds",
      "answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.state.answers },",
      "answers: this.#answered,"
    ],
    ["forgets the answers that no question has taken", "answers: { ...this.#answered, ...", "answers: { ..."]
  ]),
  ...mutantsOf(replayedRun, [
    [
      "seals no step of once",
      "steps: this.#steps === undefined ? this.#journal.state.steps : Object.fromEntries(this.#steps.results),",
      "steps: {},"
    ],
    ["cuts a run in the middle of a step of once", "(this.#steps?.running ?? 0) === 0", "true"],
    ["cannot cut uninterruptible code", "Effect.interruptible(Effect.flatten(", "(Effect.flatten("],
    [
      "sends progress again",
      "if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress",
      ""
    ],
    ["sends what finalizers report after the cut", "    if (this.#fiber.isClosed) return false\n", ""],
    ["sends log messages again", "this.#logs = new SentLogs(state.logs)", ""]
  ]),
  ...mutantsOf(runFiber, [
    [
      "cuts a run that can go on",
      "if (this.#mayBeCut && this.#scheduler?.isIdle === true) this.#dependencies.onStuck()",
      "if (this.#mayBeCut) this.#dependencies.onStuck()"
    ]
  ]),
  ...mutantsOf(onceSteps, [
    [
      "seals no failure",
      "return error === undefined || failure._tag === \"None\"",
      "return error === undefined || true"
    ]
  ]),
  ...mutantsOf(sentLogs, [
    [
      "counts log messages, whatever they say",
      "return `${(Hash.string(text) >>> 0).toString(36)}.${text.length.toString(36)}`",
      "return text.slice(0, 0)"
    ],
    ["sends the same log message only once", "const count = (this.#now.get(digest) ?? 0) + 1", "const count = 1"]
  ])
]

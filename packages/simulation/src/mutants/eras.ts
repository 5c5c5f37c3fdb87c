/**
 * The mutants of the replay: servers of revision 2026-07-28 with one bug each, one line away from the library.
 */
import type { Mutant } from "./Mutant.ts"

const replay = "packages/session/src/internal/server/replay"
const replayedRun = `${replay}/ReplayedRun.ts`
const sentLogs = `${replay}/SentLogs.ts`
const onceSteps = "packages/session/src/internal/engine/OnceSteps.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "knows questions by their position",
    file: replayedRun,
    original: "const own = key ?? this.#keyOf(digest)",
    broken: "const own = key ?? String(this.#questions.size)"
  },
  {
    name: "gives the first answer to every question",
    file: replayedRun,
    original: ": this.#responses.get(key)\n",
    broken: ": [...this.#responses.values()][0]\n"
  },
  {
    name: "gives one answer to the same question each time",
    file: replayedRun,
    original: "return occurrence === 0 ? digest : `${digest}.${occurrence + 1}`",
    broken: "return digest"
  },
  {
    name: "forgets the answers of earlier rounds",
    file: replayedRun,
    original: "answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.#state.answers },",
    broken: "answers: this.#answered,"
  },
  {
    name: "forgets the answers that no question has taken",
    file: replayedRun,
    original: "answers: { ...this.#answered, ...",
    broken: "answers: { ..."
  },
  {
    name: "seals no step of once",
    file: replayedRun,
    original: "steps: this.#steps === undefined ? this.#state.steps : Object.fromEntries(this.#steps.results),",
    broken: "steps: {},"
  },
  {
    name: "seals no failure",
    file: onceSteps,
    original: "return error === undefined || failure._tag === \"None\"",
    broken: "return error === undefined || true"
  },
  {
    name: "cuts a run in the middle of a step of once",
    file: replayedRun,
    original: "(this.#steps?.running ?? 0) === 0",
    broken: "true"
  },
  {
    name: "cuts a run that can go on",
    file: replayedRun,
    original: "if (this.#mayBeCut && this.#scheduler?.isIdle === true) this.#suspend()",
    broken: "if (this.#mayBeCut) this.#suspend()"
  },
  {
    name: "cannot cut uninterruptible code",
    file: replayedRun,
    original: "Effect.interruptible(Effect.flatten(",
    broken: "(Effect.flatten("
  },
  {
    name: "sends progress again",
    file: replayedRun,
    original: "if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress",
    broken: ""
  },
  {
    name: "sends what finalizers report after the cut",
    file: replayedRun,
    original: "    if (this.#isClosed) return false\n",
    broken: ""
  },
  {
    name: "sends log messages again",
    file: replayedRun,
    original: "this.#logs = new SentLogs(state.logs)",
    broken: ""
  },
  {
    name: "counts log messages, whatever they say",
    file: sentLogs,
    original: "return `${(Hash.string(text) >>> 0).toString(36)}.${text.length.toString(36)}`",
    broken: "return text.slice(0, 0)"
  },
  {
    name: "sends the same log message only once",
    file: sentLogs,
    original: "const count = (this.#now.get(digest) ?? 0) + 1",
    broken: "const count = 1"
  }
]

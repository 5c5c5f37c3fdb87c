/** The mutants of the replay: servers of revision 2026-07-28 with one bug each, one line away from the library. */
import type { Mutant } from "./Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "knows questions by their position",
    at: "QuestionJournal.enter",
    original: "const key = given ?? this.#keyOf(digest)",
    broken: "const key = given ?? String(this.#questions.size)"
  },
  {
    name: "gives the first answer to every question",
    at: "QuestionJournal.take",
    original: ": this.#responses.get(key)",
    broken: ": [...this.#responses.values()][0]"
  },
  {
    name: "gives one answer to the same question each time",
    at: "QuestionJournal.#keyOf",
    original: "return occurrence === 0 ? digest : `${digest}.${occurrence + 1}`",
    broken: "return digest"
  },
  {
    name: "forgets the answers of earlier rounds",
    at: "QuestionJournal.next",
    original: "answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.state.answers },",
    broken: "answers: this.#answered,"
  },
  {
    name: "forgets the answers that no question has taken",
    at: "QuestionJournal.next",
    original: "answers: { ...this.#answered, ...",
    broken: "answers: { ..."
  },
  {
    name: "seals no step of once",
    at: "ReplayedRun.#inputRequired",
    original: "steps: this.#steps === undefined ? this.#journal.state.steps : Object.fromEntries(this.#steps.results),",
    broken: "steps: {},"
  },
  {
    name: "cuts a run in the middle of a step of once",
    at: "ReplayedRun.#fiber",
    original: "(this.#steps?.running ?? 0) === 0",
    broken: "true"
  },
  {
    name: "cannot cut uninterruptible code",
    at: "ReplayedRun.#answerTo",
    original: "Effect.interruptible(Effect.flatten(",
    broken: "(Effect.flatten("
  },
  {
    name: "sends progress again",
    at: "ReplayedRun.serve",
    original: "if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress",
    broken: ""
  },
  {
    name: "sends what finalizers report after the cut",
    at: "ReplayedRun.admits",
    original: "if (this.#fiber.isClosed) return false",
    broken: ""
  },
  {
    name: "sends log messages again",
    at: "ReplayedRun.serve",
    original: "this.#logs = new SentLogs(state.logs)",
    broken: ""
  },
  {
    name: "cuts a run that can go on",
    at: "RunFiber.check",
    original: "if (this.#mayBeCut && this.#scheduler?.isIdle === true) this.#dependencies.onStuck()",
    broken: "if (this.#mayBeCut) this.#dependencies.onStuck()"
  },
  {
    name: "seals no failure",
    at: "OnceSteps.#sealed",
    original: "return error === undefined || failure._tag === \"None\"",
    broken: "return error === undefined || true"
  },
  {
    name: "counts log messages, whatever they say",
    at: "SentLogs.digestOf",
    original: "return `${(Hash.string(text) >>> 0).toString(36)}.${text.length.toString(36)}`",
    broken: "return text.slice(0, 0)"
  },
  {
    name: "sends the same log message only once",
    at: "SentLogs.admits",
    original: "const count = (this.#now.get(digest) ?? 0) + 1",
    broken: "const count = 1"
  }
]

/**
 * The journal of the questions of a call.
 *
 * It knows what earlier runs of the call have asked, what the client has answered, and what this run has asked and
 * taken so far. It is a pure part: it starts no fibers and reads no clock. A run asks it for keys and answers, and
 * seals its `next` state when it is cut. The next run begins with that state and the new answers of the client.
 */

import type { InputRequired } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type { RequestState, Restored } from "./RequestState.ts"

/** A question, and the key that the program has given. */
export interface JournalQuestion {
  readonly question: InputRequired.InputRequest
  readonly given: string | undefined
}

/** A question with its answer. */
export interface AnsweredQuestion extends JournalQuestion {
  readonly answer: unknown
}

/** The parts of the next state that are not about questions. */
export type Kept = Pick<RequestState, "steps" | "progress" | "logs">

/** The most runs in a row that may take none of the answers to the questions before. */
const maxUntaken = 5

/** Begins the keys of pages that a handler has failed for. Its next run takes no answer to them. */
const visitPrefix = "visit."

const isDeclined = (answer: unknown): boolean =>
  typeof answer === "object" && answer !== null && "action" in answer && answer.action !== "accept"

/** The journal of one run. */
export class QuestionJournal {
  /** The questions of this run that have an answer, in the order in which it has asked them. */
  readonly answers: Array<AnsweredQuestion> = []
  /** The state that the client has sent back, or the initial one. */
  readonly state: RequestState
  /** The new answers of the client. Some may belong to no question of an earlier run. */
  readonly #responses: ReadonlyMap<string, unknown>
  /** The digests of all questions of this run by their keys. */
  readonly #questions = new Map<string, string>()
  /** The number of times that this run has asked each question without a given key, by its digest. */
  readonly #occurrences = new Map<string, number>()
  /** The answers that this run has taken, by the keys of their questions. */
  readonly #taken = new Map<string, unknown>()

  constructor({ responses, state }: Restored) {
    this.state = state
    this.#responses = responses
  }

  /** Enters a question, and returns its key. Fails if another question has this key, in this run or an earlier one. */
  enter(digest: string, given: string | undefined): Result.Result<string, string> {
    const key = given ?? this.#keyOf(digest)
    const { questions } = this.state
    const before = this.#questions.get(key) ?? (Object.hasOwn(questions, key) ? questions[key] : undefined)
    if (before !== undefined && before !== digest) {
      return Result.fail(`two different questions have the key ${JSON.stringify(key)}`)
    }
    this.#questions.set(key, digest)
    return Result.succeed(key)
  }

  /** Enters a page that the user has to visit, and returns its key. */
  enterVisit(digest: string): string {
    const key = `${visitPrefix}${digest}.${this.state.round + 1}`
    this.#questions.set(key, digest)
    return key
  }

  /**
   * Takes the answer to a question; `undefined` if there is none yet. One in the state wins, because the client cannot
   * change it.
   */
  take(key: string, asked: JournalQuestion): unknown {
    const answer = Object.hasOwn(this.state.answers, key) ? this.state.answers[key] : this.#responses.get(key)
    if (answer === undefined) return undefined
    this.#taken.set(key, answer)
    this.answers.push({ ...asked, answer })
    return answer
  }

  /** Whether the client has declined a question of an earlier run in this round. */
  get isDeclined(): boolean {
    return Object.values(this.#answered).some(isDeclined)
  }

  /** The number of runs in a row, this one included, that took none of the answers to the questions before. */
  get untaken(): number {
    const answered = Object.keys(this.#answered).filter((key) => !key.startsWith(visitPrefix))
    // A branch that waited for a timer before may be the first one to ask now. Its question is new, too.
    return answered.length > 0 && !answered.some((key) => this.#taken.has(key)) ? this.state.untaken + 1 : 0
  }

  /** Whether the runs of this call ask other questions each time, so that no answer ever counts. */
  get isAimless(): boolean {
    return this.untaken > maxUntaken
  }

  /** Returns the state for the next run: all answers so far, and the digests of all questions. */
  next(untaken: number, kept: Kept): RequestState {
    return {
      round: this.state.round + 1,
      // An answer that no question took is kept: a race leaves one, and the next run may take it.
      answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.state.answers },
      questions: { ...this.state.questions, ...Object.fromEntries(this.#questions) },
      untaken,
      ...kept
    }
  }

  /**
   * Returns the key of a question: its digest, and the number of times that it was asked before. Its position would not
   * do: if branches change their order, the answer to one question would be given to another.
   */
  #keyOf(digest: string): string {
    const occurrence = this.#occurrences.get(digest) ?? 0
    this.#occurrences.set(digest, occurrence + 1)
    return occurrence === 0 ? digest : `${digest}.${occurrence + 1}`
  }

  /** The new answers to questions that earlier runs have asked. */
  get #answered(): { readonly [key: string]: unknown } {
    return Object.fromEntries(
      [...this.#responses].filter(([key]) => Object.hasOwn(this.state.questions, key))
    )
  }
}

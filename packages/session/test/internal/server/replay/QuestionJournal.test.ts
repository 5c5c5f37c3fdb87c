/** The journal of the questions of a call, round after round: its keys, its answers, and what it keeps. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { QuestionJournal } from "../../../../src/internal/server/replay/QuestionJournal.ts"
import * as RequestState from "../../../../src/internal/server/replay/RequestState.ts"

const question = { method: "roots/list" } as const
const kept = { steps: {}, logs: {} }

const journalOf = (
  state: RequestState.RequestState = RequestState.initial,
  responses: { readonly [key: string]: unknown } = {}
) => new QuestionJournal({ state, responses: new Map(Object.entries(responses)) })

/** Asks a question, and returns its key and its answer. */
const ask = (journal: QuestionJournal, digest: string, given?: string) => {
  const key = Result.getOrThrow(journal.enter(digest, given))
  return { key, answer: journal.take(key, { question, given }) }
}

const next = (journal: QuestionJournal) => journal.next(journal.untaken, kept)

const digest = Schema.Literals(["a", "b", "c", "constructor", "__proto__"])
const digests = Arbitrary.array(Arbitrary.schema(digest), { minLength: 1, maxLength: 12 })
const order = Arbitrary.array(Arbitrary.schema(Schema.Literals([0, 1, 2, 3, 4, 5])), { minLength: 12, maxLength: 12 })

/** Returns the items in another order. */
const reordered = <A>(items: ReadonlyArray<A>, order: ReadonlyArray<number>): ReadonlyArray<A> =>
  items.map((item, index) => ({ item, at: order[index] ?? 0 })).toSorted((a, b) => a.at - b.at).map(({ item }) => item)

describe("QuestionJournal", () => {
  it.prop("finds the answer to each question, in whatever order the next run asks", [digests, order], ([
    digests,
    order
  ]) => {
    const first = journalOf()
    const asked = digests.map((digest) => ({ digest, key: ask(first, digest).key }))
    const responses = Object.fromEntries(asked.map(({ digest, key }) => [key, { digest, key }]))
    const second = journalOf(next(first), responses)
    const taken = reordered(digests, order).map((digest) => ({ digest, answer: ask(second, digest).answer }))
    for (const { answer, digest } of taken) assert.propertyVal(answer, "digest", digest)
    assert.strictEqual(new Set(taken.map(({ answer }) => answer)).size, digests.length)
  })

  it.prop("keeps every answer as it was when a run first took it", [digests], ([digests]) => {
    let journal = journalOf()
    for (let round = 0; round < digests.length; round++) {
      digests.slice(0, round).forEach((digest, index) => {
        assert.deepStrictEqual(ask(journal, digest).answer, `round ${index + 1}`)
      })
      const { answer, key } = ask(journal, digests[round] ?? "")
      assert.isUndefined(answer)
      const state = next(journal)
      assert.strictEqual(state.round, round + 1)
      // The client sends all earlier answers once more, and changes them.
      const changed = Object.fromEntries(Object.keys(state.questions).map((key) => [key, "changed"]))
      journal = journalOf(state, { ...changed, [key]: `round ${round + 1}` })
    }
  })

  it("rejects two questions with one key, in one run and in two", () => {
    const problem = Result.fail("two different questions have the key \"k\"")
    const first = journalOf()
    ask(first, "a", "k")
    assert.deepStrictEqual(first.enter("b", "k"), problem)
    assert.deepStrictEqual(first.enter("a", "k"), Result.succeed("k"))
    assert.deepStrictEqual(journalOf(next(first)).enter("b", "k"), problem)
  })

  it("keeps an answer that no question has taken, and drops one to no question", () => {
    const first = journalOf()
    ask(first, "a")
    ask(first, "b")
    const second = journalOf(next(first), { a: 1, b: 2, c: 3 })
    ask(second, "a")
    assert.deepStrictEqual(next(second).answers, { a: 1, b: 2 })
  })

  it("takes an answer to a question that no earlier run has asked, if the client sends one", () => {
    const journal = journalOf(RequestState.initial, { a: 1 })
    assert.deepStrictEqual(ask(journal, "a"), { key: "a", answer: 1 })
    assert.deepStrictEqual(journal.answers, [{ question, given: undefined, answer: 1 }])
    assert.deepStrictEqual(next(journal).answers, { a: 1 })
  })

  it("counts the runs that take none of the answers, and starts again when one is taken", () => {
    let journal = journalOf()
    for (let run = 0; run <= 6; run++) {
      assert.strictEqual(journal.untaken, run)
      assert.strictEqual(journal.isAimless, run > 5)
      const { key } = ask(journal, `time ${run}`)
      journal = journalOf(next(journal), { [key]: run })
    }
    ask(journal, "time 6")
    assert.strictEqual(journal.untaken, 0)
    assert.isFalse(journal.isAimless)
  })

  it("does not expect a run to take the answer to a visit, and knows whether the user declined it", () => {
    const first = journalOf()
    const key = first.enterVisit("page")
    assert.strictEqual(key, "visit.page.1")
    const accepted = journalOf(next(first), { [key]: { action: "accept" } })
    assert.strictEqual(accepted.untaken, 0)
    assert.isFalse(accepted.isDeclined)
    assert.isTrue(journalOf(next(first), { [key]: { action: "decline" } }).isDeclined)
    assert.isFalse(journalOf(next(first), { other: { action: "decline" } }).isDeclined)
    assert.strictEqual(accepted.enterVisit("page"), "visit.page.2")
  })
})

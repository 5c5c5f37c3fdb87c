/** Stores with one mistake each, and the laws that find it out. */
import { EventStoreLaws, SessionStoreLaws } from "@effect-mcp/testing/laws"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as NaiveEventStore from "./fixtures/naiveEventStore.ts"
import * as NaiveSessionStore from "./fixtures/naiveSessionStore.ts"

const options = { runs: 50 }

/** The names of the laws that do not hold. Everything is drawn from a seed, so that it is the same ones each time. */
const brokenOf = (laws: ReturnType<typeof EventStoreLaws.laws>) =>
  Effect.forEach(laws, ({ name, run }) => Effect.map(Effect.exit(run), (exit) => Exit.isSuccess(exit) ? [] : [name]))
    .pipe(
      Effect.map((names) => names.flat()),
      Random.withSeed("stores")
    )

describe("a naive store of events", () => {
  const whatever =
    "[SHS-17] [SHS-18] [SHS-20] whatever is done, a replay brings what came behind on that stream, and nothing else"

  const broken: Readonly<Record<NaiveEventStore.Mistake, Array<string>>> = {
    "it counts the events of a stream to number the next": [
      whatever,
      "[SHS-17] no two events have the same id, however many are appended at once",
      "[SHS-17] an id is not given again after its session was dropped, and gets nothing",
      "to drop a session forgets all of its streams, those that have ended included, and nothing else",
      "of what many append to one stream at once, each event comes once, and those of each in order"
    ],
    "it numbers an event before it inserts it": [
      "while a stream is appended to, a replay brings the beginning of what it will bring"
    ],
    "it numbers each stream by itself, and leaves its name out of ids": [
      whatever,
      "[SHS-17] no two events of a session have the same id, whatever their streams",
      "[SHS-17] no two events have the same id, however many are appended at once",
      "[SHS-18] an id is printable ASCII without a space, and leads to its stream, whatever that is called",
      "[SHS-20] of streams that are appended to in turns, each is replayed by itself",
      "[SHS-20] of sessions with streams of the same names, none gets anything of another, nor for its ids",
      "[SHS-20] an id that was not given out gets nothing",
      "a stream has ended once it was ended, no sooner and no other, and is still replayed",
      "to drop a session forgets all of its streams, those that have ended included, and nothing else"
    ],
    "it takes the stream's name to end at the first hyphen": [
      whatever,
      "[SHS-18] an id is printable ASCII without a space, and leads to its stream, whatever that is called",
      "[SHS-20] of streams that are appended to in turns, each is replayed by itself",
      "[SHS-20] an id that was not given out gets nothing",
      "a stream has ended once it was ended, no sooner and no other, and is still replayed"
    ],
    "it reads as much of a number as there is": [
      "[SHS-20] an id that was not given out gets nothing"
    ],
    "it looks for an id in all sessions": [
      whatever,
      "[SHS-20] of sessions with streams of the same names, none gets anything of another, nor for its ids",
      "a stream has ended once it was ended, no sooner and no other, and is still replayed",
      "to drop a session forgets all of its streams, those that have ended included, and nothing else",
      "to end or to drop what is not there does nothing"
    ],
    "it replays whatever came later in the session": [
      whatever,
      "[SHS-20] of streams that are appended to in turns, each is replayed by itself",
      "[SHS-20] of sessions with streams of the same names, none gets anything of another, nor for its ids",
      "[SHS-20] an id that was not given out gets nothing",
      "a stream has ended once it was ended, no sooner and no other, and is still replayed",
      "to drop a session forgets all of its streams, those that have ended included, and nothing else"
    ],
    "it replays the event itself, too": [
      whatever,
      "what was appended comes back as it was",
      "what was appended comes back as it was, where it is a megabyte of every kind of character",
      "a replay brings all that came behind, once and in order, as often as it is asked for",
      "behind the last event there is nothing yet, which is an answer",
      "[SHS-20] of streams that are appended to in turns, each is replayed by itself",
      "[SHS-20] of sessions with streams of the same names, none gets anything of another, nor for its ids",
      "[SHS-20] an id that was not given out gets nothing",
      "a stream has ended once it was ended, no sooner and no other, and is still replayed",
      "to drop a session forgets all of its streams, those that have ended included, and nothing else",
      "to end or to drop what is not there does nothing",
      "of what many append to one stream at once, each event comes once, and those of each in order",
      "while a stream is appended to, a replay brings the beginning of what it will bring"
    ],
    "it replays an event once": [
      whatever,
      "a replay brings all that came behind, once and in order, as often as it is asked for",
      "[SHS-20] of streams that are appended to in turns, each is replayed by itself",
      "[SHS-20] of sessions with streams of the same names, none gets anything of another, nor for its ids",
      "[SHS-20] an id that was not given out gets nothing",
      "a stream has ended once it was ended, no sooner and no other, and is still replayed",
      "to drop a session forgets all of its streams, those that have ended included, and nothing else",
      "to end or to drop what is not there does nothing",
      "while a stream is appended to, a replay brings the beginning of what it will bring"
    ],
    "it tells streams that have ended by their names": [
      whatever,
      "a stream has ended once it was ended, no sooner and no other, and is still replayed"
    ],
    "it remembers that a stream has ended when its session is dropped": [
      "to drop a session forgets all of its streams, those that have ended included, and nothing else"
    ],
    "it throws for an id that it has not given out": [
      "[SHS-20] an id that was not given out gets nothing",
      "every operation ends within 5 seconds, whatever it is called with, and none throws or dies"
    ]
  }

  it.live("without a mistake it keeps every law", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* brokenOf(EventStoreLaws.laws(NaiveEventStore.make(), options)), [])
    }))

  for (const mistake of NaiveEventStore.mistakes) {
    it.live(`the laws that it breaks: ${mistake}`, () =>
      Effect.gen(function*() {
        const laws = EventStoreLaws.laws(NaiveEventStore.make(mistake), options)
        assert.sameMembers(yield* brokenOf(laws), broken[mistake])
      }))
  }

  it("every law is broken by one of them", () => {
    const names = EventStoreLaws.laws(NaiveEventStore.make()).map(({ name }) => name)
    assert.sameMembers([...new Set(Object.values(broken).flat())], names)
  })
})

describe("a naive store of sessions", () => {
  const broken: Readonly<Record<NaiveSessionStore.Mistake, Array<string>>> = {
    "it compares ids without regard to case": [
      "sessions are kept apart, however alike their ids are"
    ],
    "it takes no principal and an empty one for the same": [
      "what was saved is loaded as it was, whatever the client said when it opened it"
    ],
    "it looks ids up among the members of an object": [
      "nothing is known of a session that was not saved, whatever its id"
    ],
    "it keeps what was saved first": [
      "whatever is done, what is loaded is what was saved last and not removed",
      "a session that is saved again takes the place of what was remembered, the time of its last use included"
    ],
    "it saves the parts of a session one after another": [
      "of what is saved at once under one id, one is remembered, and all of it",
      "an operation that is interrupted holds up no other, and is done as a whole or not at all"
    ],
    "it remembers a session by the first message only": [
      "what was saved is loaded as it was, whatever the client said when it opened it"
    ],
    "it remembers no use": [
      "whatever is done, what is loaded is what was saved last and not removed",
      "a use is remembered, a minute late at the most, and changes nothing else",
      "a use that is told late does not set the time back",
      "of uses that are told at once, the latest counts"
    ],
    "it takes the latest word for the latest use": [
      "whatever is done, what is loaded is what was saved last and not removed",
      "a use that is told late does not set the time back",
      "of uses that are told at once, the latest counts"
    ],
    "it loads, alters and saves what is used": [
      "of uses that are told at once, the latest counts",
      "a session that is removed while it is used stays removed"
    ],
    "it inserts what is used, where it is not there": [
      "whatever is done, what is loaded is what was saved last and not removed",
      "to touch or to remove what is not known does nothing",
      "a session that was removed is forgotten, and a use does not bring it back",
      "a session that is removed while it is used stays removed"
    ],
    "it holds its lock when it is interrupted": [
      "an operation that is interrupted holds up no other, and is done as a whole or not at all"
    ]
  }

  it.live("without a mistake it keeps every law", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* brokenOf(SessionStoreLaws.laws(NaiveSessionStore.make(), options)), [])
    }))

  for (const mistake of NaiveSessionStore.mistakes) {
    it.live(`the laws that it breaks: ${mistake}`, () =>
      Effect.gen(function*() {
        const laws = SessionStoreLaws.laws(NaiveSessionStore.make(mistake), options)
        assert.sameMembers(yield* brokenOf(laws), broken[mistake])
      }))
  }

  it("every law is broken by one of them", () => {
    const names = SessionStoreLaws.laws(NaiveSessionStore.make()).map(({ name }) => name)
    assert.sameMembers([...new Set(Object.values(broken).flat())], names)
  })
})

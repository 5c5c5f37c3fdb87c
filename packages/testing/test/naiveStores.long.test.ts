/** Stores with one mistake each, and the laws that find it. */
import {
  ChangeBusLaws,
  EventStoreLaws,
  SessionStoreLaws,
  TaskStoreLaws,
  TokenStoreLaws
} from "@effect-mcp/testing/laws"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as NaiveChangeBus from "./fixtures/naiveChangeBus.ts"
import * as NaiveEventStore from "./fixtures/naiveEventStore.ts"
import * as NaiveSessionStore from "./fixtures/naiveSessionStore.ts"
import * as NaiveTaskStore from "./fixtures/naiveTaskStore.ts"
import * as NaiveTokenStore from "./fixtures/naiveTokenStore.ts"

// The laws run in full with the stores of the library. Here, each finds its mistakes in few runs.
const options = { runs: 20 }

// The tests run one after another: a law limits the time of an operation, and all of them at once exceeded it on a busy
// machine.

/** Returns the laws that a mistake breaks. The others are run without a mistake only: they triple the time. */
const named = <Law extends { readonly name: string }>(laws: ReadonlyArray<Law>, names: ReadonlyArray<string>) =>
  laws.filter(({ name }) => names.includes(name))

/** Returns the names of the broken laws. A seed decides everything, so they are the same each time. */
const brokenOf = (laws: ReadonlyArray<ReturnType<typeof EventStoreLaws.laws>[number]>) =>
  Effect.forEach(
    laws,
    ({ name, run }) => Effect.map(Effect.exit(Random.withSeed(run, name)), (exit) => Exit.isSuccess(exit) ? [] : [name])
  ).pipe(Effect.map((names) => names.flat()))

describe("a naive channel of buses", { timeout: 180_000 }, () => {
  const reaches = "a change reaches all other buses once, in order, and not its own bus"
  const unchanged = "the texts of a change arrive unchanged, whatever they are"
  const ofItsScope = "a listener receives the changes and the gaps of its scope only"
  const asFew = "equal changes that are published together are delivered as few"
  const tooMany = "of too many changes, each is delivered at most once, and a gap counts for the others"
  const tooLarge = "a change that is too large is a gap for the other buses, and later ones are delivered"
  const afterwards = "after an interruption every bus reports a gap, and later changes are delivered once"
  const publishing = "publishing neither waits nor fails, not even without a connection or after the end"
  const throwing = "a listener that throws affects no other, and receives later changes"
  const closed = "a listener receives nothing after its scope has closed, and the others go on"
  const ending = "a bus that ends sends what waits, ends within 5 seconds, and affects no other"

  const broken: Readonly<Record<NaiveChangeBus.Mistake, Array<string>>> = {
    "it delivers to its own bus": [reaches, tooLarge, afterwards],
    "it delivers some changes twice": [reaches, unchanged, ofItsScope, tooMany, throwing, closed],
    "it delivers to every listener": [ofItsScope, afterwards],
    "it compares scopes without regard to case": [ofItsScope],
    "it joins the parts of a change by a colon": [unchanged, ofItsScope],
    "it sends each of equal changes": [asFew],
    "it remembers for ever what it has sent": [asFew],
    "it drops the oldest of too many changes": [tooMany],
    "it drops what is too large": [ofItsScope, tooLarge],
    "it reports a large change to every scope": [ofItsScope],
    "it reports a large change to its own bus": [tooLarge],
    "it connects again and reports nothing": [afterwards],
    "it does not connect again": [afterwards],
    "its publishing fails without a connection": [afterwards, publishing],
    "its publishing waits for the delivery": [asFew, publishing],
    "a listener that throws ends the delivery": [throwing],
    "it keeps listeners whose scope has closed": [closed],
    "it drops what waits when it ends": [ending],
    "the end of a bus ends the channel": [ending]
  }

  /** Nothing of a channel in memory takes longer. */
  const patience = "3 seconds"

  /** Returns the names of the broken laws. Each waits in vain for seconds, so they run at the same time. */
  const brokenAtOnce = (laws: ReturnType<typeof ChangeBusLaws.laws>) =>
    Effect.map(
      Effect.forEach(
        laws,
        ({ name, run }) => Effect.map(Effect.exit(run), (exit) => Exit.isSuccess(exit) ? [] : [name]),
        { concurrency: "unbounded" }
      ),
      (names) => names.flat()
    )

  it.live("every law holds without a mistake", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* brokenAtOnce(ChangeBusLaws.laws(NaiveChangeBus.make(), { patience })), [])
    }))

  for (const mistake of NaiveChangeBus.mistakes) {
    it.live(`the laws that it breaks: ${mistake}`, () =>
      Effect.gen(function*() {
        const laws = ChangeBusLaws.laws(NaiveChangeBus.make(mistake), { patience })
        assert.sameMembers(yield* brokenAtOnce(named(laws, broken[mistake])), broken[mistake])
      }))
  }

  it("every law is broken by one of the mistakes", () => {
    const names = ChangeBusLaws.laws(NaiveChangeBus.make()).map(({ name }) => name)
    assert.sameMembers([...new Set(Object.values(broken).flat())], names)
  })
})

describe("a naive store of events", { timeout: 180_000 }, () => {
  const whatever =
    "[SHS-17] [SHS-18] [SHS-20] after any operations, a replay returns the later events of that stream, and no others"

  const broken: Readonly<Record<NaiveEventStore.Mistake, Array<string>>> = {
    "it counts the events of a stream to number the next": [
      whatever,
      "[SHS-17] the ids of events that are appended concurrently are distinct",
      "[SHS-17] an id is not assigned again after its session was dropped, and replays nothing",
      "dropping a session deletes all of its streams, ended ones included, and nothing else",
      "events that several fibers append to one stream are replayed once, those of each fiber in order"
    ],
    "it numbers an event before it inserts it": [
      "a replay during appends returns a beginning of the stream"
    ],
    "it numbers each stream by itself, and leaves its name out of ids": [
      "an append to a stream that has ended fails and changes nothing",
      whatever,
      "[SHS-17] the ids of all events of a session are distinct",
      "[SHS-17] the ids of events that are appended concurrently are distinct",
      "[SHS-18] an id is printable ASCII without a space, and identifies its stream, whatever its name",
      "[SHS-20] streams that are appended to alternately are replayed separately",
      "[SHS-20] sessions with streams of the same names are separate, and so are their ids",
      "[SHS-20] an id that was never assigned replays nothing",
      "a stream has ended after it was ended, and no other stream has, and it is still replayed",
      "dropping a session deletes all of its streams, ended ones included, and nothing else",
      "after a take-over, no write of an earlier epoch changes anything"
    ],
    "it takes the stream's name to end at the first hyphen": [
      whatever,
      "[SHS-18] an id is printable ASCII without a space, and identifies its stream, whatever its name",
      "[SHS-20] streams that are appended to alternately are replayed separately",
      "[SHS-20] an id that was never assigned replays nothing",
      "a stream has ended after it was ended, and no other stream has, and it is still replayed"
    ],
    "it reads as much of a number as there is": [
      "[SHS-20] an id that was never assigned replays nothing"
    ],
    "it looks for an id in all sessions": [
      "an append to a stream that has ended fails and changes nothing",
      whatever,
      "[SHS-20] sessions with streams of the same names are separate, and so are their ids",
      "a stream has ended after it was ended, and no other stream has, and it is still replayed",
      "dropping a session deletes all of its streams, ended ones included, and nothing else",
      "ending or dropping an unknown stream or session does nothing",
      "after a take-over, no write of an earlier epoch changes anything"
    ],
    "it replays whatever came later in the session": [
      "an append to a stream that has ended fails and changes nothing",
      whatever,
      "[SHS-20] streams that are appended to alternately are replayed separately",
      "[SHS-20] sessions with streams of the same names are separate, and so are their ids",
      "[SHS-20] an id that was never assigned replays nothing",
      "a stream has ended after it was ended, and no other stream has, and it is still replayed",
      "dropping a session deletes all of its streams, ended ones included, and nothing else",
      "after a take-over, no write of an earlier epoch changes anything"
    ],
    "it replays the event itself, too": [
      "an append to a stream that has ended fails and changes nothing",
      "an event is stored before the end of its stream, or not at all",
      whatever,
      "an event is replayed unchanged",
      "a megabyte of every kind of character is replayed unchanged",
      "each replay returns all later events, once and in order",
      "a replay after the last event is empty, and is not an unknown id",
      "[SHS-20] streams that are appended to alternately are replayed separately",
      "[SHS-20] sessions with streams of the same names are separate, and so are their ids",
      "[SHS-20] an id that was never assigned replays nothing",
      "a stream has ended after it was ended, and no other stream has, and it is still replayed",
      "dropping a session deletes all of its streams, ended ones included, and nothing else",
      "ending or dropping an unknown stream or session does nothing",
      "events that several fibers append to one stream are replayed once, those of each fiber in order",
      "a replay during appends returns a beginning of the stream",
      "after a take-over, no write of an earlier epoch changes anything",
      "an event of an earlier epoch is stored before a take-over, or not at all"
    ],
    "it replays an event once": [
      "an append to a stream that has ended fails and changes nothing",
      "an event is stored before the end of its stream, or not at all",
      whatever,
      "each replay returns all later events, once and in order",
      "[SHS-20] streams that are appended to alternately are replayed separately",
      "[SHS-20] sessions with streams of the same names are separate, and so are their ids",
      "[SHS-20] an id that was never assigned replays nothing",
      "a stream has ended after it was ended, and no other stream has, and it is still replayed",
      "dropping a session deletes all of its streams, ended ones included, and nothing else",
      "ending or dropping an unknown stream or session does nothing",
      "a replay during appends returns a beginning of the stream",
      "after a take-over, no write of an earlier epoch changes anything"
    ],
    "it tells streams that have ended by their names": [
      "an append to a stream that has ended fails and changes nothing",
      whatever,
      "a stream has ended after it was ended, and no other stream has, and it is still replayed"
    ],
    "it appends to a stream that has ended": [
      whatever,
      "an append to a stream that has ended fails and changes nothing",
      "an event is stored before the end of its stream, or not at all"
    ],
    "it looks whether a stream has ended before it waits for its turn": [
      "an event is stored before the end of its stream, or not at all"
    ],
    "it remembers that a stream has ended when its session is dropped": [
      "dropping a session deletes all of its streams, ended ones included, and nothing else"
    ],
    "it compares no epochs": [
      "after a take-over, no write of an earlier epoch changes anything",
      "an event of an earlier epoch is stored before a take-over, or not at all"
    ],
    "it compares the epoch before it waits for its turn": [
      "an event of an earlier epoch is stored before a take-over, or not at all"
    ],
    "it takes every stream over, ended or not": [
      "an append to a stream that has ended fails and changes nothing",
      "a take-over returns the streams that have not ended, with their requests and events",
      "after a take-over, no write of an earlier epoch changes anything"
    ],
    "it forgets the requests of a stream": [
      "a take-over returns the streams that have not ended, with their requests and events"
    ],
    "it throws for an id that it has not given out": [
      "[SHS-20] an id that was never assigned replays nothing",
      "every operation ends within 5 seconds, for any arguments, and none throws or dies"
    ]
  }

  it.live("every law holds without a mistake", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* brokenOf(EventStoreLaws.laws(NaiveEventStore.make(), options)), [])
    }))

  for (const mistake of NaiveEventStore.mistakes) {
    it.live(`the laws that it breaks: ${mistake}`, () =>
      Effect.gen(function*() {
        const laws = EventStoreLaws.laws(NaiveEventStore.make(mistake), options)
        assert.sameMembers(yield* brokenOf(named(laws, broken[mistake])), broken[mistake])
      }))
  }

  it("every law is broken by one of the mistakes", () => {
    const names = EventStoreLaws.laws(NaiveEventStore.make()).map(({ name }) => name)
    assert.sameMembers([...new Set(Object.values(broken).flat())], names)
  })
})

describe("a naive store of sessions", { timeout: 180_000 }, () => {
  const broken: Readonly<Record<NaiveSessionStore.Mistake, Array<string>>> = {
    "it compares ids without regard to case": [
      "sessions with similar ids are separate"
    ],
    "it compares principals without regard to case": [
      "all sessions of one principal are deleted, and none of another"
    ],
    "it takes no principal and an empty one for the same": [
      "a session is loaded unchanged, whatever its handshake messages"
    ],
    "it looks ids up among the members of an object": [
      "a session that was not saved is unknown, whatever its id"
    ],
    "it keeps what was saved first": [
      "after any operations, a load returns the session that was saved last and not removed",
      "a session that is saved again replaces the stored one, its time of last use included",
      "no write of an earlier epoch changes a session"
    ],
    "it saves the parts of a session one after another": [
      "of sessions saved concurrently with one id, one is stored completely",
      "no write of an earlier epoch changes a session"
    ],
    "it remembers a session by the first message only": [
      "a session is loaded unchanged, whatever its handshake messages"
    ],
    "it remembers no use": [
      "after any operations, a load returns the session that was saved last and not removed",
      "a use is stored, at most a minute late, and changes nothing else",
      "a use that is reported late does not set the time back",
      "of uses that are reported concurrently, the latest counts"
    ],
    "it takes the latest word for the latest use": [
      "after any operations, a load returns the session that was saved last and not removed",
      "a use that is reported late does not set the time back",
      "of uses that are reported concurrently, the latest counts"
    ],
    "it loads, alters and saves what is used": [
      "of uses that are reported concurrently, the latest counts",
      "a session that is removed while it is used stays removed",
      "no write of an earlier epoch changes a session"
    ],
    "it inserts what is used, where it is not there": [
      "after any operations, a load returns the session that was saved last and not removed",
      "touching or removing an unknown session does nothing",
      "a removed session is unknown, and a use does not restore it",
      "a session that is removed while it is used stays removed"
    ],
    "it inserts what is saved, where it is not there": [
      "a session that is saved replaces the stored one, and an unknown one stays unknown"
    ],
    "it compares no epochs": [
      "no write of an earlier epoch changes a session"
    ],
    "it remembers no subscriptions": [
      "the log level and the subscriptions of a session are loaded unchanged"
    ],
    "it holds its lock when it is interrupted": [
      "an interrupted operation blocks no other, and is completed or has no effect"
    ]
  }

  it.live("every law holds without a mistake", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* brokenOf(SessionStoreLaws.laws(NaiveSessionStore.make(), options)), [])
    }))

  for (const mistake of NaiveSessionStore.mistakes) {
    it.live(`the laws that it breaks: ${mistake}`, () =>
      Effect.gen(function*() {
        const laws = SessionStoreLaws.laws(NaiveSessionStore.make(mistake), options)
        assert.sameMembers(yield* brokenOf(named(laws, broken[mistake])), broken[mistake])
      }))
  }

  it("every law is broken by one of the mistakes", () => {
    const names = SessionStoreLaws.laws(NaiveSessionStore.make()).map(({ name }) => name)
    assert.sameMembers([...new Set(Object.values(broken).flat())], names)
  })
})

/** The law that measures times. Other laws that run meanwhile would take parts of them. */
const ofTime = "a state is loaded and listed in a time that does not grow with the request of its task"

describe("the law of times of stores of tasks", () => {
  for (
    const mistake of [undefined, "it parses a task to load its state", "it parses the tasks that it lists"] as const
  ) {
    it.live(mistake === undefined ? "holds without a mistake" : `is broken: ${mistake}`, () =>
      Effect.gen(function*() {
        const law = TaskStoreLaws.laws(NaiveTaskStore.make(mistake)).find(({ name }) => name === ofTime)
        const exit = yield* Effect.exit(law?.run ?? Effect.die("no such law"))
        assert.strictEqual(Exit.isSuccess(exit), mistake === undefined)
      }), 60_000)
  }
})

describe("a naive store of tasks", { timeout: 180_000 }, () => {
  const broken: Readonly<Record<NaiveTaskStore.Mistake, Array<string>>> = {
    "it compares ids without regard to case": [
      "tasks with similar ids are separate"
    ],
    "it takes no principal and an empty one for the same": [
      "a task is created and replaced unchanged, whatever its values",
      "anonymous clients share one allowance, which is not that of any name"
    ],
    "it looks ids up among the members of an object": [
      "a task that was not created is unknown, whatever its id",
      "every operation ends within 5 seconds, for any arguments, and none throws or dies"
    ],
    "it keeps the objects that it is given": [
      "a task of which the caller changes an array is stored as it was"
    ],
    "it replaces a task that is created again": [
      "after any operations, a load returns the task that was stored last and not removed, and each result is right",
      "an id is taken until its task is removed, for every principal",
      "of tasks that are created concurrently with one id, one is stored completely"
    ],
    "it looks whether an id is taken, and then inserts": [
      "of tasks that are created concurrently with one id, one is stored completely"
    ],
    "it replaces any older version": [
      "after any operations, a load returns the task that was stored last and not removed, and each result is right",
      "a replacement is stored only in place of the preceding version"
    ],
    "it loads and compares, and then stores": [
      "of replacements that are stored concurrently for one version, one is stored completely",
      "every increment by concurrent callers that retry after a conflict counts",
      "a task that is removed while it is replaced stays removed"
    ],
    "it inserts what is replaced, where it is not there": [
      "after any operations, a load returns the task that was stored last and not removed, and each result is right",
      "a task that was not created is unknown, whatever its id",
      "a removed task is unknown, is in no list, and no replacement restores it",
      "a task that is removed while it is replaced stays removed"
    ],
    "it stores all members of a replacement": [
      "a replacement changes neither the principal of a task nor its request or time of creation",
      "a list has no task of another principal, with any cursor of any principal, whatever was done to the tasks"
    ],
    "it replaces an outcome": [
      "after any operations, a load returns the task that was stored last and not removed, and each result is right",
      "an outcome never changes, and other members of an ended task may"
    ],
    "it replaces no task that has ended": [
      "after any operations, a load returns the task that was stored last and not removed, and each result is right",
      "a task is created and replaced unchanged, whatever its values",
      "an outcome never changes, and other members of an ended task may"
    ],
    "it counts no tasks that have ended": [
      "a principal has at most its number of tasks, and no other principal is affected",
      "an interrupted operation blocks no other, and is completed or has no effect"
    ],
    "it counts the tasks of all principals together": [
      "a principal has at most its number of tasks, and no other principal is affected",
      "anonymous clients share one allowance, which is not that of any name",
      "of tasks that are created concurrently, no more are stored than the limits permit"
    ],
    "it does not limit anonymous clients": [
      "anonymous clients share one allowance, which is not that of any name"
    ],
    "it counts one byte for each character": [
      "the tasks of a principal have at most its bytes, and a rejected task changes nothing",
      "anonymous clients share one allowance, which is not that of any name",
      "of tasks that are created concurrently, no more are stored than the limits permit",
      "an interrupted operation blocks no other, and is completed or has no effect"
    ],
    "it checks the bytes of new tasks only": [
      "the tasks of a principal have at most its bytes, and a rejected task changes nothing"
    ],
    "it checks the bytes of every replacement": [
      "a task at the limits can be leased, cancelled, made smaller, and ended with a short error"
    ],
    "it counts the tasks, and then inserts": [
      "of tasks that are created concurrently, no more are stored than the limits permit"
    ],
    "it counts a task after it has inserted it": [
      "of tasks that are created concurrently, no more are stored than the limits permit",
      "an interrupted operation blocks no other, and is completed or has no effect"
    ],
    "it sorts by the time of creation only": [
      "of tasks that are created concurrently, no more are stored than the limits permit",
      "the pages of a list have each task of the principal once, in the order of creation, whatever their size",
      "a list has no task of another principal, with any cursor of any principal, whatever was done to the tasks"
    ],
    "its cursors are numbers of tasks": [
      "a cursor continues at its place after tasks were removed, replaced and created",
      "a cursor that no list returned is invalid, and is no failure"
    ],
    "its cursors contain the principal": [
      "a cursor that no list returned is invalid, and is no failure",
      "a list has no task of another principal, with any cursor of any principal, whatever was done to the tasks"
    ],
    "it begins anew after an invalid cursor": [
      "a cursor that no list returned is invalid, and is no failure"
    ],
    "it throws for an invalid cursor": [
      "a cursor that no list returned is invalid, and is no failure",
      "every operation ends within 5 seconds, for any arguments, and none throws or dies"
    ],
    "it takes the first tasks, and then those of the principal": [
      "of tasks that are created concurrently, no more are stored than the limits permit",
      "a list has no task of another principal, with any cursor of any principal, whatever was done to the tasks"
    ],
    "a wait begins with the next change": [
      "a task that was not created is unknown, whatever its id",
      "a wait for a change that has happened ends, and so does one for an unknown task",
      "a wait ends when a later version is stored, and not before",
      "every operation ends within 5 seconds, for any arguments, and none throws or dies"
    ],
    "a wait ends with any change": [
      "a lease is renewed without a new version, and wakes no caller that waits",
      "a wait ends when a later version is stored, and not before",
      "all waits for a task end with a change, those for others do not, and interrupted ones affect no other"
    ],
    "a wait for a task goes on after it was removed": [
      "a task that was not created is unknown, whatever its id",
      "a wait for a change that has happened ends, and so does one for an unknown task",
      "a wait ends when the task is removed",
      "every operation ends within 5 seconds, for any arguments, and none throws or dies"
    ],
    "it remembers one wait for each task": [
      "a wait ends when a later version is stored, and not before",
      "all waits for a task end with a change, those for others do not, and interrupted ones affect no other"
    ],
    "a lease of a task that has ended expires": [
      "only the process that has the lease of an unfinished task renews it",
      "tasks are due when the lease of an unfinished one expires and when the ttl of any passes, oldest first",
      "a task that is leased again, or has ended, is no longer due, and a removed one neither"
    ],
    "the ttl of a task that has ended does not count": [
      "tasks are due when the lease of an unfinished one expires and when the ttl of any passes, oldest first"
    ],
    "it sorts the tasks that are due by their creation": [
      "tasks are due when the lease of an unfinished one expires and when the ttl of any passes, oldest first",
      "a task that is leased again, or has ended, is no longer due, and a removed one neither"
    ],
    "it remembers when a new task is due": [
      "a lease is renewed without a new version, and wakes no caller that waits",
      "a task that is leased again, or has ended, is no longer due, and a removed one neither",
      "a status message is set as a new version, which wakes callers that wait, and changes nothing else"
    ],
    "it renews a lease by a new version": [
      "a lease is renewed without a new version, and wakes no caller that waits",
      "only the process that has the lease of an unfinished task renews it",
      "a status message is set as a new version, which wakes callers that wait, and changes nothing else"
    ],
    "it sets a status message without a new version": [
      "a status message is set as a new version, which wakes callers that wait, and changes nothing else"
    ],
    "it sets the status message of any process": [
      "only the process that has the lease of an unfinished task sets its status message"
    ],
    "it sets no status message of a task that asks": [
      "a status message is set as a new version, which wakes callers that wait, and changes nothing else"
    ],
    "a status message counts as bytes": [
      "a status message is set as a new version, which wakes callers that wait, and changes nothing else",
      "a replacement changes neither the principal of a task nor its request or time of creation",
      "an interrupted operation blocks no other, and is completed or has no effect"
    ],
    "its states are those of new tasks": [
      "the state of a task follows its questions and its outcome",
      "after any operations, a load returns the task that was stored last and not removed, and each result is right",
      "a task is created and replaced unchanged, whatever its values",
      "a replacement is stored only in place of the preceding version",
      "of replacements that are stored concurrently for one version, one is stored completely",
      "a replacement changes neither the principal of a task nor its request or time of creation",
      "an outcome never changes, and other members of an ended task may",
      "a lease is renewed without a new version, and wakes no caller that waits",
      "a status message is set as a new version, which wakes callers that wait, and changes nothing else",
      "only the process that has the lease of an unfinished task renews it",
      "an interrupted operation blocks no other, and is completed or has no effect"
    ],
    // The law of times finds these.
    "it parses a task to load its state": [],
    "it parses the tasks that it lists": [],
    "its states have the questions that were answered": [
      "the state of a task follows its questions and its outcome",
      "a task is created and replaced unchanged, whatever its values"
    ],
    "it renews the lease of any process": [
      "only the process that has the lease of an unfinished task renews it"
    ],
    "it holds its lock when it is interrupted": [
      "an interrupted operation blocks no other, and is completed or has no effect"
    ]
  }

  /** Returns the names of the broken laws, each with a seed of its own: a wait that does not end takes five seconds. */
  const brokenAtOnce = (laws: ReturnType<typeof TaskStoreLaws.laws>) =>
    Effect.map(
      Effect.forEach(
        laws.filter(({ name }) => name !== ofTime),
        ({ name, run }) =>
          Effect.map(Effect.exit(Random.withSeed(run, name)), (exit) => Exit.isSuccess(exit) ? [] : [name]),
        { concurrency: "unbounded" }
      ),
      (names) => names.flat()
    )

  it.live("every law holds without a mistake", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* brokenAtOnce(TaskStoreLaws.laws(NaiveTaskStore.make(), options)), [])
    }))

  for (const mistake of NaiveTaskStore.mistakes) {
    it.live(`the laws that it breaks: ${mistake}`, () =>
      Effect.gen(function*() {
        const laws = TaskStoreLaws.laws(NaiveTaskStore.make(mistake), options)
        assert.sameMembers(yield* brokenAtOnce(named(laws, broken[mistake])), broken[mistake])
      }), 60_000)
  }

  it("every law is broken by one of the mistakes", () => {
    const names = TaskStoreLaws.laws(NaiveTaskStore.make()).map(({ name }) => name)
    assert.sameMembers([...new Set(Object.values(broken).flat()), ofTime], names)
  })
})

describe("a naive store of tokens", { timeout: 180_000 }, () => {
  const broken: Readonly<Record<NaiveTokenStore.Mistake, Array<string>>> = {
    "it joins the parts of a key with a separator that they may have": [
      "[AUT-19] entries with similar keys are separate, and so are their leases",
      "the keys of all entries are listed once, and those of removed entries are not"
    ],
    "it compares keys without regard to case": [
      "[AUT-19] entries with similar keys are separate, and so are their leases",
      "the keys of all entries are listed once, and those of removed entries are not"
    ],
    "it looks keys up by their accounts": [
      "[AUT-19] entries with similar keys are separate, and so are their leases",
      "the keys of all entries are listed once, and those of removed entries are not"
    ],
    "it ignores the expected version": [
      "after any operations, a read returns the entry that was written last and not removed",
      "a write that expects another version fails with Conflict, and changes nothing",
      "no version comes twice, also after a removal and for the same text",
      "of writes that expect one version at the same time, one is stored completely",
      "of a write and a removal at the same time, one succeeds",
      "[AUT-35] no error shows a text"
    ],
    "it overwrites an entry if none is expected": [
      "after any operations, a read returns the entry that was written last and not removed",
      "a write that expects another version fails with Conflict, and changes nothing",
      "of writes that expect one version at the same time, one is stored completely",
      "[AUT-35] no error shows a text"
    ],
    "it compares, and then writes": [
      "of writes that expect one version at the same time, one is stored completely",
      "of a write and a removal at the same time, one succeeds"
    ],
    "it counts the versions of an entry from 1": [
      "no version comes twice, also after a removal and for the same text"
    ],
    "it removes whatever there is": [
      "after any operations, a read returns the entry that was written last and not removed",
      "a removal that expects another version fails with Conflict, and changes nothing",
      "of a write and a removal at the same time, one succeeds",
      "[AUT-35] no error shows a text"
    ],
    "it compares, and then removes": [
      "of a write and a removal at the same time, one succeeds"
    ],
    "it fails to remove what does not exist": [
      "after any operations, a read returns the entry that was written last and not removed",
      "an entry that was not written does not exist, whatever its key",
      "a removal that expects another version fails with Conflict, and changes nothing"
    ],
    "it lists removed entries": [
      "the keys of all entries are listed once, and those of removed entries are not"
    ],
    "it removes the lease with the entry": [
      "a lease and its entry do not affect each other"
    ],
    "it looks at the lease, and then takes it": [
      "of owners that acquire a lease at the same time, one has it"
    ],
    "it gives no lease to the owner who has it": [
      "a lease has one owner, who prolongs it, until the owner releases it",
      "a lease that is prolonged does not expire at its first time"
    ],
    "it releases the lease of any owner": [
      "a lease has one owner, who prolongs it, until the owner releases it",
      "a lease expires, and is then as good as none for its owner"
    ],
    "its leases never expire": [
      "a lease expires, and is then as good as none for its owner"
    ],
    "a prolonged lease expires at its first time": [
      "a lease that is prolonged does not expire at its first time"
    ],
    "its errors have the text": [
      "after any operations, a read returns the entry that was written last and not removed",
      "a write that expects another version fails with Conflict, and changes nothing",
      "no version comes twice, also after a removal and for the same text",
      "of a write and a removal at the same time, one succeeds",
      "[AUT-35] no error shows a text"
    ],
    "it truncates texts": [
      "a text is read unchanged, whatever it is"
    ],
    "it stores a text in two parts": [
      "an interrupted operation blocks no other, and is completed or has no effect"
    ],
    "it holds its lock when it is interrupted": [
      "an interrupted operation blocks no other, and is completed or has no effect"
    ]
  }

  it.live("every law holds without a mistake", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* brokenOf(TokenStoreLaws.laws(NaiveTokenStore.make(), options)), [])
    }))

  for (const mistake of NaiveTokenStore.mistakes) {
    it.live(`the laws that it breaks: ${mistake}`, () =>
      Effect.gen(function*() {
        const laws = TokenStoreLaws.laws(NaiveTokenStore.make(mistake), options)
        assert.sameMembers(yield* brokenOf(named(laws, broken[mistake])), broken[mistake])
      }))
  }

  it("every law is broken by one of the mistakes", () => {
    const names = TokenStoreLaws.laws(NaiveTokenStore.make()).map(({ name }) => name)
    assert.sameMembers([...new Set(Object.values(broken).flat())], names)
  })
})

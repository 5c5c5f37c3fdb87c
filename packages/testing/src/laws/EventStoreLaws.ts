/**
 * The laws of every `EventStore`. Each law is an effect, which any test runner can run. `EventStoreSuite.suite` of the
 * entry `/vitest` makes a Vitest test of each.
 *
 * @stability unstable
 */
import type { EventStore, SupersededError } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import { at, choose, oneOf, place, upTo } from "../internal/arbitrary/generators.ts"
import { oddities } from "../internal/arbitrary/oddText.ts"
import { EventModel } from "../internal/laws/EventModel.ts"
import { holdsFor, lawOf } from "../internal/laws/Law.ts"
import type { Options, StoreLaw } from "./StoreLaw.ts"

type Store = EventStore.EventStore["Service"]

type StoreFailure = EventStore.EventStoreError | SupersededError.SupersededError

/** Returns a stream as the first owner of its session writes it. */
const written = (session: string, stream: string, epoch = 1): EventStore.WrittenStream => ({
  session,
  stream,
  epoch,
  requests: [stream]
})

/** Returns a session that no store has seen, so that data of other laws in a database cannot interfere. */
const newSession = Effect.map(Random.nextInt, (number) => `law-${number.toString(36)}`)

const newSessions = Effect.all([newSession, newSession, newSession])

/** Names that a store may split, join, or look up in the wrong place. */
const streamNames: readonly [string, ...ReadonlyArray<string>] = [
  "a",
  "b",
  "a-",
  "a-1",
  "a-1-1",
  "a.1",
  "a:1",
  "-",
  "1",
  "A",
  "a b",
  "%61",
  "a/b?c#d",
  "\"'\\",
  "é漢🙂",
  "__proto__",
  "constructor",
  "x".repeat(300)
]

const streamName = oneOf(...streamNames)

/** Generates a message as JSON, or an empty event. */
const data: Arbitrary.Arbitrary<string> = choose(
  oneOf("", ...oddities.map((text) => JSON.stringify(text))),
  Arbitrary.map(Arbitrary.schema(Schema.Json), (value) => JSON.stringify(value))
)

/** One of three. */
const one = Schema.Literals([0, 1, 2])

const Append = Schema.TaggedStruct("Append", { session: one, stream: one, value: Schema.Literals([0, 1, 2]) })

const Command = Schema.Union([
  Append,
  // Refers to any id so far, of any session.
  Schema.TaggedStruct("Replay", { session: one, id: Schema.Literals([0, 0.3, 0.6, 0.9, 0.99]) }),
  Schema.TaggedStruct("End", { session: one, stream: one }),
  Schema.TaggedStruct("Drop", { session: one })
])

type Command = typeof Command.Type

const conversation = Arbitrary.all({
  streams: Arbitrary.all([streamName, streamName, streamName]),
  commands: Arbitrary.array(
    choose<Command>(Arbitrary.schema(Append), Arbitrary.schema(Append), Arbitrary.schema(Command)),
    { maxLength: 40 }
  )
})

/** Generates a character of a header value, because clients send ids in a header. */
const character = Arbitrary.map(upTo(223), (code) => code === 0 ? "\t" : String.fromCharCode(code + 32))

/** Generates ids that resemble assigned ids, or do not. */
const forgeries: Arbitrary.Arbitrary<(id: string) => string> = choose(
  oneOf<(id: string) => string>(
    () => "",
    (id) => id.slice(0, -1),
    (id) => id.slice(1),
    (id) => `${id} `,
    (id) => ` ${id}`,
    (id) => `${id}0`,
    (id) => `${id}.0`,
    (id) => `${id}n`,
    (id) => `${id}-1`,
    (id) => `a-${id}`,
    (id) => `${id},${id}`,
    (id) => `"${id}"`,
    (id) => id.toUpperCase(),
    (id) => id.toLowerCase(),
    (id) => encodeURIComponent(id),
    (id) => id.replace(/(\d+)$/, "0$1"),
    (id) => id.replace(/(\d+)$/, "+$1"),
    (id) => id.replace(/(\d+)$/, "-$1"),
    (id) => id.replace(/(\d+)$/, "0x$1"),
    (id) => id.replace(/(\d+)$/, (number) => String(Number(number) + 1)),
    (id) => id.replace(/(\d+)$/, (number) => String(Number(number) - 1)),
    (id) => id.replace(/(\d+)$/, (number) => number.padEnd(400, "0")),
    (id) => id.replace(/(\d+)$/, ""),
    () => "0",
    () => "1",
    () => "-1",
    () => "a",
    () => "a-",
    () => "a-1",
    () => "*",
    () => "%",
    () => "NaN",
    () => "__proto__",
    () => "constructor",
    () => "' or 1=1 --",
    () => "x".repeat(10_000)
  ),
  Arbitrary.map(Arbitrary.all([place, character]), ([place, character]) => (id: string) => {
    const index = Math.floor(place * id.length)
    return id.slice(0, index) + character + id.slice(index + 1)
  }),
  Arbitrary.map(
    Arbitrary.array(character, { maxLength: 20 }),
    (characters) => () => characters.join("")
  )
)

/** Appends an event to the store and to the model. */
const appendTo = (store: Store, model: EventModel, key: EventStore.WrittenStream, data: string) =>
  Effect.map(Effect.suspend(() => store.append(key, data)), (id) => {
    model.appended(key, id, data)
    return id
  })

/** Appends an event to a stream that has ended, which fails. */
const rejected = (store: Store, key: EventStore.WrittenStream, data: string) =>
  Effect.map(Effect.exit(Effect.suspend(() => store.append(key, data))), (exit) => {
    assert.ok(Exit.isFailure(exit), `an event was appended to the stream ${JSON.stringify(key.stream)} after its end`)
    assert.ok(Cause.hasFails(exit.cause), `it died instead of failing with an EventStoreError: ${exit.cause}`)
  })

/** Checks that a replay returns the expected events, no more and no less. */
const agree = (store: Store, model: EventModel, session: string, id: string) =>
  Effect.map(Effect.suspend(() => store.replay(session, id)), (replay) => {
    const found = replay && {
      stream: replay.stream,
      events: replay.events.map(({ data, id }) => ({ id, data })),
      ended: replay.ended
    }
    assert.deepStrictEqual(found, model.replayAfter(session, id), `after ${JSON.stringify(id)} of ${session}`)
  })

/** Presents every assigned id to every session. */
const agreeOnAll = (store: Store, model: EventModel, sessions: ReadonlyArray<string>) =>
  Effect.forEach(sessions, (session) => Effect.forEach(model.ids, ({ id }) => agree(store, model, session, id)))

const perform = Effect.fnUntraced(function*(
  store: Store,
  model: EventModel,
  command: Command,
  { sessions, streams }: { readonly sessions: ReadonlyArray<string>; readonly streams: ReadonlyArray<string> }
) {
  const session = sessions[command.session] ?? ""
  switch (command._tag) {
    case "Append": {
      const key = written(session, streams[command.stream] ?? "")
      const data = JSON.stringify(command.value)
      if (model.hasEnded(key)) yield* rejected(store, key, data)
      else yield* appendTo(store, model, key, data)
      break
    }
    case "Replay": {
      const given = at(model.ids, command.id)
      if (given !== undefined) yield* agree(store, model, session, given.id)
      break
    }
    case "End": {
      const key = written(session, streams[command.stream] ?? "")
      yield* store.end(key)
      model.ended(key)
      break
    }
    case "Drop":
      yield* store.drop(session, 1)
      model.dropped(session)
  }
})

/** Appends from many fibers at once, each in order: the first appends `0/0`, `0/1`, … */
const sayAtOnce = (
  fibers: number,
  events: number,
  append: (fiber: number, data: string) => Effect.Effect<string, StoreFailure>
) =>
  Effect.forEach(
    Array.from({ length: fibers }, (_, fiber) => fiber),
    (fiber) =>
      Effect.forEach(
        Array.from({ length: events }, (_, event) => `"${fiber}/${event}"`),
        (data) => Effect.tap(Effect.suspend(() => append(fiber, data)), Effect.yieldNow)
      ),
    { concurrency: "unbounded" }
  )

/** The time limit of a server for one operation, if no other is set (`eventStoreTimeout`). */
const operationTimeout = "5 seconds"

/** Runs an operation as a server does: if it throws, dies or times out, it has failed. */
const prompt = <A>(operation: () => Effect.Effect<A, StoreFailure>) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(Effect.timeoutOption(Effect.suspend(operation), operationTimeout))
    if (Exit.isFailure(exit)) {
      assert.ok(Cause.hasFails(exit.cause), `it died instead of failing with an EventStoreError: ${exit.cause}`)
      return
    }
    assert.ok(Option.isSome(exit.value), `it did not end within ${operationTimeout}`)
  })

/** Returns streams in the order of their names. */
const ordered = (streams: ReadonlyArray<EventStore.UnendedStream>) =>
  streams.toSorted((one, other) => one.stream < other.stream ? -1 : 1).map(({ events, requests, stream }) => ({
    stream,
    requests: [...requests],
    events: events.map(({ data, id }) => ({ id, data }))
  }))

const listOf = (count: number) => Array.from({ length: count }, (_, index) => String(index))

/**
 * Returns the laws for a store. Each law uses a store of its own, which ends with it, and sessions that did not exist
 * before. A store must have room for 500 small events in a session, and must keep an ended stream for some seconds.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 * import { EventStoreLaws } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 *
 * const laws = EventStoreLaws.laws(EventStore.makeMemory(), { runs: 10 })
 * export const kept = Effect.as(Effect.forEach(laws, ({ run }) => run), true) // => true
 * ```
 *
 * @category laws
 */
export const laws = (
  make: Effect.Effect<Store, unknown, Scope.Scope>,
  { runs = 100 }: Options = {}
): ReadonlyArray<StoreLaw> => lawsOf(lawOf(make), runs)

const lawsOf = (law: ReturnType<typeof lawOf<Store>>, runs: number): ReadonlyArray<StoreLaw> => [
  law(
    "[SHS-17] [SHS-18] [SHS-20] after any operations, a replay returns the later events of that stream, and no others",
    function*(store) {
      yield* holdsFor(
        conversation,
        Effect.fnUntraced(function*({ commands, streams }) {
          const sessions = yield* newSessions
          const model = new EventModel()
          for (const command of commands) yield* perform(store, model, command, { sessions, streams })
          yield* agreeOnAll(store, model, sessions)
        }),
        runs
      )
    }
  ),

  law("[SHS-17] the ids of all events of a session are distinct", function*(store) {
    const session = yield* newSession
    const ids = yield* Effect.forEach(
      listOf(5),
      (data) => Effect.forEach(streamNames, (stream) => store.append(written(session, stream), data))
    )
    assert.strictEqual(new Set(ids.flat()).size, 5 * streamNames.length)
  }),

  law("[SHS-17] the ids of events that are appended concurrently are distinct", function*(store) {
    const session = yield* newSession
    const ids = yield* sayAtOnce(20, 10, (fiber, data) => store.append(written(session, String(fiber % 3)), data))
    assert.strictEqual(new Set(ids.flat()).size, 200)
  }),

  law("[SHS-17] an id is not assigned again after its session was dropped, and replays nothing", function*(store) {
    const session = yield* newSession
    const key = written(session, "a")
    const before = yield* Effect.forEach(listOf(5), (data) => store.append(key, data))
    yield* store.drop(session, 1)
    const after = yield* Effect.forEach(listOf(10), (data) => store.append(key, data))
    assert.strictEqual(new Set([...before, ...after]).size, 15)
    for (const id of before) assert.strictEqual(yield* store.replay(session, id), undefined)
  }),

  law(
    "[SHS-18] an id is printable ASCII without a space, and identifies its stream, whatever its name",
    function*(store) {
      const session = yield* newSession
      const ids = yield* Effect.forEach(streamNames, (stream) => store.append(written(session, stream), ""))
      for (const [index, id] of ids.entries()) {
        assert.match(id, /^[!-~]+$/)
        assert.deepStrictEqual((yield* store.replay(session, id))?.stream, streamNames[index])
      }
    }
  ),

  law("an event is replayed unchanged", function*(store) {
    yield* holdsFor(
      data,
      Effect.fnUntraced(function*(data) {
        const session = yield* newSession
        const model = new EventModel()
        const id = yield* appendTo(store, model, written(session, "a"), "")
        yield* appendTo(store, model, written(session, "a"), data)
        yield* agree(store, model, session, id)
      }),
      runs
    )
  }),

  law("a megabyte of every kind of character is replayed unchanged", function*(store) {
    const session = yield* newSession
    const data = JSON.stringify("aé漢🙂\n\r\u2028\u0000\"\\".repeat(64 * 1024))
    const id = yield* store.append(written(session, "a"), "")
    yield* store.append(written(session, "a"), data)
    const replay = yield* store.replay(session, id)
    // A message that shows the difference would be too long to read.
    assert.ok(replay?.events[0]?.data === data)
  }),

  law("each replay returns all later events, once and in order", function*(store) {
    const session = yield* newSession
    const model = new EventModel()
    yield* Effect.forEach(listOf(120), (data) => appendTo(store, model, written(session, "a"), data))
    yield* agreeOnAll(store, model, [session, session])
  }),

  law("a replay after the last event is empty, and is not an unknown id", function*(store) {
    const session = yield* newSession
    const id = yield* store.append(written(session, "a"), "")
    const replay = yield* store.replay(session, id)
    assert.deepStrictEqual([replay?.events.length, replay?.ended], [0, false])
  }),

  law("[SHS-20] streams that are appended to alternately are replayed separately", function*(store) {
    const session = yield* newSession
    const model = new EventModel()
    for (const data of listOf(5)) {
      for (const stream of streamNames) yield* appendTo(store, model, written(session, stream), data)
    }
    yield* agreeOnAll(store, model, [session])
  }),

  law("[SHS-20] sessions with streams of the same names are separate, and so are their ids", function*(store) {
    const sessions = yield* newSessions
    const model = new EventModel()
    for (const [index, session] of sessions.entries()) {
      for (const data of listOf(3 + index)) {
        for (const stream of ["a", "b"]) yield* appendTo(store, model, written(session, stream), `"${index}/${data}"`)
      }
    }
    yield* agreeOnAll(store, model, [...sessions, yield* newSession])
  }),

  law("[SHS-20] an id that was never assigned replays nothing", function*(store) {
    const session = yield* newSession
    const model = new EventModel()
    for (const stream of streamNames) {
      for (const data of listOf(3)) yield* appendTo(store, model, written(session, stream), data)
    }
    yield* holdsFor(
      Arbitrary.all([forgeries, place]),
      ([forge, place]) => agree(store, model, session, forge(at(model.ids, place)?.id ?? "")),
      // Most of these are harmless to any one store, so there are more runs.
      5 * runs
    )
  }),

  law("a stream has ended after it was ended, and no other stream has, and it is still replayed", function*(store) {
    const sessions = yield* newSessions
    const model = new EventModel()
    const keys = sessions.flatMap((session) => ["a", "a-1"].map((stream) => written(session, stream)))
    for (const key of keys) for (const data of listOf(2)) yield* appendTo(store, model, key, data)
    yield* agreeOnAll(store, model, sessions)
    for (const key of keys.slice(0, 3)) {
      // Ending a stream a second time changes nothing.
      for (const _ of listOf(2)) {
        yield* store.end(key)
        model.ended(key)
        yield* agreeOnAll(store, model, sessions)
      }
    }
  }),

  law("an append to a stream that has ended fails and changes nothing", function*(store) {
    const [session, other] = yield* newSessions
    const model = new EventModel()
    const ended = written(session, "a")
    const others = [written(session, "b"), written(other, "a")]
    for (const key of [ended, ...others]) for (const data of listOf(2)) yield* appendTo(store, model, key, data)
    yield* store.end(ended)
    model.ended(ended)
    // An append that timed out at its caller can reach the store this late.
    for (const data of listOf(3)) yield* rejected(store, ended, data)
    yield* agreeOnAll(store, model, [session, other])
    for (const key of others) yield* appendTo(store, model, key, "later")
    yield* agreeOnAll(store, model, [session, other])
    assert.deepStrictEqual((yield* store.takeOver(session, 2)).map(({ stream }) => stream), ["b"])
    yield* rejected(store, { ...ended, epoch: 2 }, "of the next owner")
    yield* agreeOnAll(store, model, [session, other])
  }),

  law("an event is stored before the end of its stream, or not at all", function*(store) {
    for (const turns of [0, 1, 3, 8]) {
      const key = written(yield* newSession, "a")
      const first = yield* store.append(key, "first")
      const appending = Effect.forEach(
        listOf(20),
        (data) => Effect.exit(Effect.tap(Effect.suspend(() => store.append(key, data)), Effect.yieldNow))
      )
      const waiting = Effect.forEach(listOf(turns), () => Effect.yieldNow)
      const replaying = Effect.suspend(() => store.replay(key.session, first))
      const ending = Effect.andThen(Effect.andThen(waiting, Effect.suspend(() => store.end(key))), replaying)
      const [appended, atEnd] = yield* Effect.all([appending, ending], { concurrency: "unbounded" })
      const stored = appended.flatMap((exit) => Exit.isSuccess(exit) ? [exit.value] : [])
      assert.deepStrictEqual([atEnd?.ended, atEnd?.events.map(({ id }) => id)], [true, stored])
      assert.deepStrictEqual((yield* replaying)?.events.map(({ id }) => id), stored)
    }
  }),

  law("dropping a session deletes all of its streams, ended ones included, and nothing else", function*(store) {
    const sessions = yield* newSessions
    const [dropped] = sessions
    const model = new EventModel()
    const keys = sessions.flatMap((session) => ["a", "b", "c"].map((stream) => written(session, stream)))
    for (const key of keys) for (const data of listOf(2)) yield* appendTo(store, model, key, data)
    yield* store.end(written(dropped, "b"))
    yield* store.drop(dropped, 1)
    model.dropped(dropped)
    yield* agreeOnAll(store, model, sessions)
    // A new stream may have the name of a dropped one.
    yield* appendTo(store, model, written(dropped, "b"), "again")
    yield* agreeOnAll(store, model, sessions)
  }),

  law("ending or dropping an unknown stream or session does nothing", function*(store) {
    const sessions = yield* newSessions
    const [first, second] = sessions
    const model = new EventModel()
    yield* appendTo(store, model, written(first, "a"), "0")
    yield* store.end(written(first, "b"))
    yield* store.end(written(second, "a"))
    yield* store.drop(second, 1)
    yield* store.drop(second, 1)
    yield* appendTo(store, model, written(first, "a"), "1")
    yield* agreeOnAll(store, model, sessions)
  }),

  law("every operation ends within 5 seconds, for any arguments, and none throws or dies", function*(store) {
    const session = yield* newSession
    const id = yield* store.append(written(session, "a"), "")
    const forged = ["", "a", "-", "\t", "é", "%", "' or 1=1 --", "x".repeat(10_000), `${id}0`, id]
    for (const after of forged) yield* prompt(() => store.replay(session, after))
    for (const stream of streamNames) yield* prompt(() => store.end(written(session, stream)))
    yield* prompt(() => store.drop(`${session}-unknown`, 1))
    yield* Effect.forEach(listOf(50), (data) => prompt(() => store.append(written(session, "b"), data)), {
      concurrency: "unbounded"
    })
  }),

  law(
    "events that several fibers append to one stream are replayed once, those of each fiber in order",
    function*(store) {
      const key = written(yield* newSession, "a")
      const first = yield* store.append(key, "")
      const ids = yield* sayAtOnce(20, 10, (_, data) => store.append(key, data))
      const events = (yield* store.replay(key.session, first))?.events ?? []
      assert.strictEqual(events.length, 200)
      const found = new Map(events.map(({ data, id }, index) => [id, { index, data }]))
      for (const [fiber, own] of ids.entries()) {
        const places = own.map((id) => found.get(id))
        assert.deepStrictEqual(places.map((place) => place?.data), own.map((_, event) => `"${fiber}/${event}"`))
        const order = places.map((place) => place?.index ?? -1)
        assert.deepStrictEqual(order, order.toSorted((one, other) => one - other))
      }
    }
  ),

  law("a replay during appends returns a beginning of the stream", function*(store) {
    const key = written(yield* newSession, "a")
    const first = yield* store.append(key, "")
    const look = Effect.map(Effect.suspend(() => store.replay(key.session, first)), (replay) => replay?.events ?? [])
    const [, glimpses] = yield* Effect.all([
      sayAtOnce(10, 10, (_, data) => store.append(key, data)),
      Effect.forEach(listOf(10), () => Effect.tap(look, Effect.yieldNow))
    ], { concurrency: "unbounded" })
    const all = yield* look
    assert.strictEqual(all.length, 100)
    for (const glimpse of glimpses) assert.deepStrictEqual(glimpse, all.slice(0, glimpse.length))
  }),

  law("a take-over returns the streams that have not ended, with their requests and events", function*(store) {
    const [session, other] = yield* newSessions
    const requests = [1, "1", "é漢🙂", -7]
    const open = { session, stream: "open", epoch: 1, requests }
    const events = yield* Effect.forEach(
      ["", ...listOf(5)],
      (data) => Effect.map(store.append(open, data), (id) => ({ id, data }))
    )
    // The requests of a stream are those of its first event.
    const last = yield* store.append({ ...open, requests: ["another"] }, "last")
    const standalone = { session, stream: "standalone", epoch: 1, requests: [] }
    const only = yield* store.append(standalone, "")
    yield* store.append(written(session, "ended"), "0")
    yield* store.end(written(session, "ended"))
    yield* store.append(written(other, "open"), "0")
    const taken = yield* store.takeOver(session, 2)
    const expected = [
      { stream: "open", requests, events: [...events, { id: last, data: "last" }] },
      { stream: "standalone", requests: [], events: [{ id: only, data: "" }] }
    ]
    assert.deepStrictEqual(ordered(taken), expected)
    // Nothing was lost by it.
    assert.deepStrictEqual(ordered(yield* store.takeOver(session, 2)), expected)
    assert.strictEqual((yield* store.replay(session, only))?.ended, false)
    assert.deepStrictEqual(yield* store.takeOver(yield* newSession, 1), [])
  }),

  law("after a take-over, no write of an earlier epoch changes anything", function*(store) {
    const [session, other] = yield* newSessions
    const model = new EventModel()
    for (const key of [written(session, "a"), written(session, "b"), written(other, "a")]) {
      for (const data of listOf(3)) yield* appendTo(store, model, key, data)
    }
    yield* store.takeOver(session, 3)
    for (const epoch of [1, 2]) {
      const writes = [
        () => store.append(written(session, "a", epoch), "late"),
        () => store.append(written(session, "new", epoch), "late"),
        () => store.end(written(session, "a", epoch)),
        () => store.takeOver(session, epoch),
        () => store.drop(session, epoch)
      ]
      for (const write of writes) {
        const error = yield* Effect.flip(Effect.suspend<unknown, StoreFailure, never>(write))
        assert.deepStrictEqual([error._tag, "epoch" in error && error.epoch], ["SupersededError", epoch])
        yield* agreeOnAll(store, model, [session, other])
      }
    }
    // The owner goes on, under the same names, and so do other sessions.
    yield* appendTo(store, model, written(session, "a", 3), "3")
    yield* appendTo(store, model, written(other, "a"), "3")
    const ending = written(session, "b", 3)
    yield* store.end(ending)
    model.ended(ending)
    yield* agreeOnAll(store, model, [session, other])
    assert.deepStrictEqual((yield* store.takeOver(session, 4)).map(({ stream }) => stream), ["a"])
  }),

  law("an event of an earlier epoch is stored before a take-over, or not at all", function*(store) {
    for (const turns of [0, 1, 3, 8]) {
      const session = yield* newSession
      const key = written(session, "a")
      const first = yield* store.append(key, "first")
      const appending = Effect.forEach(
        listOf(20),
        (data) => Effect.exit(Effect.tap(Effect.suspend(() => store.append(key, data)), Effect.yieldNow))
      )
      const waiting = Effect.forEach(listOf(turns), () => Effect.yieldNow)
      const taking = Effect.andThen(waiting, Effect.suspend(() => store.takeOver(session, 2)))
      const [appended, taken] = yield* Effect.all([appending, taking], { concurrency: "unbounded" })
      const stored = appended.flatMap((exit) => Exit.isSuccess(exit) ? [exit.value] : [])
      assert.deepStrictEqual(taken.flatMap(({ events }) => events.map(({ id }) => id)), [first, ...stored])
      assert.deepStrictEqual((yield* store.replay(session, first))?.events.map(({ id }) => id), stored)
    }
  })
]

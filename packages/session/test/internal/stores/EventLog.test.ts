import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { EventLog } from "../../../src/internal/stores/EventLog.ts"

const session = Schema.Literals(["s", "t", "__proto__"])
const stream = Schema.Literals(["a", "a-1", "b%0041 c"])

const Action = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Append"), session, stream, units: Schema.Literals([0, 1, 100, 200, 1000]) }),
  Schema.Struct({ _tag: Schema.tag("Replay"), session, place: Schema.Literals([0, 0.2, 0.5, 0.8, 0.99]) }),
  Schema.Struct({ _tag: Schema.tag("End"), session, stream }),
  Schema.Struct({ _tag: Schema.tag("Drop"), session }),
  Schema.Struct({ _tag: Schema.tag("Expire") })
])

const actions = Arbitrary.array(Arbitrary.schema(Action), { minLength: 20, maxLength: 80 })

const bounds = Arbitrary.schema(Schema.Struct({
  maxEventsPerStream: Schema.Literals([0, 1, 2, 4, 8, 100, 100]),
  maxBytesPerStream: Schema.Literals([0, 500, 1000, 1_000_000]),
  maxBytesPerSession: Schema.Literals([1500, 3000, 1_000_000, 1_000_000]),
  maxBytes: Schema.Literals([0, 1500, 3000, 6000, 10_000, 1_000_000])
}))

interface Event {
  readonly id: string
  readonly data: string
}

/** A stream of the model. The streams are in order of their last use. */
interface Held {
  readonly session: string
  readonly stream: string
  readonly events: ReadonlyArray<Event>
  readonly until: number
}

const eventBytes = ({ events }: Held) => events.reduce((sum, { data }) => sum + 64 + 2 * data.length, 0)
const bytes = (held: ReadonlyArray<Held>) => held.reduce((sum, stream) => sum + 512 + eventBytes(stream), 0)

/** Removes the oldest event of the least recently used stream that `isOf` selects, until it is not too much. */
const shrink = (
  held: ReadonlyArray<Held>,
  isOf: (stream: Held) => boolean,
  isTooMuch: (those: ReadonlyArray<Held>) => boolean
): ReadonlyArray<Held> => {
  const first = held.find(isOf)
  if (first === undefined || !isTooMuch(held.filter(isOf))) return held
  const rest = { ...first, events: first.events.slice(1) }
  return shrink(
    held.flatMap((stream) => stream !== first ? [stream] : rest.events.length === 0 ? [] : [rest]),
    isOf,
    isTooMuch
  )
}

describe("EventLog", () => {
  it.prop("has the events of its model after any actions, and never exceeds its limits", [actions, bounds], ([
    actions,
    bounds
  ]) => {
    const log = new EventLog(bounds, "log")
    const ids: Array<string> = []
    let held: ReadonlyArray<Held> = []
    let now = 0

    const replay = (session: string, id: string) => {
      const stream = held.find((stream) => stream.session === session && stream.events.some((event) => event.id === id))
      if (stream !== undefined) held = [...held.filter((other) => other !== stream), stream]
      assert.deepStrictEqual(
        log.replay(session, id),
        stream && {
          stream: stream.stream,
          events: stream.events.slice(stream.events.findIndex((event) => event.id === id) + 1),
          ended: stream.until !== Number.POSITIVE_INFINITY
        }
      )
    }

    for (const action of actions) {
      now++
      const isIt = (held: Held) =>
        "stream" in action && held.session === action.session && held.stream === action.stream
      switch (action._tag) {
        case "Append": {
          const data = "x".repeat(action.units)
          const id = log.append(action.session, action.stream, data, [])
          assert.match(id, /^[!-~]+$/)
          assert.notInclude(ids, id)
          ids.push(id)
          const before = held.find(isIt) ?? { ...action, events: [], until: Number.POSITIVE_INFINITY }
          held = [...held.filter((held) => !isIt(held)), { ...before, events: [...before.events, { id, data }] }]
          held = shrink(
            held,
            isIt,
            ([stream]) =>
              stream !== undefined && (stream.events.length > bounds.maxEventsPerStream ||
                (stream.events.length > 1 && eventBytes(stream) > bounds.maxBytesPerStream))
          )
          held = shrink(
            held,
            (stream) => stream.session === action.session,
            (streams) => bytes(streams) > bounds.maxBytesPerSession
          )
          held = shrink(held, () => true, (all) => bytes(all) > bounds.maxBytes)
          break
        }
        case "Replay":
          replay(action.session, ids[Math.floor(action.place * ids.length)] ?? "")
          break
        case "End":
          log.end(action.session, action.stream, now + 10)
          held = held.map((stream) => isIt(stream) ? { ...stream, until: Math.min(stream.until, now + 10) } : stream)
          break
        case "Drop":
          log.drop(action.session)
          held = held.filter(({ session }) => session !== action.session)
          break
        case "Expire":
          held = held.filter(({ until }) => until > now)
          assert.strictEqual(log.expire(now), Math.min(...held.map(({ until }) => until)))
      }
      assert.strictEqual(log.weight(), bytes(held))
      assert.isAtMost(log.weight(), bounds.maxBytes)
      assert.strictEqual(log.size(), new Set(held.map(({ session }) => session)).size)
    }
    for (const session of ["s", "t", "__proto__"]) for (const id of ids) replay(session, id)
    log.clear()
    assert.deepStrictEqual([log.size(), log.weight()], [0, 0])
    return true
  }, { arbitrary: { runs: 500, size: 100 } })
})

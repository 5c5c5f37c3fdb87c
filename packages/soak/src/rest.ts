/** Waits until a process has come to rest, and looks at what is in it then. */
import * as Effect from "effect/Effect"
import { queryObjects } from "node:v8"
import { differences, type Sample } from "./Sample.ts"
import type { Counts } from "./Subject.ts"
import type { Tally } from "./Tally.ts"

/** What is looked at. */
export interface Gauges {
  readonly fibers: () => number
  readonly tables: Effect.Effect<Counts>
  readonly tally: Tally
  readonly startedAt: number
}

const handles = (): Counts => {
  // Those that sessions come and go with are shown also where there are none.
  const counts: Record<string, number> = { "handles TCPSocketWrap": 0, "handles ProcessWrap": 0 }
  for (const kind of process.getActiveResourcesInfo()) {
    const name = `handles ${kind}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

const counts = ({ fibers, tables }: Gauges): Effect.Effect<Counts> =>
  Effect.map(tables, (tables) => ({ fibers: fibers(), ...handles(), ...tables }))

/** How often it is looked whether something has come to rest, and how many times. */
const pollMillis = 20
const polls = 500

/** The counts before the first session: those that do not change for a while. */
export const base = (gauges: Gauges): Effect.Effect<Counts> =>
  Effect.gen(function*() {
    // Node opens them when they are used first.
    for (const stream of [process.stdout, process.stderr]) stream.write("")
    let before = yield* counts(gauges)
    for (let same = 0, poll = 0; same < 5 && poll < polls; poll++) {
      yield* Effect.sleep(pollMillis)
      const now = yield* counts(gauges)
      same = differences(before, now).length === 0 ? same + 1 : 0
      before = now
    }
    return before
  })

/** Some turns of the event loop, in which registries are told what was collected, and handles that were closed are let go. */
const turns = Effect.promise(async () => {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
})

/** How many times it is collected at most. */
const collections = 8

/** Collects until that changes nothing any more: what is collected may have held on to something else. */
const collected: Effect.Effect<void> = Effect.gen(function*() {
  const { gc } = globalThis
  if (gc === undefined) return yield* Effect.die(new Error("start Node with --expose-gc"))
  let before = Number.POSITIVE_INFINITY
  for (let collection = 0; collection < collections; collection++) {
    gc()
    yield* turns
    const now = process.memoryUsage().heapUsed
    if (collection > 0 && before - now < 4096) return
    before = now
  }
})

/** A sample, once the counts are those of the base; or, where they do not come to be, with those there are. */
export const sample = (gauges: Gauges, base: Counts): Effect.Effect<Sample> =>
  Effect.gen(function*() {
    const { startedAt, tally } = gauges
    let now = yield* counts(gauges)
    for (let poll = 0; poll < polls && differences(base, now).length > 0; poll++) {
      yield* Effect.sleep(pollMillis)
      now = yield* counts(gauges)
    }
    yield* collected
    const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
    // Without what V8 notes of the code that it has run, which grows for a long time and is no leak.
    const objects = queryObjects(Object, { format: "count" })
    return {
      sessions: tally.sessions(),
      seconds: (performance.now() - startedAt) / 1000,
      counts: now,
      levels: {
        objects,
        "heap used": heapUsed,
        external,
        "array buffers": arrayBuffers,
        "sessions in memory": tally.uncollected()
      },
      shown: { "resident set": rss }
    }
  })

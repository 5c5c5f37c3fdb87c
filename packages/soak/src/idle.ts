/** Measurements of the process after it has become idle. */
import * as Effect from "effect/Effect"
import { queryObjects } from "node:v8"
import { differences, type Sample } from "./Sample.ts"
import type { Counts } from "./Subject.ts"
import type { Tally } from "./Tally.ts"

/** The sources of the measurements. */
export interface Gauges {
  readonly fibers: () => number
  readonly tables: Effect.Effect<Counts>
  /** Further levels, such as those of other processes. */
  readonly levels?: Effect.Effect<Counts> | undefined
  /** Further values that are only shown. */
  readonly shown?: (() => Counts) | undefined
  readonly tally: Tally
  readonly startedAt: number
}

/** Returns the numbers of the open handles of this process by kind. */
export const handles = (): Counts => {
  // Handles that sessions open are shown even if their count is 0.
  const counts: Record<string, number> = { "handles TCPSocketWrap": 0, "handles ProcessWrap": 0 }
  for (const kind of process.getActiveResourcesInfo()) {
    const name = `handles ${kind}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

const counts = ({ fibers, tables }: Gauges): Effect.Effect<Counts> =>
  Effect.map(tables, (tables) => ({ fibers: fibers(), ...handles(), ...tables }))

/** The interval and the greatest number of polls until the counts are stable. */
const pollMillis = 20
const polls = 500

/** Returns the counts before the first session, after they have been stable for a while. */
const base = (gauges: Gauges): Effect.Effect<Counts> =>
  Effect.gen(function*() {
    // Node opens these streams on first use.
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

/** Waits for some turns of the event loop, in which finalization registries run and closed handles are released. */
const turns = Effect.promise(async () => {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
})

/** The greatest number of garbage collections for one sample. */
const collections = 8

/** Collects garbage until the heap is stable, because finalizers may release further objects. */
const collected: Effect.Effect<void> = Effect.gen(function*() {
  const { gc } = globalThis
  if (gc === undefined) return yield* Effect.die(new Error("global.gc is missing: start Node with --expose-gc"))
  let before = Number.POSITIVE_INFINITY
  for (let collection = 0; collection < collections; collection++) {
    gc()
    yield* turns
    const now = process.memoryUsage().heapUsed
    if (collection > 0 && before - now < 4096) return
    before = now
  }
})

/** Returns the bytes of the heap that are used after garbage has been collected. */
export const heapUsed: Effect.Effect<number> = Effect.map(collected, () => process.memoryUsage().heapUsed)

/** Takes a sample after the counts have returned to the base, or after the last poll. */
const sample = (gauges: Gauges, base: Counts): Effect.Effect<Sample> =>
  Effect.gen(function*() {
    const { startedAt, tally } = gauges
    let now = yield* counts(gauges)
    for (let poll = 0; poll < polls && differences(base, now).length > 0; poll++) {
      yield* Effect.sleep(pollMillis)
      now = yield* counts(gauges)
    }
    const others = gauges.levels === undefined ? {} : yield* gauges.levels
    yield* collected
    const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
    // Excludes V8's data about executed code, which grows for a long time and is not a leak.
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
        "sessions in memory": tally.uncollected(),
        ...others
      },
      shown: { "resident set": rss, ...gauges.shown?.() }
    }
  })

/** The samples of one soak. */
export interface Sampling {
  /** Takes a sample after a round, and reports it. */
  readonly take: (round: number) => Effect.Effect<void>
  readonly samples: () => ReadonlyArray<Sample>
}

/** Starts the samples of a soak, before its first session. */
export const sampling = Effect.fnUntraced(function*(
  gauges: Gauges,
  onSample: (sample: Sample, round: number) => void
): Effect.fn.Return<Sampling> {
  const before = yield* base(gauges)
  // Samples are kept as text; as objects they would count themselves.
  const texts: Array<string> = []
  return {
    take: (round) =>
      Effect.map(sample(gauges, before), (taken) => {
        texts.push(JSON.stringify(taken))
        onSample(taken, round)
      }),
    samples: () => texts.map((text): Sample => JSON.parse(text))
  }
})

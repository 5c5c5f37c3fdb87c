import type * as authorized from "./authorized.ts"
import { cell, number, ratioCell } from "./figures.ts"
import * as http from "./http.ts"
import * as stateless from "./httpStateless.ts"
import { differences, type Samples, summarize } from "./measure.ts"
import { type Element, type Report, table } from "./ReportElement.ts"

/** Selects a number of each sample; `undefined` if the server does not support the measurement. */
type Pick<Sample> = (sample: Sample) => number | undefined

const picked = <Sample>(
  { samples }: http.Comparison<Sample>,
  name: string | undefined,
  pick: Pick<Sample>
): Samples => (name === undefined ? [] : samples[name] ?? []).flatMap((sample) => pick(sample) ?? [])

/** Returns the peer with the best median. */
const bestPeer = <Sample>(
  comparison: http.Comparison<Sample>,
  pick: Pick<Sample>,
  better: "more" | "less"
): string | undefined =>
  comparison.servers
    .filter(({ role }) => role === "peer")
    .map(({ name }) => ({ name, median: summarize(picked(comparison, name, pick)).median }))
    .filter(({ median }) => !Number.isNaN(median))
    .toSorted((a, b) => better === "more" ? b.median - a.median : a.median - b.median)[0]?.name

const compared = <Sample>(comparison: http.Comparison<Sample>, options: {
  readonly title: string
  readonly pick: Pick<Sample>
  readonly better: "more" | "less"
  readonly others?: ReadonlyArray<readonly [title: string, text: (samples: ReadonlyArray<Sample>) => string]>
}): Element => {
  const { better, others = [], pick, title } = options
  const best = bestPeer(comparison, pick, better)
  const bases = [best, http.bareRoute].filter((base) => base !== undefined && picked(comparison, base, pick).length > 0)
  return table([
    [title, "", ...bases.map((base) => `× ${base}`), ...others.map(([title]) => title)],
    ...comparison.servers.flatMap(({ name }) => {
      const samples = picked(comparison, name, pick)
      if (samples.length === 0) return []
      return [[
        name,
        cell(samples),
        ...bases.map((base) => ratioCell(samples, picked(comparison, base, pick))),
        ...others.map(([, text]) => text(comparison.samples[name] ?? []))
      ]]
    })
  ])
}

const share = (of: (sample: http.Throughput) => number) => (samples: ReadonlyArray<http.Throughput>): string =>
  `${(summarize(samples.map(of)).median * 100).toFixed(0)} %`

const throughput = (title: string, comparison: http.Comparison<http.Throughput>): Element =>
  compared(comparison, {
    title,
    pick: ({ perSecond }) => perSecond,
    better: "more",
    // A server that is not busy all the time is not the bottleneck.
    others: [["server busy", share(({ server }) => server)], ["load busy", share(({ load }) => load)]]
  })

export const ofCalls = (comparison: http.Comparison<http.Throughput>): Report => [
  throughput(`\`tools/call\` per second, ${http.width} sessions`, comparison)
]

export const ofHandshakes = (comparison: http.Comparison<http.Throughput>): Report => [
  throughput(`sessions opened and ended per second, ${http.width} at a time`, comparison)
]

/** Reports the calls of servers without sessions, for each number of tools. */
export const ofStateless = (comparison: http.Comparison<http.Throughput>): Report => {
  const pick = ({ perSecond }: http.Throughput): number => perSecond
  return stateless.sizes.map((size) => {
    const { official, ours, sessions } = stateless.names(size)
    const bases = [official, sessions]
    return table([
      [
        `\`tools/call\` per second, ${http.width} connections`,
        "",
        ...bases.map((base) => `× ${base}`),
        "CPU µs of the server",
        "server busy",
        "load busy"
      ],
      ...[official, sessions, ours].map((name) => [
        name,
        cell(picked(comparison, name, pick)),
        ...bases.map((base) => ratioCell(picked(comparison, name, pick), picked(comparison, base, pick))),
        number(summarize(picked(comparison, name, ({ cpu }) => cpu)).median),
        share(({ server }) => server)(comparison.samples[name] ?? []),
        share(({ load }) => load)(comparison.samples[name] ?? [])
      ])
    ])
  })
}

/** Reports calls with a question. */
export const ofQuestions = ({ asking, plain }: stateless.Questions): Report => {
  const elapsed = (samples: ReadonlyArray<http.Throughput>): Samples =>
    samples.map(({ perSecond }) => 1_000_000 / perSecond)
  const cpu = (samples: ReadonlyArray<http.Throughput>): Samples => samples.map(({ cpu }) => cpu)
  const row = (name: string, samples: ReadonlyArray<http.Throughput>) => [
    name,
    cell(elapsed(samples)),
    cell(cpu(samples)),
    share(({ load }) => load)(samples)
  ]
  return [table([
    ["a question over HTTP, microseconds", "elapsed", "CPU of the server", "load busy"],
    row("a call, its question, and its repetition", asking),
    row("two calls without a question", plain),
    [
      "difference",
      cell(differences(elapsed(asking), elapsed(plain))),
      cell(differences(cpu(asking), cpu(plain)))
    ]
  ])]
}

/** Reports the cost of OAuth: of calls with a constant token, and of those with one that is verified or requested. */
export const ofAuthorized = (results: authorized.Comparison): Report => {
  const loads = Object.keys(results)
  const [constant = "", ...others] = Object.keys(Object.values(results)[0] ?? {})
  const samples = (load: string, name: string): Samples => results[load]?.[name] ?? []
  return [table([
    ["a call over HTTP, microseconds", ...loads.flatMap((load) => [load, `× ${constant}`])],
    [constant, ...loads.flatMap((load) => [cell(samples(load, constant)), ""])],
    ...others.map((name) => [
      name,
      ...loads.flatMap((load) => [cell(samples(load, name)), ratioCell(samples(load, name), samples(load, constant))])
    ])
  ])]
}

const kibi = (bytes: number): number => bytes / 1024

export const ofIdle = (comparison: http.Comparison<http.Idle>, sessions: number): Report => [
  compared(comparison, {
    title: `KiB of heap for each of ${sessions} idle sessions`,
    pick: ({ heap }) => kibi(heap),
    better: "less"
  }),
  compared(comparison, {
    title: "KiB resident for each",
    pick: ({ resident }) => kibi(resident),
    better: "less"
  })
]

const micros = (millis: number | undefined): number | undefined => millis === undefined ? undefined : millis * 1000

/** Returns the ratio of durations beside the stalled reader and alone, within each round. */
const slowdown = (of: (latency: http.Latency) => number) => (samples: ReadonlyArray<http.Stalled>): string => {
  const both = samples.flatMap(({ alone, beside }) => beside === undefined ? [] : [of(beside) / of(alone)])
  return both.length === 0 ? "" : summarize(both).median.toFixed(2)
}

const held = (samples: ReadonlyArray<http.Stalled>): string =>
  (summarize(samples.map(({ held }) => held ?? Number.NaN)).median / 1024 / 1024).toFixed(1)

export const ofStalled = (comparison: http.Comparison<http.Stalled>): Report => {
  const latency = (title: string, of: (latency: http.Latency) => number): Report => [
    compared(comparison, {
      title: `microseconds of a ping, ${title}`,
      pick: ({ alone }) => micros(of(alone)),
      better: "less"
    }),
    compared(comparison, {
      title: "the same beside a stalled reader",
      pick: ({ beside }) => micros(beside === undefined ? undefined : of(beside)),
      better: "less",
      others: [["× alone", slowdown(of)], ["MiB held for it", held]]
    })
  ]
  return [...latency("median", ({ median }) => median), ...latency("99th of 100", ({ late }) => late)]
}

import type * as application from "./application.ts"
import type * as load from "./load.ts"
import { difference, ratio, type Samples, summarize } from "./measure.ts"
import type * as memory from "./memory.ts"
import * as startup from "./startup.ts"
import * as stdio from "./stdio.ts"
import { format } from "./table.ts"
import * as webSocket from "./webSocket.ts"

const compiledName = (peer: string): string => `${peer}, schemas compiled`

const number = (value: number): string => value.toFixed(value < 100 ? 1 : 0)

const cell = (samples: Samples): string => {
  const { high, low, median } = summarize(samples)
  return `${number(median)} (${number(low)}–${number(high)})`
}

interface Row {
  readonly name: string
  readonly results: memory.Results
  readonly peer: string
}

/** Reports one encoding: the cost of a call, and the ratios. */
const encodingReport = (name: memory.Encoding, interpreted: memory.Results, compiled: memory.Results): string => {
  const loads = Object.keys(interpreted[name])
  const peers = Object.keys(Object.values(interpreted[name])[0] ?? {})
  const samples = (row: Row, load: string, peer = row.peer): Samples => row.results[name][load]?.[peer] ?? []
  // The official packages do not use Effect's schemas, so compilation does not change them.
  const rows: ReadonlyArray<Row> = peers.flatMap((peer) => [
    { name: peer, results: interpreted, peer },
    ...(peer.startsWith("official") ? [] : [{ name: compiledName(peer), results: compiled, peer }])
  ])
  const [ours, ...others] = peers
  return [
    format([
      [`microseconds per call, ${name}`, ...loads],
      ...rows.map((row) => [row.name, ...loads.map((load) => cell(samples(row, load)))])
    ]),
    format([
      [`ratio of times, ${name}; median of the rounds`, ...loads],
      ...others.flatMap((other) =>
        rows.filter(({ peer }) => peer === ours).map((row) => [
          `${row.name} / ${other}`,
          ...loads.map((load) => ratio(samples(row, load), samples(row, load, other)).toFixed(2))
        ])
      )
    ])
  ].join("\n\n")
}

/** Reports the calls in memory. */
export const ofMemory = (interpreted: memory.Results, compiled: memory.Results): string =>
  [
    "tools/call through both sides in memory; median (middle half)",
    encodingReport("by reference", interpreted, compiled),
    encodingReport("json", interpreted, compiled)
  ].join("\n\n")

/** Reports the cost of observability. */
export const ofObserved = (observed: memory.Comparison): string => {
  const loads = Object.keys(observed)
  const [bare = "", ...others] = Object.keys(Object.values(observed)[0] ?? {})
  const samples = (load: string, peer: string): Samples => observed[load]?.[peer] ?? []
  return [
    "the same, by reference, with observability on both sides",
    format([
      ["microseconds per call", ...loads],
      ...[bare, ...others].map((peer) => [peer, ...loads.map((load) => cell(samples(load, peer)))])
    ]),
    format([
      ["ratio of times; median of the rounds", ...loads],
      ...others.map((peer) => [
        `${peer} / without`,
        ...loads.map((load) => ratio(samples(load, peer), samples(load, bare)).toFixed(2))
      ])
    ])
  ].join("\n\n")
}

/** Reports a comparison of servers for each number of concurrent calls: the cost of a call, and the ratios. */
const widths = (
  results: load.Results,
  bases: ReadonlyArray<string>,
  isOurs: (name: string) => boolean,
  isCompared: (name: string, base: string) => boolean = () => true
): string => {
  const columns = Object.keys(results)
  const names = Object.keys(Object.values(results)[0] ?? {})
  const samples = (width: string, name: string): Samples => results[width]?.[name] ?? []
  return [
    format([
      ["microseconds per call", ...columns.map((width) => `${width} in flight`)],
      ...names.map((name) => [name, ...columns.map((width) => cell(samples(width, name)))])
    ]),
    format([
      ["ratio of times; median of the rounds", ...columns.map((width) => `${width} in flight`)],
      ...names.filter(isOurs).flatMap((name) =>
        bases.filter((base) => base !== name && names.includes(base) && isCompared(name, base)).map((base) => [
          `${name} / ${base}`,
          ...columns.map((width) => ratio(samples(width, name), samples(width, base)).toFixed(2))
        ])
      )
    ])
  ].join("\n\n")
}

/** Reports the calls of servers over stdio. */
export const ofStdio = (results: load.Results): string =>
  [
    "tools/call of stdio servers under a load of plain lines; median (middle half)",
    widths(results, stdio.bases, (name) => name.startsWith("Effect MCP"))
  ].join("\n\n")

/** Reports the calls of servers over WebSocket. */
export const ofWebSocket = (results: load.Results): string =>
  [
    "tools/call of WebSocket servers under a load of plain messages; median (middle half)",
    widths(results, [webSocket.floor], (name) => name.startsWith("Effect MCP"))
  ].join("\n\n")

/** Reports the start of stdio servers. */
export const ofStartup = (results: { readonly [name: string]: Samples }): string => {
  const compared = (name: string, base: string) => [
    `${name} / ${base}`,
    ratio(results[name] ?? [], results[base] ?? []).toFixed(2)
  ]
  return [
    "stdio server, from its start to the response to initialize; median (middle half)",
    format([
      ["milliseconds", ""],
      ...Object.entries(results).map(([name, samples]) => [name, cell(samples)])
    ]),
    format([
      ["ratio of times; median of the rounds", ""],
      ...startup.comparisons.map(([name, base]) => compared(name, base))
    ])
  ].join("\n\n")
}

/** Reports servers that describe their tools by schemas, in memory. */
export const ofApplications = ({ byReference, json }: application.Results): string => {
  const table = (title: string, results: application.Comparison) => {
    const works = Object.keys(results)
    const names = Object.keys(Object.values(results)[0] ?? {})
    return format([
      [title, ...works],
      ...names.map((name) => [
        name,
        ...works.map((work) => {
          const samples = results[work]?.[name]
          return samples === undefined ? "" : cell(samples)
        })
      ])
    ])
  }
  const [bare = "", ...groups] = Object.keys(Object.values(byReference)[0] ?? {})
  const works = Object.keys(byReference)
  const samples = (work: string, name: string): Samples => byReference[work]?.[name] ?? []
  return [
    "a tool with schemas and a structured result, through both sides in memory; median (middle half)",
    table("microseconds, by reference", byReference),
    format([
      ["microseconds more; median of the rounds", ...works],
      ...groups.map((name) => [
        `${name} − ${bare}`,
        ...works.map((work) => number(difference(samples(work, name), samples(work, bare))))
      ])
    ]),
    table("microseconds, json", json)
  ].join("\n\n")
}

const isLarge = (name: string): boolean => name.endsWith(" tools")

/** Reports servers that describe their tools by schemas, over stdio. */
export const ofApplicationsOverStdio = (results: load.Results): string =>
  [
    "a tool with schemas and a structured result, over stdio under a load of plain lines; median (middle half)",
    widths(
      results,
      stdio.applicationBases,
      (name) => name.startsWith("Effect MCP"),
      // With as many tools, or this server with one tool.
      (name, base) => base === "Effect MCP" || isLarge(name) === isLarge(base)
    )
  ].join("\n\n")

import type * as application from "./application.ts"
import { cell, ratioCell } from "./figures.ts"
import type * as load from "./load.ts"
import { differences, type Samples } from "./measure.ts"
import type * as memory from "./memory.ts"
import { costs, type Report, table, text } from "./ReportElement.ts"
import * as startup from "./startup.ts"
import * as stdio from "./stdio.ts"
import * as webSocket from "./webSocket.ts"

const compiledName = (peer: string): string => `${peer}, schemas compiled`

interface Row {
  readonly name: string
  readonly results: memory.Results
  readonly peer: string
}

/** Reports one encoding: the cost of a call, and the ratios. */
const encodingReport = (name: memory.Encoding, interpreted: memory.Results, compiled: memory.Results): Report => {
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
    costs([
      [`microseconds per call, ${name}`, ...loads],
      ...rows.map((row) => [row.name, ...loads.map((load) => cell(samples(row, load)))])
    ]),
    table([
      [`ratio of times, ${name}`, ...loads],
      ...others.flatMap((other) =>
        rows.filter(({ peer }) => peer === ours).map((row) => [
          `${row.name} / ${other}`,
          ...loads.map((load) => ratioCell(samples(row, load), samples(row, load, other)))
        ])
      )
    ])
  ]
}

/** Reports the calls in memory. */
export const ofMemory = (interpreted: memory.Results, compiled: memory.Results): Report => [
  text("`tools/call` through both sides in memory; median, with the middle half in brackets."),
  ...encodingReport("by reference", interpreted, compiled),
  ...encodingReport("json", interpreted, compiled)
]

/** Reports the cost of observability. */
export const ofObserved = (observed: memory.Comparison): Report => {
  const loads = Object.keys(observed)
  const [bare = "", ...others] = Object.keys(Object.values(observed)[0] ?? {})
  const samples = (load: string, peer: string): Samples => observed[load]?.[peer] ?? []
  return [
    text("The same, by reference, with observability on both sides."),
    costs([
      ["microseconds per call", ...loads],
      ...[bare, ...others].map((peer) => [peer, ...loads.map((load) => cell(samples(load, peer)))])
    ]),
    table([
      ["ratio of times", ...loads],
      ...others.map((peer) => [
        `${peer} / without`,
        ...loads.map((load) => ratioCell(samples(load, peer), samples(load, bare)))
      ])
    ])
  ]
}

/** Reports a comparison of servers for each number of concurrent calls: the cost of a call, and the ratios. */
const widths = (
  results: load.Results,
  bases: ReadonlyArray<string>,
  isOurs: (name: string) => boolean,
  isCompared: (name: string, base: string) => boolean = () => true
): Report => {
  const columns = Object.keys(results)
  const names = Object.keys(Object.values(results)[0] ?? {})
  const samples = (width: string, name: string): Samples => results[width]?.[name] ?? []
  return [
    costs([
      ["microseconds per call", ...columns.map((width) => `${width} in flight`)],
      ...names.map((name) => [name, ...columns.map((width) => cell(samples(width, name)))])
    ]),
    table([
      ["ratio of times", ...columns.map((width) => `${width} in flight`)],
      ...names.filter(isOurs).flatMap((name) =>
        bases.filter((base) => base !== name && names.includes(base) && isCompared(name, base)).map((base) => [
          `${name} / ${base}`,
          ...columns.map((width) => ratioCell(samples(width, name), samples(width, base)))
        ])
      )
    ])
  ]
}

/** Reports the calls of servers over stdio. */
export const ofStdio = (results: load.Results): Report => [
  text("`tools/call` of stdio servers under a load of plain lines; median, with the middle half in brackets."),
  ...widths(results, stdio.bases, (name) => name.startsWith("Effect MCP"))
]

/** Reports the calls of servers over WebSocket. */
export const ofWebSocket = (results: load.Results): Report => [
  text("`tools/call` of WebSocket servers under a load of plain messages; median, with the middle half in brackets."),
  ...widths(results, [webSocket.floor], (name) => name.startsWith("Effect MCP"))
]

/** Reports the start of stdio servers. */
export const ofStartup = (results: { readonly [name: string]: Samples }): Report => {
  const compared = (name: string, base: string) => [
    `${name} / ${base}`,
    ratioCell(results[name] ?? [], results[base] ?? [])
  ]
  return [
    text("A stdio server, from its start to the response to `initialize`; median, with the middle half in brackets."),
    costs([
      ["milliseconds", ""],
      ...Object.entries(results).map(([name, samples]) => [name, cell(samples)])
    ]),
    table([
      ["ratio of times", ""],
      ...startup.comparisons.map(([name, base]) => compared(name, base))
    ])
  ]
}

const isLarge = (name: string): boolean => name.endsWith(" tools")

/** Reports servers that describe their tools by schemas, in memory. */
export const ofApplications = ({ byReference, json }: application.Results): Report => {
  const costsOf = (title: string, results: application.Comparison) => {
    const works = Object.keys(results)
    const names = Object.keys(Object.values(results)[0] ?? {})
    return costs([
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
  const jsonNames = Object.keys(Object.values(json)[0] ?? {})
  const [bare = "", ...groups] = Object.keys(Object.values(byReference)[0] ?? {})
  const works = Object.keys(byReference)
  const samples = (work: string, name: string): Samples => byReference[work]?.[name] ?? []
  return [
    text(
      "A tool with schemas and a structured result, through both sides in memory; median, with the middle half in " +
        "brackets."
    ),
    costsOf("microseconds, by reference", byReference),
    table([
      ["microseconds more", ...works],
      ...groups.map((name) => [
        `${name} − ${bare}`,
        ...works.map((work) => cell(differences(samples(work, name), samples(work, bare))))
      ])
    ]),
    costsOf("microseconds, json", json),
    table([
      ["ratio of times, json", ...Object.keys(json)],
      ...jsonNames.filter((name) => name.startsWith("Effect MCP")).flatMap((name) =>
        jsonNames.filter((base) => !base.startsWith("Effect MCP") && isLarge(name) === isLarge(base)).map((base) => [
          `${name} / ${base}`,
          ...Object.values(json).map((work) => ratioCell(work[name] ?? [], work[base] ?? []))
        ])
      )
    ])
  ]
}

/** Reports servers that describe their tools by schemas, over stdio. */
export const ofApplicationsOverStdio = (results: load.Results): Report => [
  text("The same over stdio, under a load of plain lines."),
  ...widths(
    results,
    stdio.applicationBases,
    (name) => name.startsWith("Effect MCP"),
    // With as many tools, or this server with one tool.
    (name, base) => base === "Effect MCP" || isLarge(name) === isLarge(base)
  )
]

/** The tables of the comparison. */
import * as fs from "node:fs"
import * as path from "node:path"
import { summarize } from "../../packages/benchmarks/src/measure.ts"
import {
  type Implementation,
  implementations,
  type Program,
  programs
} from "../../packages/comparisons/src/implementations.ts"
import { countLines, fileOf } from "../../packages/comparisons/src/lineCount.ts"
import { formatted, replaced, table } from "../generated.ts"
import { root } from "../workspace.ts"
import { type Cell, type Feature, having, lacking } from "./features.ts"
import type { Installation, Samples } from "./Samples.ts"
import { usedNames } from "./usedNames.ts"

/** The page. */
const page = "docs/start/compared.md"

/** The files with tables. */
export const files = [page, "README.md"] as const

const names = implementations.map(({ name }) => name)

const linked = ({ source, text }: Cell): string => {
  if (source.startsWith("https:")) return `[${text}](${source})`
  if (!fs.existsSync(path.join(root, source))) throw new Error(`a feature names ${source}, which does not exist`)
  return `[${text}](${path.posix.relative(path.posix.dirname(page), source)})`
}

const features = (rows: ReadonlyArray<Feature>): string =>
  table(["", ...names], rows.map(({ cells, name }) => [name, ...cells.map(linked)]))

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

const installed = (of: Readonly<Record<string, Installation>>) => ({ folder }: Implementation): string => {
  const installation = of[folder]
  if (installation === undefined) return "–"
  const { bytes, own, packages } = installation
  const ours = own.packages === 0 ? "" : `; own ${own.packages} / ${megabytes(own.bytes)}`
  return `${packages} / ${megabytes(bytes)}${ours}`
}

const installs = ({ both, server }: Samples): string =>
  table(["packages / size", ...names], [
    ["a server", ...implementations.map(installed(server))],
    ["a server and a client", ...implementations.map(installed(both))]
  ])

/** The fastest start: on a machine with other work, it depends least on that. */
const fastest = (samples: ReadonlyArray<number> = []): number => Math.min(...samples)

const ratioOf =
  (samples: Readonly<Record<string, ReadonlyArray<number>>>, base: number) => ({ folder }: Implementation): string =>
    (fastest(samples[folder]) / base).toFixed(2)

const millisOf = (samples: Readonly<Record<string, ReadonlyArray<number>>>) => ({ folder }: Implementation): string => {
  const own = samples[folder] ?? []
  return `${Math.round(fastest(own))} ms (median ${Math.round(summarize(own).median)} ms)`
}

const starts = ({ bundleBytes, bundled, installed }: Samples): string => {
  const base = fastest(installed["official"])
  const size = ({ folder }: Implementation): string => `${Math.round((bundleBytes[folder] ?? 0) / 1000)} kB`
  return table(["program a over stdio, to its first answer", ...names], [
    ["installed", ...implementations.map(millisOf(installed))],
    ["bundled", ...implementations.map(millisOf(bundled))],
    ["installed / official SDK installed", ...implementations.map(ratioOf(installed, base))],
    ["bundled / official SDK installed", ...implementations.map(ratioOf(bundled, base))],
    ["size of the bundle", ...implementations.map(size)]
  ])
}

/** The programs that do less than those of the others (`packages/comparisons/README.md`). */
const less: ReadonlySet<string> = new Set(["fastmcp/b", "effect-ai/b", "effect-ai/d", "fastmcp/g", "effect-ai/g"])

/** Returns the source of a program, if the implementation has it. */
const sourceOf = (implementation: Implementation, program: Program): string | undefined =>
  implementation.programs.includes(program) ? fs.readFileSync(fileOf(implementation, program), "utf8") : undefined

/** Returns the lines of a program, with a star if it does less than the others. */
const linesOf = (program: Program) => (implementation: Implementation): string => {
  const source = sourceOf(implementation, program)
  if (source === undefined) return "–"
  return `${countLines(source)}${less.has(`${implementation.folder}/${program}`) ? "\\*" : ""}`
}

/** The table of the README. */
const summary = ({ bundled, installed: starts, server }: Samples): string => {
  const size = ({ folder }: Implementation): string => {
    const installation = server[folder]
    return installation === undefined ? "–" : `${installation.packages} / ${megabytes(installation.bytes)}`
  }
  const base = fastest(starts["official"])
  return table(["", ...names], [
    ["an installed server: packages, size", ...implementations.map(size)],
    ["start, installed (official SDK: 1)", ...implementations.map(ratioOf(starts, base))],
    ["start, in one file", ...implementations.map(ratioOf(bundled, base))],
    ["lines of a server with users", ...implementations.map(linesOf("b"))],
    ["lines of a client of three servers", ...implementations.map(linesOf("d"))]
  ])
}

const lines = (): string => {
  const cellOf = (program: Program) => (implementation: Implementation): string => {
    const source = sourceOf(implementation, program)
    return source === undefined ? "–" : `${linesOf(program)(implementation)} / ${usedNames(source).size}`
  }
  return table(
    ["lines / names", ...names],
    programs.map(([program, title]) => [`${program}: ${title}`, ...implementations.map(cellOf(program))])
  )
}

/** Returns the version of the first package of an implementation. */
const versionOf = ({ server }: Samples) => ({ folder }: Implementation): string => {
  const [version = ""] = Object.values(server[folder]?.dependencies ?? {})
  return version
}

const origin = (samples: Samples): string => {
  const { cpus: { count, model }, date, installed, node } = samples
  const rounds = Object.values(installed)[0]?.length ?? 0
  const [, ...others] = implementations
  return table(["Measured", ""], [
    ["date", date],
    ["machine", `${count} × ${model}, with other work on it`],
    ["Node", node.slice(1)],
    ["starts of each program", `${rounds}, in rounds in which the programs take turns`],
    ["Effect MCP", "built from this repository"],
    ...others.map((implementation) => [implementation.name, versionOf(samples)(implementation)])
  ])
}

/** Returns a file with its tables written from measurements, programs and features. */
export const written = (file: typeof files[number], text: string, samples: Samples): string => {
  const blocks: ReadonlyArray<readonly [name: string, text: string]> = file === page
    ? [
      ["lacking", features(lacking)],
      ["having", features(having)],
      ["installs", installs(samples)],
      ["starts", starts(samples)],
      ["origin", origin(samples)],
      ["lines", lines()]
    ]
    : [["compared", summary(samples)]]
  return formatted(file, blocks.reduce((text, [name, block]) => replaced(text, name, block), text))
}

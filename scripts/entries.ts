/**
 * Checks that the `exports` of each public package list its entries one by one, and match its modules.
 *
 * Every module that `index.ts` exports is an entry of its own, such as `@effect-mcp/session/Limits`. So is every module
 * that `node/index.ts` exports, for programs on Node, such as `@effect-mcp/transport/node/StdioServer`. A package can
 * have further entries that no index exports, such as one that needs an optional peer. Every other module in
 * `src/` is exported by one of these entries, or lies in `src/internal/`. `publishConfig` lists the same entries in
 * `dist/` and `dist/joined/`.
 *
 * `node scripts/entries.ts` prints each difference as `file message`, and fails if there is any. `--update` first
 * writes the `exports` of `package.json`; further entries stay.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit } from "./commandLine.ts"
import { parse } from "./syntax.ts"
import { libraries, type Package, publicModules, read, root } from "./workspace.ts"

const { values: { update } } = orExit(() => parseArgs({ options: { update: { type: "boolean" } } }))

type Exports = Readonly<Record<string, unknown>>

/** Returns the relative paths that a module re-exports from, as they are written. */
const exportedFrom = (file: string): ReadonlyArray<string> =>
  parse(file, read(file)).imports.map(({ specifier }) => specifier).filter((specifier) => specifier.startsWith("./"))

const sourceOf = (manifestFile: string, target: unknown): string =>
  path.posix.join(path.posix.dirname(manifestFile), typeof target === "string" ? target : "")

/**
 * The files of an entry. Bundlers take its module, also for Node, and Node the joined modules that `scripts/joined.ts`
 * writes. Whatever is neither takes the module.
 */
interface Published {
  readonly types: string
  readonly module: string
  readonly node: string
  readonly default: string
}

const published = (source: string): Published => {
  const name = source.replace(/^\.\/src\//, "").replace(/\.ts$/, "")
  const module = `./dist/${name}.js`
  return { types: `./dist/${name}.d.ts`, module, node: `./dist/joined/${name}.js`, default: module }
}

const manifestEntry = "./package.json"

/** Returns the entries of a package by name: those of `index.ts`, and those that only its manifest lists. */
const entriesOf = ({ folder, manifest, sources }: Package): ReadonlyMap<string, string> => {
  const listed = Object.entries(manifest.exports ?? {}).flatMap(([entry, target]) => {
    const source = typeof target === "string" ? target : ""
    return sources.includes(path.posix.join("packages", folder, source)) ? [[entry, source] as const] : []
  })
  const fromIndex = (place: string) => {
    const index = `packages/${folder}/src/${place}index.ts`
    return !sources.includes(index) ? [] : exportedFrom(index).map((specifier) => {
      const module = `${place}${specifier.slice("./".length)}`
      return [`./${module.replace(/(?:\/index)?\.ts$/, "")}`, `./src/${module}`] as const
    })
  }
  const entries = new Map([...listed, ...fromIndex(""), ...fromIndex("node/")])
  entries.set(".", "./src/index.ts")
  if (sources.includes(`packages/${folder}/src/node/index.ts`)) entries.set("./node", "./src/node/index.ts")
  return new Map(Array.from(entries).toSorted(([one], [other]) => one < other ? -1 : 1))
}

const expected = (one: Package): { readonly exports: Exports; readonly published: Exports } => {
  const entries = Array.from(entriesOf(one))
  return {
    exports: Object.fromEntries([...entries, [manifestEntry, manifestEntry]]),
    published: Object.fromEntries([
      ...entries.map(([entry, source]) => [entry, published(source)] as const),
      [manifestEntry, manifestEntry]
    ])
  }
}

/** Lists the keys of which two records have different values. */
const differences = (actual: Exports, wanted: Exports): ReadonlyArray<string> =>
  Array.from(new Set([...Object.keys(actual), ...Object.keys(wanted)]))
    .filter((key) => JSON.stringify(actual[key]) !== JSON.stringify(wanted[key]))
    .map((key) => key in wanted ? `lacks "${key}": ${JSON.stringify(wanted[key])}` : `has "${key}", which is no entry`)

const problemsOf = (one: Package): ReadonlyArray<string> => {
  const { manifest, manifestFile } = one
  const wanted = expected(one)
  const entries = Object.values(wanted.exports).map((target) => sourceOf(manifestFile, target))
  const reached = new Set([
    ...entries,
    ...entries.filter((file) => file.endsWith(".ts")).flatMap((file) =>
      exportedFrom(file).map((specifier) => path.posix.join(path.posix.dirname(file), specifier))
    )
  ])
  const fix = "run node scripts/entries.ts --update"
  return [
    ...differences(manifest.exports ?? {}, wanted.exports).map((problem) =>
      `${manifestFile} exports ${problem}; ${fix}`
    ),
    ...differences(manifest.publishConfig?.exports ?? {}, wanted.published).map((problem) =>
      `${manifestFile} publishConfig.exports ${problem}; ${fix}`
    ),
    ...entries.filter((file) => file.includes("/internal/")).map((file) => `${file} is internal, and an entry`),
    ...publicModules(one).filter((file) => !reached.has(file)).map((file) =>
      `${file} is in no entry: export it from index.ts, list it in ${manifestFile}, or move it to src/internal/`
    )
  ]
}

/** The formatter's greatest number of columns, with the comma. */
const columns = 120

/** Lays out `exports` as the formatter does: one line for each entry, unless the line is too long. */
const layout = (exports: Exports, margin: string): string => {
  const lines = Object.entries(exports).map(([entry, target]) => {
    const name = `${margin}  ${JSON.stringify(entry)}: `
    const value = JSON.stringify(target).replaceAll(/[:,](?=")/g, "$& ").replace(/^\{/, "{ ").replace(/\}$/, " }")
    return name.length + value.length < columns
      ? name + value
      : name + JSON.stringify(target, null, 2).replaceAll("\n", `\n${margin}  `)
  })
  return `${margin}"exports": {\n${lines.join(",\n")}\n${margin}}`
}

const write = (one: Package): Package => {
  const wanted = expected(one)
  const text = read(one.manifestFile)
    .replace(/^ {2}"exports": \{[\s\S]*?^ {2}\}/m, () => layout(wanted.exports, "  "))
    .replace(/^ {4}"exports": \{[\s\S]*?^ {4}\}/m, () => layout(wanted.published, "    "))
  fs.writeFileSync(path.join(root, one.manifestFile), text)
  return { ...one, manifest: JSON.parse(text) }
}

const checked = update === true ? libraries.map(write) : libraries
const problems = checked.flatMap(problemsOf)
for (const problem of problems) console.log(problem)
if (problems.length > 0) {
  process.exitCode = 1
} else {
  const entries = checked.reduce((sum, one) => sum + entriesOf(one).size, 0)
  console.log(`${entries} entries of ${checked.length} packages are listed`)
}

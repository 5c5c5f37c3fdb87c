/**
 * Writes `dist/joined` of each public package: its modules joined to few files, for Node.
 *
 * Most of the start of a program is the time in which Node finds, opens and compiles files: about 1 ms for each. `dist`
 * has a file for each module, from which a bundler takes what a program uses. Node gets `dist/joined`: one file with
 * the modules that most programs use, and a small file for each entry. Other modules stay apart, because they load
 * more, such as HTTP, WebSocket and optional packages. The condition `node` of `exports` leads there.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { build, type OutputOptions } from "rolldown"
import { libraries, type Package, root } from "./workspace.ts"

/**
 * The entries of each package whose modules are joined to one file, one or several for a file. A module is joined for
 * the first of them that loads it, so that a server does not load the modules of clients.
 */
const joined: { readonly [folder: string]: ReadonlyArray<ReadonlyArray<string>> } = {
  protocol: [["index", "internal"]],
  session: [["ServerSession", "internal"], ["internalEngine"], ["index"]],
  tasks: [["RemoteTasks"], ["ServerTasks"], ["index"]],
  cluster: [],
  "json-schema": [["index"]],
  transport: [["node/StdioServer"]],
  auth: [],
  server: [["node/McpServer"], ["McpGroup"]],
  client: [],
  gateway: [],
  testing: []
}

const isOutside = (id: string): boolean => !id.startsWith(".") && !path.isAbsolute(id)

/** The entries of a package: the names of the files to write, and their sources. */
const entriesOf = ({ folder, manifest }: Package): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.values(manifest.exports ?? {}).flatMap((source) =>
      typeof source === "string" && source.endsWith(".ts")
        ? [[source.slice("./src/".length, -".ts".length), path.join(root, "packages", folder, source)]]
        : []
    )
  )

// For `node`, rolldown would add an import of `node:module` that is not used.
const common = { platform: "neutral", external: isOutside, treeshake: false } as const

/** Returns the modules that entries load. */
const loadedBy = async (input: Array<string>): Promise<ReadonlySet<string>> => {
  const { output } = await build({ ...common, input, write: false })
  return new Set(output.flatMap((chunk) => chunk.type === "chunk" ? Object.keys(chunk.modules) : []))
}

const write = async (one: Package): Promise<number> => {
  const dir = path.join(root, "packages", one.folder, "dist", "joined")
  const entries = entriesOf(one)
  const groups = await Promise.all((joined[one.folder] ?? []).map(async (names, index, all) => {
    const loaded = await loadedBy(names.map((name) => entries[name] ?? ""))
    return { name: names[0] ?? "", test: (id: string) => loaded.has(id), priority: all.length - index }
  }))
  const output: OutputOptions = {
    dir,
    format: "esm",
    // Node reads the files at each start, so they have no comments, and ASCII only, which it decodes fastest. Bundlers
    // need the annotations of pure calls.
    comments: { annotation: true, jsdoc: false, legal: true },
    charset: "ascii",
    entryFileNames: "[name].js",
    chunkFileNames: "internal/[name].js",
    codeSplitting: { groups }
  }
  fs.rmSync(dir, { recursive: true, force: true })
  const { output: written } = await build({ ...common, input: entries, output, preserveEntrySignatures: "strict" })
  return written.filter(({ type }) => type === "chunk").length
}

for (const one of libraries) {
  console.log(`packages/${one.folder}/dist/joined: ${one.sources.length} modules in ${await write(one)} files`)
}

/**
 * Writes `dist/node` of each public package: its modules joined to few files, for Node.
 *
 * Most of the start of a program is the time in which Node finds and opens files: about 1 ms for each. `dist` has a file
 * for each module, from which a bundler takes what a program uses. Node is given `dist/node`, which has one file for all
 * modules that most programs use, and a small file for each entry. The other modules stay apart, because they load
 * more: HTTP, WebSocket, optional packages.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { build, type OutputOptions } from "rolldown"
import { type Package, publicPackages, root } from "./workspace.ts"

/** The entries whose modules are joined to one file. */
const cores: { readonly [folder: string]: ReadonlyArray<string> } = {
  protocol: ["index"],
  session: ["index"],
  transport: ["StdioServer"],
  server: ["McpGroup", "McpServer"],
  client: [],
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

const write = async (one: Package): Promise<number> => {
  const folder = path.join(root, "packages", one.folder)
  const entries = entriesOf(one)
  const common = { platform: "node", external: isOutside, treeshake: false } as const
  const core = (cores[one.folder] ?? []).map((name) => entries[name] ?? "")
  const joined = core.length === 0
    ? []
    : (await build({ ...common, input: core, write: false })).output.flatMap((chunk) =>
      chunk.type === "chunk" ? Object.keys(chunk.modules) : []
    )
  const isJoined = new Set(joined)
  const output: OutputOptions = {
    dir: path.join(folder, "dist", "node"),
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "internal/[name].js",
    codeSplitting: { groups: [{ name: "core", test: (id) => isJoined.has(id) }] }
  }
  fs.rmSync(path.join(folder, "dist", "node"), { recursive: true, force: true })
  const { output: written } = await build({ ...common, input: entries, output })
  return written.filter(({ type }) => type === "chunk").length
}

for (const one of publicPackages) {
  console.log(`packages/${one.folder}/dist/node: ${one.sources.length} modules in ${await write(one)} files`)
}

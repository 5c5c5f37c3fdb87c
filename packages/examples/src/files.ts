/**
 * A file server: the files of directories as resources, over standard input and output. Its arguments are the
 * directories, each with a name that clients use for it. The server serves nothing outside of them.
 *
 * ```sh
 * node packages/examples/src/files.ts docs=./docs notes=/home/ada/notes
 * ```
 *
 * A client reads `files://docs/servers/tools.md`, and never learns where the directories are.
 */
import * as McpDirectory from "@effect-mcp/server/McpDirectory"
import * as McpServer from "@effect-mcp/server/node/McpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const usage = "usage: files.ts NAME=DIRECTORY ...\n"

/** Returns the directories by their names. Exits with an error message if there are none. */
const readRoots = (): { readonly [name: string]: string } => {
  const roots = new Map<string, string>()
  for (const argument of process.argv.slice(2)) {
    const [, name, directory] = /^([^=]+)=(.+)$/s.exec(argument) ?? []
    if (name === undefined || directory === undefined || roots.has(name)) {
      process.stderr.write(`${JSON.stringify(argument)} is not a new name with a directory\n${usage}`)
      process.exit(2)
    }
    roots.set(name, directory)
  }
  if (roots.size === 0) {
    process.stderr.write(usage)
    process.exit(2)
  }
  return Object.fromEntries(roots)
}

const files = McpDirectory.layer("files", { roots: readRoots(), refresh: "10 seconds" }).pipe(
  Layer.provide(NodeServices.layer),
  // A root that cannot be served ends the program before a client connects.
  Layer.catch((error) =>
    Layer.effectDiscard(Effect.sync(() => {
      process.stderr.write(`${error.message}\n`)
      process.exit(2)
    }))
  )
)

McpServer.runMainStdio(files, { info: { name: "files", version: "1.0.0" } })

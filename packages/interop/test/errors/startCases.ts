/** Errors of a program that does not start. */
import { McpGroup, McpServer } from "@effect-mcp/server"
import { SessionHost } from "@effect-mcp/session"
import { Authentication, SocketServer, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { root } from "../../../../scripts/workspace.ts"
import { type Cases, errorsOf, folder, info, lineWith, listening, messageOf } from "./parts.ts"

const empty = SessionHost.layer({}, { info })

/** Copies a package of this project, as a second installation of it does, and returns the path of an entry. */
const copyOf = (at: string): string => {
  const copied = path.join(at, "packages/protocol")
  for (const part of ["src", "package.json"]) {
    fs.cpSync(path.join(root, "packages/protocol", part), path.join(copied, part), { recursive: true })
  }
  fs.mkdirSync(path.join(at, "node_modules"))
  fs.symlinkSync(path.join(root, "node_modules/effect"), path.join(at, "node_modules/effect"))
  return path.join(copied, "src/internal.ts")
}

/** Runs a module of a project that has installed the packages, and returns what it prints to standard error. */
const importing = (text: string) =>
  Effect.flatMap(folder, (at) => {
    const module = path.join(at, "module.mjs")
    fs.symlinkSync(path.join(root, "node_modules"), path.join(at, "node_modules"))
    fs.writeFileSync(module, text)
    return errorsOf("server.mjs", `await import(${JSON.stringify(module)})\n`)
  })

const Clock = McpGroup.make("clock", Tool.make("now"))
const Calendar = McpGroup.make("calendar", Tool.make("now"))

export const startCases: Cases = {
  "TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension \".ts\" for …": Effect.map(
    errorsOf("server.ts", "const port: number = 3000\n", ["--no-strip-types"]),
    lineWith("TypeError [ERR_UNKNOWN_FILE_EXTENSION]")
  ),
  "SyntaxError [ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX]: TypeScript … is not supported in strip-only mode": Effect.map(
    errorsOf("server.ts", "enum Color { Red }\n"),
    lineWith("SyntaxError [ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX]")
  ),
  "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '…' imported from …": Effect.map(
    errorsOf("server.mjs", "import \"@effect/platform-node/NodeRuntime\"\n"),
    lineWith("Error [ERR_MODULE_NOT_FOUND]")
  ),
  "Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: Package subpath '…' is not defined by \"exports\" in …": Effect.map(
    importing("import \"@effect-mcp/server/McpServers\"\n"),
    lineWith("Error [ERR_PACKAGE_PATH_NOT_EXPORTED]")
  ),
  "SyntaxError: The requested module '…' does not provide an export named '…'": Effect.map(
    importing("import { StdioServer } from \"@effect-mcp/transport\"\nStdioServer.layerNode()\n"),
    lineWith("SyntaxError")
  ),
  "TypeError: McpServer.runMainStdio is not a function": Effect.map(
    importing("import { McpServer } from \"@effect-mcp/server\"\nMcpServer.runMainStdio()\n"),
    lineWith("TypeError")
  ),
  "PackageConflictError: two copies of a package are loaded: … and …; install the same version of each …": Effect.gen(
    function*() {
      const at = yield* folder
      const program = `
      import ${JSON.stringify(copyOf(at))}
      import { ClientSession, ServerSession } from ${JSON.stringify(path.join(root, "packages/session/src/index.ts"))}
      import * as Effect from ${JSON.stringify(path.join(root, "node_modules/effect/dist/Effect.js"))}

      const info = { name: "example", version: "1.0.0" }
      const connecting = Effect.provide(ClientSession.make({ info }), ServerSession.layerMemory({}, { info }))
      await Effect.runPromise(Effect.scoped(connecting))
    `
      return lineWith("PackageConflictError")(yield* errorsOf("server.mjs", program))
    }
  ),
  "cannot listen on …: EADDRINUSE, another listener uses this port; stop it, or set another port …": Effect.gen(
    function*() {
      const at = (port: number) =>
        Layer.provide(StreamableHttpServer.layerNode({ port }), [empty, Authentication.anonymous])
      const { port } = new URL(yield* listening(at(0)))
      return yield* messageOf(Layer.build(at(Number(port))))
    }
  ),
  "could not listen at …: a server listens there already": Effect.gen(function*() {
    const at = path.join(yield* folder, "mcp.sock")
    yield* Layer.build(Layer.provide(SocketServer.layerUnix({ path: at }), empty))
    return yield* messageOf(Layer.build(Layer.provide(SocketServer.layerUnix({ path: at }), empty)))
  }),
  "the group \"…\" cannot be registered: …": messageOf(Layer.build(McpServer.layerHost(
    Layer.merge(
      Clock.toLayer((handlers) => handlers.tool("now", () => Effect.void)),
      Calendar.toLayer((handlers) => handlers.tool("now", () => Effect.void))
    ),
    { info }
  ))),
  "maxMessageBytes must be …, not …": messageOf(
    Effect.sync(() => StreamableHttpServer.layerNode({ port: 0, maxMessageBytes: -1 }))
  ),
  "Error [ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING]: Stripping types is currently unsupported for files under …":
    Effect.gen(function*() {
      const module = path.join(yield* folder, "node_modules", "server", "index.ts")
      fs.mkdirSync(path.dirname(module), { recursive: true })
      fs.writeFileSync(module, "export const port: number = 3000\n")
      return lineWith("Error [ERR_UNSUPPORTED")(yield* errorsOf("server.mjs", `import ${JSON.stringify(module)}\n`))
    })
}

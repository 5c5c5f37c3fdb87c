/** The template of a stdio server: from source, and bundled into one file that runs alone. */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { build, type OutputChunk } from "rolldown"
import { root } from "../../../scripts/workspace.ts"
import manifest from "../templates/stdio/package.json" with { type: "json" }
import bundling from "../templates/stdio/rolldown.config.ts"

const template = path.join(root, "packages/create/templates/stdio")

/** A new folder outside of the workspace. The folder is removed when the scope closes. */
const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "template-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

/** Bundles the template with its own configuration into a folder, and returns the only chunk. */
const bundle = (dir: string): Effect.Effect<OutputChunk> =>
  Effect.promise(async () => {
    const { output } = await build({
      ...bundling,
      cwd: template,
      logLevel: "silent",
      output: { ...bundling.output, dir }
    })
    assert.deepStrictEqual(output.map(({ fileName }) => fileName), ["server.mjs", "manifest.json"])
    return output[0]
  })

/** Connects a client of a revision to the server of a file, and uses the tools. */
const greets = Effect.fnUntraced(function*(file: string, revision: Revision.Revision) {
  const client = ClientSession.layer({ info: { name: "guest", version: "1.0.0" }, revisions: [revision] })
  const server = StdioClient.layerNode({ command: process.execPath, args: [file] })
  const context = yield* Layer.build(Layer.provide(client, server))
  const session = Context.get(context, ClientSession.ClientSession)
  assert.strictEqual(session.profile.revision, revision)
  assert.deepInclude(session.profile.info, { name: manifest.name, version: manifest.version })
  const { tools } = yield* session.listTools()
  assert.deepStrictEqual(tools.map(({ name }) => name), ["count_letters", "greet"])
  assert.deepInclude(tools[0]?.inputSchema, { required: ["name"] })
  const { content } = yield* session.callTool("greet", { name: "Ada" })
  assert.deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
  const { structuredContent } = yield* session.callTool("count_letters", { name: "Ada" })
  assert.deepStrictEqual(structuredContent, { letters: 3 })
})

/** Runs a server whose input ends at once, and returns its output. Rejects if it does not exit with 0. */
const ended = (file: string): Effect.Effect<{ readonly stdout: string; readonly stderr: string }> =>
  Effect.promise(() =>
    new Promise((resolve, reject) => {
      const child = execFile(process.execPath, [file], (error, stdout, stderr) => {
        if (error === null) resolve({ stdout, stderr })
        else reject(error)
      })
      child.stdin?.end()
    })
  )

/** Modules that a stdio server does not use. The schemas of Effect refer to few values of `effect/http`. */
const unused = [
  /\/ajv\//,
  /\/(?:undici|ws)\//,
  /\/packages\/(?:client|gateway|json-schema|testing)\//,
  /\/packages\/session\/src\/(?:ClientSession|SessionHost|StatelessServer)\.ts$/,
  /\/packages\/session\/src\/internal\/(?:client|host|owners)\//,
  /\/packages\/session\/src\/internal\/telemetry\/(?:Server|Store)Metrics\.ts$/,
  /\/packages\/transport\/src\/(?:internal\/)?(?:Http|http|StatelessHttp|StreamableHttp)/,
  /\/packages\/transport\/src\/(?:internal\/)?(?:Socket|socket|WebSocket|websocket|StdioClient)/,
  /\/packages\/server\/src\/(?:McpDirectory|McpHttpApi|McpRpcGroup|McpToolkit|McpWorkflow)\.ts$/,
  /\/packages\/tasks\/src\/(?:ClientTasks|NodeSqlite|RemoteTasks|TaskStoreSql)\.ts$/,
  /\/effect\/dist\/ai\/(?!Tool\.js$)/,
  /\/effect\/dist\/http\/(?!(?:Cookies|Headers|UrlParams|internal\/urlParams)\.js$)/,
  /\/effect\/dist\/(?:cli|cluster|eventlog|graphql|http-api|observability|persistence|process|rpc|socket|sql)\//,
  /\/effect\/dist\/workflow\//
]

describe.concurrent("the template of a stdio server", () => {
  it.live("runs from source", () => greets(path.join(template, "src/main.ts"), Revision.latest).pipe(Effect.scoped))

  it.live("bundled into one file, runs without node_modules in every revision, and exits with 0", () =>
    Effect.gen(function*() {
      const dir = yield* folder
      const { code } = yield* bundle(dir)
      assert.match(code, /^#!\/usr\/bin\/env node\n/)
      const file = path.join(dir, "server.mjs")
      for (const revision of Revision.supported) yield* Effect.scoped(greets(file, revision))
      assert.deepStrictEqual(yield* ended(file), { stdout: "", stderr: "" })
    }).pipe(Effect.scoped))

  it.live("has no module in its bundle that a stdio server does not use", () =>
    Effect.gen(function*() {
      const { code, modules } = yield* bundle(yield* folder)
      const bundled = Object.keys(modules).map((module) => module.replaceAll(path.sep, "/"))
      // Without these modules, the paths have changed, and the patterns match nothing.
      assert.isTrue(bundled.some((module) => module.endsWith("/packages/transport/src/node/StdioServer.ts")))
      assert.isTrue(bundled.some((module) => module.endsWith("/effect/dist/ai/Tool.js")))
      assert.deepStrictEqual(bundled.filter((module) => unused.some((pattern) => pattern.test(module))), [])
      // The modules that a server with tasks loads later are in the same file, each in a function.
      assert.isBelow(code.length, 460_000)
    }).pipe(Effect.scoped))

  it.live("has the manifest of a bundle beside the server, with its name and its version", () =>
    Effect.gen(function*() {
      const dir = yield* folder
      yield* bundle(dir)
      const { name, server, version } = JSON.parse(fs.readFileSync(path.join(dir, "manifest.json"), "utf8"))
      assert.deepStrictEqual({ name, version }, { name: manifest.name, version: manifest.version })
      assert.deepStrictEqual(server.mcp_config.args, [`\${__dirname}/${server.entry_point}`])
      assert.isTrue(fs.existsSync(path.join(dir, server.entry_point)))
    }).pipe(Effect.scoped))
})

describe("the public packages in a bundle", () => {
  it.live("leave nothing if the program uses none of their exports", () =>
    Effect.gen(function*() {
      const names = ["protocol", "session", "json-schema", "transport", "server", "client", "testing"]
      const input = path.join(root, "packages/create/test/unused.js")
      const { output } = yield* Effect.promise(() =>
        build({
          input,
          platform: "node",
          logLevel: "silent",
          write: false,
          plugins: [{
            name: "a program without a file",
            resolveId: (id) => id === input ? id : undefined,
            load: (id) => id === input ? names.map((name) => `import "@effect-mcp/${name}"`).join("\n") : undefined
          }]
        })
      )
      assert.deepStrictEqual(Object.keys(output[0].modules).filter((module) => module !== input), [])
    }))
})

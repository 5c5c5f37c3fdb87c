/** The template of a stdio server: from source, and bundled into one file that runs alone. */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { build, type OutputChunk } from "rolldown"
import bundling from "../templates/stdio-server/rolldown.config.ts"
import * as Child from "./fixtures/child.ts"

const template = Child.file("../../templates/stdio-server")

/** A new folder outside of the workspace. The folder is removed when the scope closes. */
const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "template-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

/** Bundles the template with its own configuration, and returns the only chunk. */
const bundle = (file: string): Effect.Effect<OutputChunk> =>
  Effect.promise(async () => {
    const { output } = await build({
      ...bundling,
      cwd: template,
      logLevel: "silent",
      output: { ...bundling.output, file }
    })
    assert.strictEqual(output.length, 1)
    return output[0]
  })

/** Connects a client of a revision to a server, and uses the tools. */
const greets = Effect.fnUntraced(function*(server: Child.Server, revision: Revision.Revision) {
  const client = ClientSession.layer({ info: { name: "guest", version: "1.0.0" }, revisions: [revision] })
  const context = yield* Layer.build(Layer.provide(client, server.transport))
  const session = Context.get(context, ClientSession.ClientSession)
  assert.strictEqual(session.profile.revision, revision)
  assert.deepInclude(session.profile.info, { name: "greeter", version: "1.0.0" })
  const { tools } = yield* session.listTools()
  assert.deepStrictEqual(tools.map(({ name }) => name), ["count_letters", "greet"])
  assert.deepInclude(tools[0]?.inputSchema, { required: ["name"] })
  const { content } = yield* session.callTool("greet", { name: "Ada" })
  assert.deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
  const { structuredContent } = yield* session.callTool("count_letters", { name: "Ada" })
  assert.deepStrictEqual(structuredContent, { letters: 3 })
})

/** Modules that a stdio server does not use. The schemas of Effect refer to few values of `effect/http`. */
const unused = [
  /\/ajv\//,
  /\/(?:undici|ws)\//,
  /\/packages\/(?:client|gateway|json-schema|testing)\//,
  /\/packages\/session\/src\/(?:ClientSession|SessionHost|StatelessServer)\.ts$/,
  /\/packages\/session\/src\/internal\/(?:client|host)\//,
  /\/packages\/transport\/src\/(?:internal\/)?(?:Http|http|StatelessHttp|StreamableHttp)/,
  /\/packages\/transport\/src\/(?:internal\/)?(?:Socket|socket|WebSocket|websocket|StdioClient)/,
  /\/packages\/server\/src\/(?:McpDirectory|McpHttpApi|McpRpcGroup|McpToolkit)\.ts$/,
  /\/packages\/tasks\/src\/(?:ClientTasks|NodeSqlite|RemoteTasks|TaskStoreSql)\.ts$/,
  /\/effect\/dist\/ai\/(?!Tool\.js$)/,
  /\/effect\/dist\/http\/(?!(?:Cookies|Headers|UrlParams|internal\/urlParams)\.js$)/,
  /\/effect\/dist\/(?:cli|cluster|eventlog|graphql|http-api|observability|persistence|process|rpc|socket|sql)\//
]

describe.concurrent("the template of a stdio server", () => {
  it.live("runs from source", () =>
    greets(Child.server(path.join(template, "src/server.ts")), Revision.latest).pipe(Effect.scoped))

  it.live("bundled into one file, runs without node_modules in every revision, and exits with 0", () =>
    Effect.gen(function*() {
      const file = path.join(yield* folder, "server.mjs")
      const { code } = yield* bundle(file)
      assert.match(code, /^#!\/usr\/bin\/env node\n/)
      for (const revision of Revision.supported) yield* Effect.scoped(greets(Child.server(file), revision))
      const program = yield* Child.program(process.execPath, [file])
      program.end()
      assert.deepInclude(yield* program.exited, { exitCode: 0, stdout: "", stderr: "" })
    }).pipe(Effect.scoped))

  it.live("has no module in its bundle that a stdio server does not use", () =>
    Effect.gen(function*() {
      const { code, modules } = yield* bundle(path.join(yield* folder, "server.mjs"))
      const bundled = Object.keys(modules).map((module) => module.replaceAll(path.sep, "/"))
      // Without these modules, the paths have changed, and the patterns match nothing.
      assert.isTrue(bundled.some((module) => module.endsWith("/packages/transport/src/node/StdioServer.ts")))
      assert.isTrue(bundled.some((module) => module.endsWith("/effect/dist/ai/Tool.js")))
      assert.deepStrictEqual(bundled.filter((module) => unused.some((pattern) => pattern.test(module))), [])
      // The modules that a server with tasks loads later are in the same file, each in a function.
      assert.isBelow(code.length, 440_000)
    }).pipe(Effect.scoped))

  it.live("passes its own tests", () =>
    Effect.promise(() => promisify(execFile)(process.execPath, ["--test"], { cwd: template, env: Child.environment })))

  it("has the dependencies of this workspace", () => {
    const read = (file: string) => JSON.parse(fs.readFileSync(file, "utf8"))
    const { devDependencies: installed } = read(path.join(Child.root, "package.json"))
    const { devDependencies, engines } = read(path.join(template, "package.json"))
    // Until the first release, which waits as a changeset, the manifests have no version that can be installed.
    const released = (version: string) => version === "0.0.0" ? "0.1.0" : version
    const expected = Object.keys(devDependencies).map((name) => [
      name,
      name.startsWith("@effect-mcp/")
        ? `^${released(read(path.join(Child.root, name.replace("@effect-mcp", "packages"), "package.json")).version)}`
        : `^${installed[name]}`
    ])
    assert.deepStrictEqual(devDependencies, Object.fromEntries(expected))
    assert.deepStrictEqual(engines, read(path.join(Child.root, "package.json")).engines)
  })
})

describe("the public packages in a bundle", () => {
  it.live("leave nothing if the program uses none of their exports", () =>
    Effect.gen(function*() {
      const names = ["protocol", "session", "json-schema", "transport", "server", "client", "testing"]
      const input = path.join(Child.root, "packages/examples/test/unused.js")
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

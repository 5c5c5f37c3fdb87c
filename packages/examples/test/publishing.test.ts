/** The files of `docs/servers/publish-a-server.md`, with the template of a stdio server. */
import { ClientSession } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { build } from "rolldown"
import bundling from "../../create/templates/stdio/rolldown.config.ts"
import * as Child from "./fixtures/child.ts"

const template = path.join(Child.root, "packages/create/templates/stdio")
const run = promisify(execFile)
const require = createRequire(import.meta.url)

/** The blocks of JSON on the page, in order. */
const [packageText = "", entryText = "", manifestText = "", serverText = "", remotesText = ""] = Array.from(
  fs.readFileSync(path.join(Child.root, "docs/servers/publish-a-server.md"), "utf8").matchAll(
    /^```json\n([^]*?)^```$/gm
  ),
  ([, text = ""]) => text
)
const manifest = JSON.parse(packageText)

/** The project of the page: its `package.json`, and the build of the template. */
const project = fs.mkdtempSync(path.join(tmpdir(), "publishing-"))
afterAll(() => fs.rmSync(project, { recursive: true }))
fs.writeFileSync(path.join(project, "package.json"), packageText)
const dist = path.join(project, "dist")
await build({ ...bundling, cwd: template, logLevel: "silent", output: { ...bundling.output, dir: dist } })

const inFolder = (name: string): string => {
  const folder = path.join(project, name)
  fs.mkdirSync(folder, { recursive: true })
  return folder
}

/** Calls the tool of the server that a command starts. */
const greets = (command: string, args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const session = ClientSession.layer({ info: { name: "publishing", version: "1.0.0" } })
    const server = StdioClient.layerNode({ command, args, env: Child.environment })
    const context = yield* Layer.build(Layer.provide(session, server))
    const { content } = yield* Context.get(context, ClientSession.ClientSession).callTool("greet", { name: "Ada" })
    assert.deepStrictEqual(content, [{ type: "text", text: "Hello, Ada!" }])
  }).pipe(Effect.scoped)

describe.concurrent("a server that is published on npm", () => {
  it.live("has its file and its manifest in the archive, and runs as the command after an installation", () =>
    Effect.gen(function*() {
      const packed = yield* Effect.promise(() => run("npm", ["pack", "--ignore-scripts", "--json"], { cwd: project }))
      const [{ filename, files }] = JSON.parse(packed.stdout)
      assert.deepStrictEqual(files.map(({ path }: { readonly path: string }) => path), [
        "dist/server.mjs",
        "package.json"
      ])
      const user = inFolder("user")
      fs.writeFileSync(path.join(user, "package.json"), "{}")
      const install = ["install", "--offline", "--no-audit", "--no-fund", path.join(project, filename)]
      yield* Effect.promise(() => run("npm", install, { cwd: user }))
      assert.deepStrictEqual(fs.readdirSync(path.join(user, "node_modules")).toSorted(), [
        ".bin",
        ".package-lock.json",
        "@ada"
      ])
      const [command] = Object.keys(manifest.bin)
      yield* greets(path.join(user, "node_modules/.bin", command ?? ""), [])
    }))

  it("has the entries of the template, and its name in the entry of the host", () => {
    const { bin, engines, files, scripts } = JSON.parse(
      fs.readFileSync(path.join(template, "package.json"), "utf8")
    )
    assert.deepStrictEqual(manifest.engines, engines)
    assert.deepStrictEqual(manifest.files, files)
    assert.deepStrictEqual(Object.values(manifest.bin), [bin])
    assert.deepStrictEqual(manifest.scripts, { build: scripts.build, prepack: scripts.prepack })
    const { mcpServers: { greeter } } = JSON.parse(entryText)
    assert.deepStrictEqual(greeter, { command: "npx", args: ["-y", manifest.name] })
  })
})

describe.concurrent("a bundle", () => {
  const isManifest = new Ajv({ strict: false, validateFormats: false }).compile(
    JSON.parse(fs.readFileSync(require.resolve("@anthropic-ai/mcpb/mcpb-manifest-v0.3.schema.json"), "utf8"))
  )
  const check = (text: string) => {
    const value = JSON.parse(text)
    assert.isTrue(isManifest(value), JSON.stringify(isManifest.errors))
    return value
  }

  it("has a manifest by the published schema: that of the build, and that of the page", () => {
    check(fs.readFileSync(path.join(dist, "manifest.json"), "utf8"))
    const { server, user_config: settings } = check(manifestText)
    assert.deepStrictEqual(server.mcp_config.args, [`\${__dirname}/${server.entry_point}`])
    const asked = Object.values<string>(server.mcp_config.env).map((text) =>
      /^\$\{user_config\.(\w+)\}$/.exec(text)?.[1]
    )
    assert.deepStrictEqual(asked, Object.keys(settings))
    // The schema says no to what it does not know.
    assert.isFalse(isManifest({ ...JSON.parse(manifestText), entry: "server.mjs" }))
  })

  it.live("is packed by mcpb, and its server runs from the folder of the unpacked bundle", () =>
    Effect.gen(function*() {
      const program = path.join(path.dirname(require.resolve("@anthropic-ai/mcpb")), "cli/cli.js")
      const archive = path.join(project, "greeter.mcpb")
      const unpacked = path.join(project, "unpacked")
      yield* Effect.promise(() => run(process.execPath, [program, "pack", dist, archive]))
      yield* Effect.promise(() => run(process.execPath, [program, "unpack", archive, unpacked]))
      assert.sameMembers(fs.readdirSync(unpacked), ["manifest.json", "server.mjs"])
      const { server: { mcp_config: { args, command } } } = check(
        fs.readFileSync(path.join(unpacked, "manifest.json"), "utf8")
      )
      assert.strictEqual(command, "node")
      yield* greets(process.execPath, args.map((arg: string) => arg.replace("${__dirname}", unpacked)))
    }))
})

/** A version, and no range. */
const Version = Schema.String.check(Schema.isPattern(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/))

const Input = Schema.Struct({
  name: Schema.NonEmptyString,
  description: Schema.NonEmptyString,
  isRequired: Schema.Boolean,
  isSecret: Schema.Boolean
})

const Remote = Schema.Struct({
  type: Schema.Literals(["streamable-http", "sse"]),
  url: Schema.String.check(Schema.isPattern(/^https:\/\/\S+$/)),
  headers: Schema.Array(Input)
})

/** The rules of the registry for the members that the page uses. */
const ServerJson = Schema.Struct({
  $schema: Schema.Literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/), Schema.isMaxLength(200)),
  title: Schema.NonEmptyString.check(Schema.isMaxLength(100)),
  description: Schema.NonEmptyString.check(Schema.isMaxLength(100)),
  version: Version,
  repository: Schema.Struct({ url: Schema.String, source: Schema.Literal("github") }),
  packages: Schema.Array(Schema.Struct({
    registryType: Schema.Literal("npm"),
    identifier: Schema.NonEmptyString,
    version: Version,
    transport: Schema.Struct({ type: Schema.Literal("stdio") }),
    environmentVariables: Schema.Array(Input)
  }))
})

const decode = <S extends Schema.Decoder<unknown>>(schema: S, text: string) =>
  Schema.decodeUnknownSync(schema)(JSON.parse(text), { onExcessProperty: "error" })

describe("the entry of the registry", () => {
  it("keeps the rules of the registry, and is that of the package", () => {
    const { name, packages, version } = decode(ServerJson, serverText)
    const [one, ...others] = packages
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(
      [name, version, one?.identifier, one?.version],
      [manifest.mcpName, manifest.version, manifest.name, manifest.version]
    )
    const { server, version: bundled } = JSON.parse(manifestText)
    assert.strictEqual(bundled, version)
    assert.deepStrictEqual(one?.environmentVariables.map(({ name }) => name), Object.keys(server.mcp_config.env))
  })

  it("can have remote servers", () => {
    const { remotes } = decode(Schema.Struct({ remotes: Schema.Array(Remote) }), remotesText)
    assert.deepStrictEqual(remotes.map(({ type }) => type), ["streamable-http"])
  })
})

/** The page Hosts: its blocks are what the program writes, and their servers are started and called. */
import { McpClient, McpServersConfig, type McpTarget } from "@effect-mcp/client/node"
import { StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { portOf } from "../../client/test/support/headerServer.ts"
import * as Child from "../../examples/test/fixtures/child.ts"
import * as Host from "../src/hosts/host.ts"
import * as Place from "../src/hosts/place.ts"
import * as Console from "./fixtures/console.ts"
import * as Homes from "./fixtures/homes.ts"

const read = (file: string): string => fs.readFileSync(path.join(Child.root, file), "utf8")

const page = read("docs/start/hosts.md")

/** A server that returns its variables, in place of that of the page. */
const server = path.join(Child.root, "packages/client/test/fixtures/environment.ts")

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

/** Returns the blocks of a language below a heading, up to the next heading of any level. */
const blocksOf = (heading: string, language: string, text = page): ReadonlyArray<string> => {
  const [, section = ""] = new RegExp(`^#+ ${heading}\\n(.*?)(?=^#|$(?![\\s\\S]))`, "ms").exec(text) ?? []
  return Array.from(section.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms")), ([, text = ""]) => text)
}

/** Returns the words after the name of the program, in the commands of a block. */
const commandsOf = (block: string): ReadonlyArray<ReadonlyArray<string>> =>
  block.trimEnd().split("\n").map((line) => {
    const [npx, name, ...words] = line.split(" ")
    assert.deepStrictEqual([npx, name], ["npx", "@effect-mcp/cli"])
    return words
  })

/** Returns the words without an option and its value. */
const without = (words: ReadonlyArray<string>, option: string): ReadonlyArray<string> => {
  const at = words.indexOf(option)
  return at < 0 ? words : words.toSpliced(at, 2)
}

const env = { NOTES_KEY: "the key", SEARCH_TOKEN: "the token" }

const connect = (target: McpTarget.McpTarget | undefined) =>
  McpClient.make(target ?? assert.fail("no target"), { info: { name: "page", version: "1.0.0" } })

/** Starts a server of the page, and returns the value of a variable that it has got. */
const keyOf = Effect.fnUntraced(function*(target: McpTarget.McpTarget | undefined, variable = "NOTES_KEY") {
  const client = yield* connect(target)
  const [part] = (yield* client.callTool("report")).content
  const { env }: { readonly env: Readonly<Record<string, string>> } = JSON.parse(
    part?.type === "text" ? part.text : ""
  )
  return env[variable]
})

/** Calls a server of the page, and returns the token that it has got. */
const tokenOf = Effect.fnUntraced(function*(target: McpTarget.McpTarget | undefined) {
  const client = yield* connect(target)
  const [part] = (yield* client.callTool("who")).content
  return part?.type === "text" ? part.text : undefined
})

/** The rows of the table: heading, name, and the files of a person and of a project. */
const rows = Array.from(
  page.matchAll(/^\| \[(.+?)\]\(#.+?\) +\| `(.+?)` +\| (.+?) +\| (.*?) +\|$/gm),
  ([, heading = "", name = "", person = "", project = ""]) => ({ heading, name, person, project })
)

/** Returns the cell of a table with the paths of macOS, Windows and Linux. */
const cellOf = (paths: ReadonlyArray<string>): string => {
  // The page has one form for the home of a person.
  const [first = "", ...others] = new Set(
    paths.map((file) =>
      file.startsWith("%USERPROFILE%") ? file.replace("%USERPROFILE%", "~").replaceAll("\\", "/") : file
    )
  )
  if (others.length < 2) return [first, ...others].map((file) => `\`${file}\``).join(" or ")
  const [macos, windows, linux] = [first, ...others].map((file) => `\`${file.replace(/[\\/][^\\/]+$/, "")}\``)
  return `\`${path.posix.basename(first)}\` in ${macos}, ${windows} or ${linux}`
}

layer(Console.runs, { excludeTestServices: true })("the page Hosts", (it) => {
  it.effect("has all hosts", () =>
    Effect.sync(() => assert.deepStrictEqual(rows.map(({ name }) => name), [...McpServersConfig.hosts])))

  for (const { heading, name, person, project } of rows) {
    const host = McpServersConfig.hosts.find((one) => one === name) ?? assert.fail(name)
    const [block = ""] = [...blocksOf(heading, "json"), ...blocksOf(heading, "toml")]
    const hasVariables = block.includes("NOTES_KEY")
    const hasUrl = host !== "claude-desktop"

    it.effect(
      `${heading}: the commands write the block, and its servers are started and called`,
      () =>
        Effect.gen(function*() {
          const home = yield* Homes.make
          for (const [index, words] of commandsOf(blocksOf("Hosts", "sh")[0] ?? "").entries()) {
            if (index === 1 && !hasUrl) continue
            const own = words.map((word) => word === "claude-code" ? host : word)
            const plain = hasVariables ? own : without(without(own, "--env"), "--bearer-env")
            const at = plain.indexOf("hosts") + 1
            const { exitCode, stderr } = yield* home.run(...plain.toSpliced(at, 0, "--yes", "--file", "file"))
            assert.strictEqual(exitCode, 0, stderr)
          }
          assert.strictEqual(home.read("project", "file").trimEnd(), block.trimEnd())

          const port = hasUrl ? yield* portOf(StreamableHttpServer.layerNode({ port: 0 })) : 0
          const text = block.replace("/home/ada/notes/server.ts", server)
            .replace("https://search.example.com", `http://127.0.0.1:${port}`)
          const targets = yield* McpServersConfig.parse(text, { host, env })
          assert.deepStrictEqual(Object.keys(targets), hasUrl ? ["notes", "search"] : ["notes"])
          assert.strictEqual(yield* keyOf(targets["notes"]), hasVariables ? "the key" : undefined)
          if (hasUrl) {
            const token = hasVariables ? "Bearer the token undefined" : "undefined undefined"
            assert.strictEqual(yield* tokenOf(targets["search"]), token)
          }
        }).pipe(Effect.scoped),
      timeout
    )

    it(`${heading}: the files are those of the program`, () => {
      const { files } = Host.descriptions[host]
      const paths = Host.systems.map((system) =>
        files.user === undefined ? "" : Place.shown(files.user(system), system)
      )
      assert.strictEqual(person, cellOf(paths))
      assert.strictEqual(
        project,
        files.project === undefined ? "" : `\`${Place.shown(files.project("linux"), "linux")}\``
      )
    })
  }

  it.effect("the blocks that people write by hand are read, and their servers started", () =>
    Effect.gen(function*() {
      const [, inputs = ""] = blocksOf("VS Code", "json")
      const asked = yield* McpServersConfig.parse(inputs.replace("${workspaceFolder}/server.ts", server), {
        host: "vscode",
        inputs: { "notes-key": "the key" }
      })
      assert.strictEqual(yield* keyOf(asked["notes"]), "the key")

      const [manifest = ""] = blocksOf("A bundle", "json", read("docs/servers/publish-a-server.md"))
      const bundle = JSON.parse(manifest)
      const [variable = ""] = Object.keys(bundle.server.mcp_config.env)
      const [key = ""] = Object.keys(bundle.user_config)
      const bundled = yield* McpServersConfig.decode({ mcpServers: { notes: bundle.server.mcp_config } }, {
        variables: { "__dirname": "/bundle", [`user_config.${key}`]: "the key" }
      })
      assert.strictEqual(bundled["notes"]?.description, "node /bundle/server.mjs")
      const started = JSON.stringify(bundle.server.mcp_config).replace("${__dirname}/server.mjs", server)
      const targets = yield* McpServersConfig.decode({ mcpServers: { notes: JSON.parse(started) } }, {
        variables: { [`user_config.${key}`]: "the key" }
      })
      assert.strictEqual(yield* keyOf(targets["notes"], variable), "the key")
    }).pipe(Effect.scoped), timeout)

  it.effect("the entry for Windows is what the program prints", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const [words = []] = commandsOf(blocksOf("Windows", "sh")[0] ?? "")
      const { stdout } = yield* home.run(...words)
      assert.strictEqual(stdout, blocksOf("Windows", "json")[0])
      const targets = yield* McpServersConfig.parse(stdout, { host: "claude-desktop" })
      assert.deepStrictEqual(Object.keys(targets), ["notes"])
    }).pipe(Effect.scoped), timeout)
})

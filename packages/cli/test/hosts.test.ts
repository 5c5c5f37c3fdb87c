/** The command `hosts`: what it prints, which files it writes, and which it leaves as they are. */
import { McpServersConfig } from "@effect-mcp/client/node"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Child from "../../examples/test/fixtures/child.ts"
import * as File from "../src/hosts/file.ts"
import * as Place from "../src/hosts/place.ts"
import * as Console from "./fixtures/console.ts"
import * as Homes from "./fixtures/homes.ts"
import * as Terminal from "./fixtures/terminal.ts"

const { enter } = Terminal.keys

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

/** The file of each host in the home of a person, on Linux. */
const files: Readonly<Record<McpServersConfig.Host, string>> = {
  "claude-desktop": ".config/Claude/claude_desktop_config.json",
  "claude-code": ".claude.json",
  "vscode": ".config/Code/User/mcp.json",
  "cursor": ".cursor/mcp.json",
  "codex": ".codex/config.toml",
  "gemini-cli": ".gemini/settings.json",
  "zed": ".config/zed/settings.json",
  "windsurf": ".codeium/windsurf/mcp_config.json"
}

layer(Console.runs, { excludeTestServices: true })("the command hosts", (it) => {
  it.effect("without a terminal prints the entry, and writes nothing", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      home.write("", "project", "server.ts")
      const { exitCode, stderr, stdout } = yield* home.run(
        "hosts",
        "--for",
        "cursor",
        "--",
        "node",
        "server.ts",
        "--flag"
      )
      assert.strictEqual(
        stdout,
        `{\n  "mcpServers": {\n    "server": {\n      "command": "node",\n` +
          `      "args": [${JSON.stringify(path.join(home.project, "server.ts"))}, "--flag"]\n    }\n  }\n}\n`
      )
      assert.strictEqual(
        stderr,
        `* Cursor reads this in ${home.folder}/.cursor/mcp.json\n* add --yes to write it into this file\n`
      )
      assert.deepStrictEqual([exitCode, home.list()], [0, ["project"]])

      const json = yield* home.run("hosts", "--for", "cursor", "--json", "--", "npx", "-y", "@acme/notes@1.2.3")
      assert.deepStrictEqual(JSON.parse(json.stdout), {
        host: "cursor",
        file: `${home.folder}/.cursor/mcp.json`,
        name: "notes",
        entry: { command: "npx", args: ["-y", "@acme/notes@1.2.3"] },
        written: false
      })
    }), timeout)

  it.effect(
    "the path of a file that is not built yet is absolute, and a warning names the file",
    () =>
      Effect.gen(function*() {
        const home = yield* Homes.make
        const written = (...words: ReadonlyArray<string>) =>
          Effect.map(home.run("hosts", "--for", "cursor", "--json", ...words), ({ exitCode, stderr, stdout }) => {
            assert.strictEqual(exitCode, 0, stderr)
            const { command, args }: { readonly command: string; readonly args: ReadonlyArray<string> } =
              JSON.parse(stdout).entry
            return { words: [command, ...args], warning: /^\* warning: (.*)$/m.exec(stderr)?.[1] }
          })
        const server = path.join(home.project, "dist/server.mjs")
        const warning = `there is no file ${server} yet; build it before the host starts the server`
        for (const name of ["dist/server.mjs", "./dist/server.mjs", server]) {
          assert.deepStrictEqual(yield* written("--", "node", name), { words: ["node", server], warning })
        }
        assert.deepStrictEqual(yield* written("--scope", "project", "--", "node", "dist/server.mjs"), {
          words: ["node", "${workspaceFolder}/dist/server.mjs"],
          warning
        })
        assert.deepStrictEqual((yield* written("--", "bin/server", "--port", "1")).words, [
          path.join(home.project, "bin/server"),
          "--port",
          "1"
        ])
        for (
          const words of [
            ["npx", "-y", "next.js"],
            ["npx", "-y", "@acme/notes"],
            ["docker", "run", "-i", "acme/notes:1"],
            ["node", "https://acme.example/server.mjs"]
          ]
        ) {
          assert.deepStrictEqual(yield* written("--", ...words), { words, warning: undefined })
        }
      }),
    timeout
  )

  it.effect(
    "a script of package.json is no server of a person, and one of a project has the name of its folder",
    () =>
      Effect.gen(function*() {
        const home = yield* Homes.make
        home.write(JSON.stringify({ scripts: { serve: "node server.js" } }), "project", "package.json")
        for (const words of [["npm", "start"], ["npm", "run", "serve"], ["pnpm", "serve"], ["yarn", "start"]]) {
          const { exitCode, stderr, stdout } = yield* home.run("hosts", "--for", "cursor", "--yes", "--", ...words)
          assert.deepStrictEqual([exitCode, stdout], [1, ""], stderr)
          assert.include(
            stderr,
            `error: ${words.join(" ")} runs a script of this folder, and a host starts the server in another one; ` +
              "name the program of the script, such as `-- node dist/server.mjs`, or use --scope project"
          )
        }
        assert.deepStrictEqual(home.list(), ["project"])
        const nameOf = (...words: ReadonlyArray<string>) =>
          Effect.map(home.run("hosts", "--for", "cursor", "--json", ...words), ({ stdout }) => JSON.parse(stdout).name)
        assert.strictEqual(yield* nameOf("--scope", "project", "--", "npm", "start"), "project")
        assert.strictEqual(yield* nameOf("--", "npm", "--prefix", "/srv/notes", "start"), "notes")
        assert.strictEqual(yield* nameOf("--", "pnpm", "dlx", "@acme/notes"), "notes")
        assert.strictEqual(yield* nameOf("--", "bun", "run", "/srv/one.ts"), "one")
      }),
    timeout
  )

  it.effect(
    "a word is a file of the folder, and no program or command that a file or a folder is named after",
    () =>
      Effect.gen(function*() {
        const home = yield* Homes.make
        for (const names of [["docker"], ["run", "inner"], ["bin", "start"], ["server.ts"]]) {
          home.write("", "project", ...names)
        }
        const entryOf = Effect.fnUntraced(function*(...words: ReadonlyArray<string>) {
          const { stdout } = yield* home.run("hosts", "--for", "claude-code", "--json", "--name", "one", ...words)
          const { entry } = JSON.parse(stdout)
          return [entry.command, ...entry.args ?? []]
        })
        const at = (...names: ReadonlyArray<string>) => path.join(home.project, ...names)
        const container = ["docker", "run", "-i", "server.ts"]
        assert.deepStrictEqual(yield* entryOf("--", ...container), [...container.slice(0, -1), at("server.ts")])
        assert.deepStrictEqual(yield* entryOf("--", "./docker", "./run"), [at("docker"), at("run")])
        assert.deepStrictEqual(yield* entryOf("--", "bin/start", "--flag"), [at("bin/start"), "--flag"])
        const ofProject = ["--scope", "project", "--", "./docker", "server.ts"]
        assert.deepStrictEqual(yield* entryOf(...ofProject), ["./docker", "server.ts"])
      }),
    timeout
  )

  it.effect("with --yes writes the file of each host, which only the person can read", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      for (const host of McpServersConfig.hosts) {
        const words = ["hosts", "--for", host, "--yes", "--name", "one", "--", "node", "/srv/one.js"]
        const first = yield* home.run(...words)
        assert.strictEqual(first.exitCode, 0, first.stderr)
        assert.include(first.stderr, `reads this in ${home.folder}/${files[host]}\n* written\n`)
        assert.strictEqual(home.read(files[host]), first.stdout)
        assert.deepStrictEqual(yield* McpServersConfig.names(first.stdout, { host }), ["one"])
        assert.strictEqual(fs.statSync(path.join(home.folder, files[host])).mode & 0o777, 0o600)
        const again = yield* home.run(...words)
        assert.include(again.stderr, "* the file has this entry already\n")
      }
      // No copy and no part of a file is left.
      for (const file of Object.values(files)) {
        const names = home.list(path.dirname(file)).filter((name) => /bak|tmp/.test(name))
        assert.deepStrictEqual(names, [])
      }
    }), timeout)

  it.effect(
    "writes beside a copy, and keeps everything else of the file, its mode included",
    () =>
      Effect.gen(function*() {
        const home = yield* Homes.make
        const before = `{\n  // theme\n  "theme": "x",\n  "mcpServers": {\n    "a": {}, // last\n  },\n}\n`
        const file = home.write(before, ".gemini", "settings.json")
        fs.chmodSync(file, 0o640)
        const words = ["hosts", "--for", "gemini-cli", "--name", "one", "--yes", "--", "node", "/srv/one.js"]
        const { exitCode, stderr } = yield* home.run(...words)
        assert.strictEqual(exitCode, 0, stderr)
        const after = home.read(".gemini", "settings.json")
        assert.strictEqual(
          after,
          before.replace(
            "last\n",
            `last\n    "one": {\n      "command": "node",\n      "args": ["/srv/one.js"]\n    },\n`
          )
        )
        const [copy = "", ...others] = home.list(".gemini").filter((name) => name !== "settings.json")
        assert.match(copy, /^settings\.json\.\d{4}-\d\d-\d\d\.bak$/)
        assert.deepStrictEqual(others, [])
        assert.strictEqual(home.read(".gemini", copy), before)
        for (const name of [copy, "settings.json"]) {
          assert.strictEqual(fs.statSync(path.join(home.folder, ".gemini", name)).mode & 0o777, 0o640, name)
        }

        // Another server of this name stays, until the person replaces it.
        const other = [...words.slice(0, -1), "/srv/other.js"]
        const refused = yield* home.run(...other)
        assert.strictEqual(refused.exitCode, 1)
        assert.include(
          refused.stderr,
          `error: ${file} is not changed: it has another server "one"; use --replace, or --name for another name`
        )
        assert.strictEqual(home.read(".gemini", "settings.json"), after)
        assert.strictEqual((yield* home.run("hosts", "--replace", ...other.slice(1))).exitCode, 0)
        assert.strictEqual(home.read(".gemini", "settings.json"), after.replace("/srv/one.js", "/srv/other.js"))
        // The second change of this day leaves the copy of the original, and makes none.
        assert.deepStrictEqual(home.list(".gemini"), ["settings.json", copy])
        assert.strictEqual(home.read(".gemini", copy), before)
      }),
    timeout
  )

  it.effect("in a terminal asks before it writes", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const words = ["hosts", "--for", "codex", "--name", "one", "--", "node", "/srv/one.js"]
      const declined = yield* home.start(...words)
      yield* declined.shows("command = \"node\"")
      yield* declined.answers("Write this new file?", enter)
      assert.strictEqual((yield* declined.exited).exitCode, 0)
      assert.deepStrictEqual(home.list(), ["project"])

      home.write("model = \"o9\"\n", ".codex", "config.toml")
      const accepted = yield* home.start(...words)
      yield* accepted.answers("Add it to this file?", "y")
      yield* accepted.shows("* written; the copy of the file is ")
      assert.strictEqual((yield* accepted.exited).exitCode, 0)
      assert.strictEqual(
        home.read(".codex", "config.toml"),
        "model = \"o9\"\n\n[mcp_servers.one]\ncommand = \"node\"\nargs = [\"/srv/one.js\"]\n"
      )
    }), timeout)

  it.effect(
    "with --scope project writes the file of the project, with paths for every clone",
    () =>
      Effect.gen(function*() {
        const home = yield* Homes.make
        home.write("", "project", "src", "server.ts")
        home.write("", "outside.ts")
        const words = ["--scope", "project", "--yes", "--", "node", "./src/server.ts", "../outside.ts"]
        const projectFiles = {
          "claude-code": [".mcp.json", "src/server.ts"],
          "vscode": [".vscode/mcp.json", "${workspaceFolder}/src/server.ts"],
          "cursor": [".cursor/mcp.json", "${workspaceFolder}/src/server.ts"],
          "codex": [".codex/config.toml", "src/server.ts"],
          "gemini-cli": [".gemini/settings.json", "src/server.ts"]
        } as const
        for (const [host, [file, script]] of Object.entries(projectFiles)) {
          const { exitCode, stderr } = yield* home.run("hosts", "--for", host, ...words)
          assert.strictEqual(exitCode, 0, stderr)
          const args = JSON.stringify([script, path.join(home.folder, "outside.ts")]).replace(",", ", ")
          assert.include(home.read("project", file), args)
        }
        for (const host of ["claude-desktop", "zed", "windsurf"]) {
          const { exitCode, stderr } = yield* home.run("hosts", "--for", host, ...words)
          assert.deepStrictEqual([exitCode, stderr.includes("has no file with --scope project; use --scope user")], [
            1,
            true
          ])
        }
      }),
    timeout
  )

  it.effect("follows no symbolic link, and changes no file that it cannot read", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const words = ["--name", "one", "--yes", "--", "node", "/srv/one.js"]
      const problemOf = (...options: ReadonlyArray<string>) =>
        Effect.map(home.run("hosts", ...options, ...words), ({ exitCode, stderr }) => {
          assert.strictEqual(exitCode, 1, stderr)
          return /error: (.*)\n$/.exec(stderr)?.[1]
        })

      const target = home.write("{}", "dotfiles", "mcp.json")
      fs.mkdirSync(path.join(home.folder, ".cursor"))
      fs.symlinkSync(target, path.join(home.folder, ".cursor", "mcp.json"))
      assert.strictEqual(
        yield* problemOf("--for", "cursor"),
        `${home.folder}/.cursor/mcp.json is not changed: it is a symbolic link to ${target}; ` +
          "name this file with --file to change it"
      )
      assert.strictEqual(
        yield* Effect.map(home.run("hosts", "--for", "cursor", "--file", target, ...words), ({ exitCode }) => exitCode),
        0
      )
      assert.include(home.read("dotfiles", "mcp.json"), "/srv/one.js")

      // A project that leads out of itself: its author would choose the file.
      fs.mkdirSync(path.join(home.folder, "elsewhere"))
      fs.symlinkSync(path.join(home.folder, "elsewhere"), path.join(home.project, ".vscode"))
      assert.include(
        yield* problemOf("--for", "vscode", "--scope", "project"),
        `its folder is a symbolic link to ${home.folder}/elsewhere; name a file there with --file to change it`
      )
      assert.deepStrictEqual(home.list("elsewhere"), [])

      const unreadable: ReadonlyArray<readonly [bytes: string | Buffer, problem: string]> = [
        [
          "{ \"mcpServers\": { \"a\": \"s3cr3t\" ",
          "it is not JSON: a comma or } is missing (line 1 column 33); correct it first"
        ],
        [Buffer.from([0x7b, 0xff, 0x7d]), "it is not UTF-8; add the entry by hand"],
        [" ".repeat(1_048_577), "it has more than 1048576 bytes; add the entry by hand"],
        ["[1]", "it is not an object; correct it first"]
      ]
      const file = path.join(home.folder, ".codeium", "windsurf", "mcp_config.json")
      for (const [bytes, problem] of unreadable) {
        home.write("", ".codeium", "windsurf", "mcp_config.json")
        fs.writeFileSync(file, bytes)
        assert.include(yield* problemOf("--for", "windsurf"), problem)
        assert.deepStrictEqual(fs.readFileSync(file), Buffer.from(bytes))
        assert.deepStrictEqual(home.list(".codeium", "windsurf"), ["mcp_config.json"])
      }
      fs.rmSync(file)
      fs.mkdirSync(file)
      assert.include(yield* problemOf("--for", "windsurf"), "it is not a file")
    }), timeout)

  it.effect("writes the file of Codex in the folder that CODEX_HOME names", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const program = yield* Child.program(
        process.execPath,
        [Console.program, "hosts", "--for", "codex", "--name", "one", "--yes", "--", "npx", "one"],
        { ...Child.environment, HOME: home.folder, CODEX_HOME: path.join(home.folder, "codex") }
      )
      const { exitCode, stderr } = yield* program.exited
      assert.strictEqual(exitCode, 0, stderr)
      assert.strictEqual(home.read("codex", "config.toml"), "[mcp_servers.one]\ncommand = \"npx\"\nargs = [\"one\"]\n")
      assert.deepStrictEqual(home.list(), ["codex", "project"])
    }).pipe(Effect.scoped), timeout)

  it("finds the host of a file by its path", () => {
    for (const host of McpServersConfig.hosts) assert.strictEqual(Place.hostOf(`/home/ada/${files[host]}`), host)
    assert.deepStrictEqual(
      [".mcp.json", "a/.vscode/mcp.json", "other.toml", "mcp.json", "settings.json"].map(Place.hostOf),
      ["claude-code", "vscode", "codex", undefined, undefined]
    )
  })

  it.effect("the servers of the file of a host are tried by the rules of this host", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const [command = "", calculator = ""] = Console.calculator
      fs.copyFileSync(calculator, path.join(home.folder, "calculator.js"))
      const entry = { command, args: ["$HOME/calculator.js"] }
      const file = home.write(JSON.stringify({ mcpServers: { calculator: entry } }), ".gemini", "settings.json")
      const { exitCode, stderr, stdout } = yield* home.run("call", "add", "a=1", "b=2", "--config", file)
      assert.deepStrictEqual([exitCode, stdout], [0, "3\n"], stderr)
    }), timeout)

  it.effect("writes no file that another program has changed meanwhile", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const file = home.write("{}", "mcp.json")
      const at = { file, base: home.folder }
      const before = yield* File.read(at)
      home.write("{ }", "mcp.json")
      const changed = yield* Effect.flip(File.write(at, "{ \"mcpServers\": {} }", before, false))
      assert.strictEqual(changed.message, `${file} is not changed: another program has changed it meanwhile; try again`)
      fs.rmSync(file)
      const removed = yield* Effect.flip(File.write(at, "{}", before, false))
      assert.include(removed.message, "another program has changed it meanwhile")
      assert.deepStrictEqual(home.list(), ["project"])
    }))

  it.effect("has secrets of variables only, and says what a host cannot have", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const problems: ReadonlyArray<readonly [words: ReadonlyArray<string>, problem: string]> = [
        [
          ["--for", "cursor", "--env", "KEY=s3cr3t", "--", "npx", "x"],
          "take the name of a variable of the environment"
        ],
        [["--for", "cursor", "--bearer-env", "s3cr3t.value", "--url", "https://a.example/mcp"], "and never its value"],
        [
          ["--for", "cursor", "--header", "a: s3cr3t", "--url", "https://a.example/mcp"],
          "takes no options for one, such as --header"
        ],
        [["--for", "cursor", "--url", "https://ada:s3cr3t@a.example/mcp"], "the URL contains a user or a password"],
        [["--for", "cursor", "--url", "https://a.example", "--", "npx"], "with --url or after --, but not both"],
        [["--for", "cursor", "--url", "ws://a.example"], "begins with http: or https:"],
        [["--for", "cursor"], "name the server after --"],
        [["--for", "cursor", "--name", "a b", "--", "npx", "x"], "--name takes at most 64 letters"],
        [["--for", "claude-desktop", "--url", "https://a.example/mcp"], "the file of Claude Desktop has no URLs"],
        [["--for", "zed", "--env", "KEY", "--", "npx", "x"], "Zed replaces no variables in its file"],
        [["--for", "cursor", "--system", "windows", "--yes", "--", "npx", "x"], "--yes writes a file of this machine"]
      ]
      for (const [words, problem] of problems) {
        const { exitCode, stderr, stdout } = yield* home.run("hosts", ...words)
        assert.deepStrictEqual([exitCode, stdout], [1, ""], stderr)
        assert.include(stderr, problem)
        assert.notInclude(stderr, "s3cr3t")
      }
      assert.strictEqual((yield* home.run("hosts", "--for", "emacs", "--", "npx", "x")).exitCode, 1)
      assert.deepStrictEqual(home.list(), ["project"])
    }), timeout)

  it.effect("for Windows starts scripts by cmd, and names its folders", () =>
    Effect.gen(function*() {
      const home = yield* Homes.make
      const run = (...words: ReadonlyArray<string>) => home.run("hosts", "--system", "windows", "--name", "x", ...words)
      const npx = yield* run("--for", "claude-desktop", "--", "npx", "-y", "@acme/notes")
      assert.include(npx.stdout, `"command": "cmd",\n      "args": ["/c", "npx", "-y", "@acme/notes"]`)
      assert.include(npx.stderr, "reads this in %APPDATA%\\Claude\\claude_desktop_config.json\n")
      for (const command of ["node", "C:\\tools\\notes.exe", "notes.exe"]) {
        const { stderr, stdout } = yield* run("--for", "windsurf", "--", command)
        assert.include(stdout, `"command": ${JSON.stringify(command)}`)
        assert.include(stderr, "%USERPROFILE%\\.codeium\\windsurf\\mcp_config.json")
      }
    }), timeout)
})

/** The console in scripts: one command, its output, and its exit status. */
import { Content, Tool } from "@effect-mcp/protocol"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import * as Child from "../../examples/test/fixtures/child.ts"
import * as Console from "./fixtures/console.ts"

const temporaryFile = (text: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "console-"))),
      (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
    ),
    (folder) => {
      const file = path.join(folder, "mcp.json")
      fs.writeFileSync(file, text)
      return file
    }
  )

/** Runs the console, and returns what it has printed. Fails if it has failed. */
const printed = Effect.fnUntraced(function*(words: ReadonlyArray<string>, server: ReadonlyArray<string>) {
  const { exitCode, stderr, stdout } = yield* Console.run(words, server)
  assert.strictEqual(exitCode, 0, stdout + stderr)
  return stdout.trimEnd()
})

/** Runs the console, and returns its message. Fails if it has succeeded, or has printed a result. */
const rejected = Effect.fnUntraced(function*(words: ReadonlyArray<string>, server: ReadonlyArray<string>) {
  const { exitCode, stderr, stdout } = yield* Console.run(words, server)
  assert.deepStrictEqual([exitCode, stdout], [1, ""], stderr)
  return stderr
})

const resultIn = Schema.decodeUnknownSync(Schema.fromJsonString(Tool.CallToolResult))
const listIn = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ revision: Schema.String, tools: Schema.Array(Tool.Tool) }))
)

const overStdio = (server: ReadonlyArray<string>) => Effect.succeed(server)

const calculators = {
  stdio: overStdio(Console.calculator),
  HTTP: Effect.map(Console.listening(...Console.listeningCalculator), (url) => [url])
}

const notebooks = {
  stdio: overStdio(Console.notebook),
  HTTP: Effect.map(Console.listening(...Console.listeningNotebook), (url) => [url])
}

const eras = ["2025-11-25", "2026-07-28"] as const

/** The transport of each revision. Each pair starts a dozen processes, so that not all pairs are tried. */
const transportOf = { "2025-11-25": "HTTP", "2026-07-28": "stdio" } as const

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

// The runs that are not interrupted share a process. The other tests start the program itself.
layer(Console.runs, { excludeTestServices: true })("the console in a script", (it) => {
  for (const revision of eras) {
    const transport = transportOf[revision]
    it.effect(`${revision}, ${transport}: lists the tools of a server and calls them`, () =>
      Effect.gen(function*() {
        const server = yield* calculators[transport]
        const at = ["--revision", revision]
        const list = listIn(yield* printed(["list", "--json", ...at], server))
        assert.strictEqual(list.revision, revision)
        assert.includeMembers(list.tools.map(({ name }) => name), ["add", "count", "fail"])
        for (const words of [["list", "tools"], ["tools"]]) {
          assert.include(yield* printed([...words, ...at], server), "  add(a: number, b: number)  Adds two numbers.")
        }

        const json = yield* printed(["call", "add", "{\"a\":15,\"b\":27}", "--json", ...at], server)
        assert.deepStrictEqual(resultIn(json).content, [Content.text("42")])
        assert.strictEqual(yield* printed(["call", "add", "a=15", "b=-27", ...at], server), "-12")

        const failed = yield* (yield* Console.start(["call", "fail", "message=no beads", ...at], server)).exited
        assert.deepStrictEqual([failed.exitCode, failed.stdout], [1, "the tool failed: no beads\n"])
      }).pipe(Effect.scoped), timeout)

    it.effect(
      `${revision}, ${transport}: reads resources, gets prompts and completes arguments`,
      () =>
        Effect.gen(function*() {
          const server = yield* notebooks[transport]
          const at = ["--revision", revision]
          const list = yield* printed(["list", ...at], server)
          assert.include(list, `revision ${revision}, with `)
          assert.include(list, "note:///plan  text/markdown")
          assert.include(list, "note:///{name}")
          assert.include(list, "summarize(note, style?)  Asks for a summary, and contains the note")

          assert.include(yield* printed(["read", "note:///plan", ...at], server), "  Read more, write less")
          const prompt = yield* printed(["prompt", "summarize", "note=plan", "style=as a haiku", ...at], server)
          assert.include(prompt, "user: Summarize this note as a haiku.")
          assert.strictEqual(
            yield* printed(["complete", "summarize", "style", "as a h", ...at], server),
            "as a haiku"
          )
          assert.strictEqual(yield* printed(["complete", "note:///{name}", "name", "pl", ...at], server), "plan")
          const others = yield* printed(["complete", "compare", "second", "", "first=plan", ...at], server)
          assert.notInclude(others.split("\n"), "plan")
          assert.include(others.split("\n"), "letter")
        }).pipe(Effect.scoped),
      timeout
    )

    it.effect(
      `${revision}: watches a resource until it is interrupted, and then nothing is left`,
      () =>
        Effect.gen(function*() {
          const server = yield* notebooks.HTTP
          const at = ["--revision", revision]
          const watching = yield* Console.start(["watch", "note:///plan", ...at], server)
          yield* Child.until(() => watching.stdout().includes("  Read more, write less"))
          yield* printed(["call", "write", "name=plan", "text=Stay at home.", ...at], server)
          yield* Child.until(() => watching.stdout().includes("  Stay at home."))
          watching.kill("SIGINT")
          assert.strictEqual((yield* watching.exited).exitCode, 130)
        }).pipe(Effect.scoped),
      timeout
    )

    it.effect(
      `${revision}: answers forms with the values of the command line, and declines without any`,
      () =>
        Effect.gen(function*() {
          const at = ["--revision", revision]
          const answer = ["--answer", "{\"sure\":true,\"reason\":\"wrong\"}"]
          const erased = yield* printed(["call", "erase", "name=plan", ...answer, ...at], Console.notebook)
          assert.strictEqual(erased, "The note “plan” is erased: wrong.")
          const kept = yield* Console.run(
            ["call", "erase", "name=plan", "--answer", "{\"sure\":7}", ...at],
            Console.notebook
          )
          assert.strictEqual(kept.exitCode, 1)
          assert.include(kept.stdout + kept.stderr, "the --answer of the command line does not fit the form")
          const unanswered = yield* Console.run(["call", "erase", "name=plan", ...at], Console.notebook)
          assert.strictEqual(unanswered.exitCode, 1, unanswered.stdout)
        }).pipe(Effect.scoped),
      timeout
    )

    it.effect(
      `${revision}: prints log messages apart from the result, from the given level on`,
      () =>
        Effect.gen(function*() {
          const call = ["call", "log", "level=warning", "message=the disk is full", "--revision", revision]
          const { stderr, stdout } = yield* Console.run(call, Console.calculator)
          assert.deepStrictEqual([stdout, stderr], ["logged\n", "[warning] calculator: the disk is full\n"])
          assert.strictEqual((yield* Console.run([...call, "--log-level", "error"], Console.calculator)).stderr, "")
        }).pipe(Effect.scoped),
      timeout
    )
  }

  it.effect("a call that is interrupted is cancelled, and its server ends", () =>
    Effect.gen(function*() {
      const console = yield* Console.start(["call", "count", "to=600", "delayMs=50"], Console.calculator)
      yield* Child.until(() => console.stderr().includes("5/600"))
      const [server = 0] = Child.childrenOf(console.pid)
      assert.isTrue(Child.isRunning(server))
      console.kill("SIGINT")
      const { exitCode, stderr, stdout } = yield* console.exited
      assert.deepStrictEqual([exitCode, stdout], [130, ""])
      assert.include(stderr, "server: ")
      assert.match(stderr, /count was interrupted at \d+ of 600/)
      yield* Child.until(() => !Child.isRunning(server))
    }).pipe(Effect.scoped), timeout)

  it.effect("offers its roots to the server", () =>
    Effect.gen(function*() {
      const roots = yield* printed(["call", "roots", "--root", "/home/ada"], Console.notebook)
      assert.include(roots, "file:///home/ada")
    }).pipe(Effect.scoped), timeout)

  it.effect("shows a tool with its hints, arguments and schemas", () =>
    Effect.gen(function*() {
      const shown = yield* printed(["describe", "count"], Console.calculator)
      assert.include(shown, "hints of the server: reads only, idempotent")
      assert.include(shown, "  to: integer  The number to count to")
      assert.include(shown, "\"maximum\": 10000")
    }).pipe(Effect.scoped), timeout)

  it.effect(
    "a question shows the name of the server in the file, and not the one that the server gives itself",
    () =>
      Effect.gen(function*() {
        const [command = "", ...args] = Console.notebook
        const file = yield* temporaryFile(JSON.stringify({ mcpServers: { "papers": { command, args } } }))
        const words = ["call", "erase", "name=plan", "--answer", "{\"sure\":false}", "--config", file]
        const { stderr } = yield* Console.runWith(words)
        assert.include(stderr, "papers asks: Erase the note “plan”?")
        assert.notInclude(stderr, "notebook asks")
      }).pipe(Effect.scoped),
    timeout
  )

  it.effect("finds a server in a file of another client, and sends headers to a URL", () =>
    Effect.gen(function*() {
      const url = yield* Console.listening(Child.file("../../src/notes.ts"), "0", ":memory:")
      const [command = "", ...args] = Console.calculator
      const file = yield* temporaryFile(JSON.stringify({
        mcpServers: {
          calculator: { command, args },
          notes: { url, headers: { authorization: "Bearer stranger" } },
          empty: {}
        }
      }))
      const listed = (...words: ReadonlyArray<string>) => Console.runWith(["list", "tools", "--config", file, ...words])
      assert.include((yield* listed("--server", "calculator")).stdout, "add(a: number, b: number)")
      const header = ["--header", "Authorization: Bearer adas-secret"]
      const notes = yield* listed("--server", "notes", ...header)
      assert.strictEqual(notes.exitCode, 0, notes.stderr)
      assert.strictEqual((yield* listed("--server", "notes")).exitCode, 1)
      assert.include(
        (yield* listed("--server", "nots")).stderr,
        "has no server \"nots\"; it has: calculator, notes, empty"
      )
      assert.include((yield* listed()).stderr, "name a server of ")
      assert.include(
        (yield* listed("--server", "empty")).stderr,
        "mcpServers.empty.command: the entry has neither command nor url"
      )
      const endless = `${file}.link`
      fs.symlinkSync("/dev/zero", endless)
      const { exitCode, stderr } = yield* Console.runWith(["list", "--config", endless])
      assert.strictEqual(exitCode, 1)
      assert.include(stderr, "it has more than 1048576 characters")
      assert.include(yield* printed(["list", "tools", ...header], [url]), "tools (")
    }).pipe(Effect.scoped), timeout)

  it.effect("warns of a text on standard output once, whether the server answers or not", () =>
    Effect.gen(function*() {
      const [command = "", calculator = ""] = Console.calculator
      const { stdout } = yield* Console.run(["list"], Console.calculator)
      const text = "console.log('ready'); console.log('really');"
      const warning = "warning: the server has sent a text that is no message, before its response to the handshake; " +
        "a server over stdio must print only messages to standard output: \"ready\"\n"
      const answering = yield* Console.run(["list"], [command, "-e", `${text} import(${JSON.stringify(calculator)})`])
      assert.deepStrictEqual(answering, { exitCode: 0, stdout, stderr: warning })

      const silent = yield* Console.start(["list"], [command, "-e", `${text} setInterval(() => {}, 1000)`])
      yield* Child.until(() => silent.stderr().endsWith("\n"))
      assert.strictEqual(silent.stderr(), warning)
      silent.kill("SIGINT")
      assert.strictEqual((yield* silent.exited).exitCode, 130)
    }).pipe(Effect.scoped), timeout)

  it.effect("warns of a text that a tool prints to standard output", () =>
    Effect.gen(function*() {
      for (const revision of eras) {
        const run = yield* Console.run(["call", "print", "--revision", revision], Console.printing)
        assert.deepStrictEqual(run, {
          exitCode: 0,
          stdout: "printed\n",
          stderr: "* warning: the server has sent a text that is no message: \"called\"; hosts may fail at it: a " +
            "server over stdio prints only messages to its standard output\n"
        })
      }
    }).pipe(Effect.scoped), timeout)

  it.effect("shows the lines of a server that fails at its start once", () =>
    Effect.gen(function*() {
      const program = "console.error('starting'); console.error('at line 1'); process.exit(3)"
      const stderr = yield* rejected(["list"], [process.execPath, "-e", program])
      assert.strictEqual(
        stderr,
        "server: starting\nserver: at line 1\n" +
          `error: could not connect to ${process.execPath} (2 arguments): ` +
          "the handshake failed: the peer exited with code 3\n"
      )
    }).pipe(Effect.scoped), timeout)

  it.effect("shows a wrong flag without the help, and the flags that hosts takes", () =>
    Effect.gen(function*() {
      const wrong = yield* rejected(["list", "--jsn"], Console.calculator)
      assert.match(wrong, /^error: [^\n]*--jsn[^\n]*\n\* effect-mcp list --help lists the commands and flags\n$/)
      const { stdout } = yield* Console.runWith(["hosts", "--help"])
      for (const flag of ["--for", "--scope", "--json"]) assert.include(stdout, flag)
      for (const flag of ["--header", "--config", "--server", "--root", "--answer", "--revision", "--log-level"]) {
        assert.notInclude(stdout, flag)
      }
    }).pipe(Effect.scoped), timeout)

  it.effect("says what is wrong, and what there is instead", () =>
    Effect.gen(function*() {
      const { calculator } = Console
      assert.include(yield* rejected(["call", "ad"], calculator), "no tool \"ad\"; it has add, count, crash, fail, log")
      assert.include(yield* rejected(["call", "add"], calculator), "missing arguments: a, b; give them as name=value")
      assert.include(yield* rejected(["call", "add", "a=one"], calculator), "a: enter a number")
      assert.include(yield* rejected(["read", "note:///x"], Console.notebook), "note:///x")
      assert.include(yield* rejected(["list"], ["/no/such/program"]), "could not connect to /no/such/program")
      assert.include(
        yield* rejected(["list"], ["http://127.0.0.1:1/mcp"]),
        "could not connect to http://127.0.0.1:1/mcp"
      )
      assert.include(yield* rejected(["list"], []), "name the server after --")
      assert.include(yield* rejected([], calculator), "the interactive mode needs a terminal")
      const unknown = yield* (yield* Console.start(["lst"], calculator)).exited
      assert.deepStrictEqual([unknown.exitCode, unknown.stderr.includes("lst")], [1, true])
    }).pipe(Effect.scoped), 120_000)

  it.effect(
    "shows control characters and escape sequences of a server, and never sends them to the terminal",
    () =>
      Effect.gen(function*() {
        for (
          const words of [
            ["list"],
            ["call", "attack", "--json"],
            ["call", "unknown"],
            ["read", "note:///a"],
            ["call", "attack", "--answer", "{\"text\":\"t\",\"choice\":\"one\"}"]
          ]
        ) {
          const { stderr, stdout } = yield* Console.run(words, Console.hostile)
          const output = stdout + stderr
          assert.match(output, /\\u(?:\{1b\}|001b)/, words.join(" "))
          assert.notMatch(output.replaceAll("\n", ""), /[\p{Cc}\u{202e}]/u, words.join(" "))
        }
      }).pipe(Effect.scoped),
    120_000
  )

  it.effect("says that a list is cut, which the server does not end", () =>
    Effect.gen(function*() {
      const endless = `
        let page = 0
        require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
          const { id, method } = JSON.parse(line)
          const inputSchema = { type: "object" }
          const tools = Array.from({ length: 500 }, (_, tool) => ({ name: page + "." + tool, inputSchema }))
          const result = method === "initialize"
            ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } }
            : { tools, nextCursor: String(page++) }
          if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }))
        })
      `
      const at = ["--revision", "2025-11-25"]
      const { exitCode, stderr, stdout } = yield* Console.run(["tools", ...at], [process.execPath, "-e", endless])
      assert.strictEqual(exitCode, 0)
      assert.include(stdout, "tools (5000)")
      assert.match(stderr, /^warning: a list of tools .* is cut after 5000 members: it has more than 5000 members/m)
    }).pipe(Effect.scoped), timeout)

  it.effect("explains itself", () =>
    Effect.gen(function*() {
      const { exitCode, stdout } = yield* (yield* Console.start(["--help"], [])).exited
      assert.strictEqual(exitCode, 0)
      for (const word of ["list", "call", "read", "prompt", "complete", "watch", "--revision", "--header", "--json"]) {
        assert.include(stdout, word)
      }
    }).pipe(Effect.scoped))
})

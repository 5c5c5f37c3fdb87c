/** The program as users run it, with a real server of each transport. Each transport loads modules of its own. */
import { HttpSseServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import * as identityServer from "../../auth/test/support/identityServer.ts"
import * as person from "../../auth/test/support/person.ts"
import * as HeaderServer from "../../client/test/support/headerServer.ts"
import * as ProtectedMcp from "../../client/test/support/protectedMcp.ts"
import * as Child from "../../examples/test/fixtures/child.ts"
import * as Console from "./fixtures/console.ts"
import * as PublishedProgram from "./fixtures/published.ts"
import * as Terminal from "./fixtures/terminal.ts"

class Published extends Context.Service<Published, string>()("test/Published") {}

/** Runs the published program to its end. */
const run = (...words: ReadonlyArray<string>): Effect.Effect<Child.Run, never, Published> =>
  Effect.gen(function*() {
    const program = yield* Child.program(process.execPath, [yield* Published, ...words])
    return yield* program.exited
  }).pipe(Effect.scoped)

const servers = {
  "Streamable HTTP": ["http://127.0.0.1:PORT/mcp", StreamableHttpServer.layerNode({ port: 0 })],
  "HTTP+SSE": ["http://127.0.0.1:PORT/sse", HttpSseServer.layerNode({ port: 0 })],
  "WebSocket": ["ws://127.0.0.1:PORT/mcp", WebSocketServer.layerNode({ port: 0 })]
} as const

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

layer(Layer.effect(Published, PublishedProgram.program), { excludeTestServices: true })(
  "the published program",
  (it) => {
    for (const [transport, [url, server]] of Object.entries(servers)) {
      it.effect(`calls a server over ${transport}, with a bearer token`, () =>
        Effect.gen(function*() {
          const port = yield* HeaderServer.portOf(server)
          const header = ["--header", "Authorization: Bearer the-token", "--header", "x-team: blue"]
          const at = ["--", url.replace("PORT", String(port))]
          const { exitCode, stderr, stdout } = yield* run("call", "who", ...header, ...at)
          assert.deepStrictEqual([exitCode, stdout], [0, "Bearer the-token blue\n"], stderr)
          assert.include((yield* run("list", "--json", ...at)).stdout, "\"name\":\"who\"")
        }).pipe(Effect.scoped), timeout)
    }

    it.effect("signs a person in, and uses the stored tokens afterwards", () =>
      Effect.gen(function*() {
        const program = yield* Published
        const identity = yield* identityServer.start()
        const server = yield* ProtectedMcp.start(identity)
        const words = ["--tokens", path.join(path.dirname(program), "tokens"), "--", server.url]
        const terminal = yield* Terminal.start(process.execPath, program, ...words)
        yield* terminal.shows("with your browser: ")
        yield* terminal.shows("\r\n")
        const [, address = ""] = /with your browser: (\S+)\r/.exec(terminal.written()) ?? []
        yield* Effect.promise(() => person.visit(address))
        yield* terminal.shows("* ready: ")
        yield* terminal.types(Terminal.keys.ctrlC)
        yield* terminal.exited
        const { exitCode, stderr, stdout } = yield* run("tools", ...words)
        assert.strictEqual(exitCode, 0, stderr)
        assert.include(stdout, "read()")
      }).pipe(Effect.scoped), timeout)

    it.effect("starts a server of the TOML file of Codex", () =>
      Effect.gen(function*() {
        const [command, ...args] = Console.calculator
        const file = path.join(path.dirname(yield* Published), "config.toml")
        fs.writeFileSync(file, `[mcp_servers.one]\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n`)
        const { exitCode, stderr, stdout } = yield* run("call", "add", "a=15", "b=27", "--config", file)
        assert.deepStrictEqual([exitCode, stdout], [0, "42\n"], stderr)
      }), timeout)
  }
)

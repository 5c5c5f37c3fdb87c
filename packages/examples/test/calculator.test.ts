/** The calculator as a child process that receives lines written by hand (`calculator.ts`). */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"

const calculator = await joinedProgram(Child.calculator)

const start = Child.program(process.execPath, [calculator])

const lines = (...messages: ReadonlyArray<unknown>): string =>
  messages.map((message) => `${typeof message === "string" ? message : JSON.stringify(message)}\n`).join("")

const initialize = (protocolVersion: string = Revision.latestLegacy) =>
  JsonRpc.request(0, "initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "hand", version: "1" } })

const call = (id: number, name: string, input: object, meta?: object) =>
  JsonRpc.request(id, "tools/call", { name, arguments: input, ...(meta === undefined ? undefined : { _meta: meta }) })

interface Output {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly progress: number; readonly progressToken: string }
  readonly result?: { readonly protocolVersion?: string; readonly content?: unknown; readonly isError?: boolean }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Returns the messages of standard output. Fails if a line is not a JSON-RPC message. */
const messagesIn = (stdout: string): ReadonlyArray<Output> =>
  stdout.split("\n").slice(0, -1).map((line) => {
    const frame: unknown = JSON.parse(line)
    assert.notStrictEqual(JsonRpc.classify(frame)._tag, "Malformed", line)
    // The line is a message. The tests check its members.
    return frame as Output
  })

/** Sends these messages, ends the input, and waits until the process has ended. */
const converse = Effect.fnUntraced(function*(...messages: ReadonlyArray<unknown>) {
  const program = yield* start
  program.write(lines(...messages))
  program.end()
  const run = yield* program.exited
  return { ...run, responses: messagesIn(run.stdout) }
})

const text = (text: string) => [{ type: "text", text }]

describe("calculator.ts", () => {
  it.live("[STD-08] [STD-10] answers the three lines in its header, and exits with 0", () =>
    Effect.gen(function*() {
      const header = fs.readFileSync(Child.calculator, "utf8").split("*/")[0] ?? ""
      const script = header.split("```sh")[1]?.split("```")[0]?.replaceAll(/^ \* ?/gm, "") ?? ""
      assert.include(script, "printf")
      const program = yield* Child.program("sh", ["-c", script], {
        PATH: `${process.execPath}/..:${process.env["PATH"]}`
      })
      const { exitCode, stderr, stdout } = yield* program.exited
      const responses = messagesIn(stdout)
      assert.deepStrictEqual(responses.map(({ id }) => id), [0, 1, 2])
      assert.deepStrictEqual(responses[2]?.result?.content, text("42"))
      assert.strictEqual(stderr, "")
      assert.strictEqual(exitCode, 0)
    }))

  for (const revision of Revision.legacy) {
    it.live(`[INIT-04] at ${revision}: negotiates the revision, and rejects arguments as it requires`, () =>
      Effect.gen(function*() {
        const { exitCode, responses } = yield* converse(initialize(revision), call(1, "count", { to: 0, delayMs: 0 }))
        assert.strictEqual(responses[0]?.result?.protocolVersion, revision)
        const problem = "Invalid arguments for the tool \"count\": to: Expected a value between 1 and 10000, got 0"
        assert.deepInclude(
          responses[1],
          revision === "2025-11-25"
            ? { result: { content: text(problem), isError: true } }
            : { error: { code: -32602, message: problem } }
        )
        assert.strictEqual(exitCode, 0)
      }))
  }

  it.live("[INIT-05] offers its newest revision to a client that requests an unknown one", () =>
    Effect.gen(function*() {
      const { responses } = yield* converse(initialize("1999-12-31"))
      assert.strictEqual(responses[0]?.result?.protocolVersion, Revision.latestLegacy)
    }))

  it.live("[INIT-01] rejects a request before the handshake, and accepts a handshake after it", () =>
    Effect.gen(function*() {
      const { responses } = yield* converse(
        call(7, "add", { a: 1, b: 1 }),
        initialize(),
        call(8, "add", { a: 1, b: 1 })
      )
      assert.deepStrictEqual(responses[0]?.error, { code: -32600, message: "Server not initialized" })
      assert.deepStrictEqual(responses[2]?.result?.content, text("2"))
    }))

  it.live("[STD-03] [law 7] writes only protocol messages to standard output, also after every kind of error", () =>
    Effect.gen(function*() {
      const { exitCode, responses, stderr } = yield* converse(
        initialize(),
        "this is no JSON",
        call(1, "crash", {}),
        JsonRpc.request(2, "no/such/method", undefined),
        call(3, "subtract", {}),
        call(4, "add", { a: 15, b: 27 })
      )
      const byId = (id: number) => responses.find((response) => response.id === id)
      assert.strictEqual(responses.length, 6)
      assert.deepStrictEqual(responses.find(({ id }) => id === undefined)?.error, {
        code: -32700,
        message: "Parse error"
      })
      assert.deepStrictEqual(byId(1)?.error, { code: -32603, message: "Internal error" })
      assert.strictEqual(byId(2)?.error?.code, -32601)
      assert.deepStrictEqual(byId(3)?.error, { code: -32602, message: "Unknown tool: subtract" })
      assert.deepStrictEqual(byId(4)?.result?.content, text("42"))
      assert.include(stderr, "the abacus has lost a bead")
      assert.strictEqual(exitCode, 0)
    }))

  it.live("[PRG-03] [PRG-05] writes all progress of a call in order, before its result", () =>
    Effect.gen(function*() {
      const { responses } = yield* converse(
        initialize(),
        call(1, "count", { to: 50, delayMs: 0 }, { progressToken: "t" })
      )
      const steps = responses.slice(1, -1)
      assert.deepStrictEqual(
        steps.map(({ params }) => params?.progress),
        Array.from(Array(50), (_, index) => index + 1)
      )
      assert.isTrue(steps.every(({ params }) => params?.progressToken === "t"))
      assert.deepStrictEqual(responses.at(-1)?.result?.content, text("50"))
    }))

  it.live("[CAN-04] [CAN-07] a cancellation that directly follows its request interrupts it without a response", () =>
    Effect.gen(function*() {
      const { exitCode, responses, stderr } = yield* converse(
        initialize(),
        call(1, "count", { to: 10_000, delayMs: 60_000 }),
        JsonRpc.notification("notifications/cancelled", { requestId: 1, reason: "no time" }),
        call(2, "add", { a: 15, b: 27 })
      )
      assert.deepStrictEqual(responses.map(({ id }) => id), [0, 2])
      assert.include(stderr, "count was interrupted at 0 of 10000")
      assert.strictEqual(exitCode, 0)
    }))

  it.live("at the end of its input, finishes the requests in flight and exits with 0", () =>
    Effect.gen(function*() {
      const { exitCode, responses } = yield* converse(initialize(), call(1, "count", { to: 3, delayMs: 100 }))
      assert.deepStrictEqual(responses[1]?.result?.content, text("3"))
      assert.strictEqual(exitCode, 0)
    }))

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.live(`[STD-07] after ${signal}, finishes the requests in flight and exits with 0`, () =>
      Effect.gen(function*() {
        const program = yield* start
        program.write(lines(initialize(), call(1, "count", { to: 5, delayMs: 20 }, { progressToken: 1 })))
        yield* Child.until(() => program.stdout().includes("notifications/progress"))
        program.kill(signal)
        const run = yield* program.exited
        assert.strictEqual(run.exitCode, 0)
        assert.isNull(run.signal)
        assert.deepStrictEqual(messagesIn(run.stdout).at(-1)?.result?.content, text("5"))
      }))
  }

  it.live("[STD-07] after the end of its input, SIGTERM interrupts the requests in flight, and it exits with 0", () =>
    Effect.gen(function*() {
      const program = yield* start
      program.write(lines(initialize(), call(1, "count", { to: 2, delayMs: 60_000 })))
      yield* Child.until(() => program.stdout() !== "")
      program.end()
      yield* Effect.sleep("100 millis")
      program.kill("SIGTERM")
      const run = yield* program.exited
      assert.strictEqual(run.exitCode, 0)
      assert.include(run.stderr, "count was interrupted at 0 of 2")
    }))

  it.live("[STD-07] before the handshake, SIGTERM ends the process with 0", () =>
    Effect.gen(function*() {
      const program = yield* start
      // The server writes nothing before it receives a line. Its response to a malformed line shows that it runs.
      program.write("?\n")
      yield* Child.until(() => program.stdout() !== "")
      program.kill("SIGTERM")
      assert.deepInclude(yield* program.exited, { exitCode: 0, signal: null })
    }))
})

describe.concurrent("calculator.ts with invalid options", () => {
  for (
    const [args, problem] of [
      [["--http", "x"], /^--http: expected a port between 0 and 65535, but got "x"\n$/],
      [["--ws", "65536"], /^--ws: expected a port between 0 and 65535, but got "65536"\n$/],
      [["--unix"], /^.*--unix.*\n$/],
      [["--bogus"], /^.*--bogus.*\n$/],
      [["3000"], /^.*3000.*\n$/]
    ] satisfies ReadonlyArray<[Array<string>, RegExp]>
  ) {
    it.live(`prints one line about the option, and exits with 2: ${args.join(" ")}`, () =>
      Effect.gen(function*() {
        const program = yield* Child.program(process.execPath, [calculator, ...args])
        const run = yield* program.exited
        assert.strictEqual(run.exitCode, 2)
        assert.match(run.stderr, problem)
        assert.strictEqual(run.stdout, "")
      }))
  }
})

import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import { StdioServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as PlatformError from "effect/PlatformError"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { joinedProgram } from "../../../../scripts/joinedProgram.ts"
import { fixture, until } from "../support/process.ts"

const message = (data: unknown) => ({ jsonrpc: "2.0", method: "notifications/message", params: { data } }) as const

const outbound = (data: unknown): Transport.Outbound => ({ message: message(data), replyTo: undefined, last: false })

const program = await joinedProgram(fixture("stdioServer.ts"))

/** Starts the fixture as a child process, and records its output. */
const start = (...flags: ReadonlyArray<string>) => startNode(program, ...flags)

const startFixture = (name: string, ...flags: ReadonlyArray<string>) => startNode(fixture(name), ...flags)

const startNode = Effect.fnUntraced(function*(...flags: ReadonlyArray<string>) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [...flags])),
    (running) => Effect.sync(() => running.kill("SIGKILL"))
  )
  return yield* Effect.sync(() => new Server(child))
})

class Server {
  stdout = ""
  stderr = ""
  exit: { readonly code: number | null; readonly signal: string | null } | undefined
  readonly child: ChildProcessWithoutNullStreams

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text
    })
    child.stdin.on("error", () => {})
    child.on("exit", (code, signal) => {
      this.exit = { code, signal }
    })
  }

  /** The messages on standard output. Any other output throws. */
  get messages(): ReadonlyArray<unknown> {
    return this.stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
  }

  readonly ready = until(() => this.stdout.includes("\n"))
  readonly exited = until(() => this.exit !== undefined)
  readonly closed = until(() => this.exit !== undefined && this.child.stdout.closed && this.child.stderr.closed)
}

describe.concurrent("a server process", () => {
  it.live("[STD-10] responds to the messages before the end of input, and exits with 0", () =>
    Effect.gen(function*() {
      const server = yield* start()
      server.child.stdin.end("{\"id\":1}\nnpm warn\n{\"id\":2}")
      yield* server.closed
      assert.deepStrictEqual(server.messages, [
        message("ready"),
        message({ id: 1 }),
        message({ _tag: "NotJson", text: "npm warn" }),
        message({ id: 2 })
      ])
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
      assert.strictEqual(server.stderr, "")
    }))

  it.live("exits when its program ends, although its input is open, and first writes what it has sent", () =>
    Effect.gen(function*() {
      const server = yield* start("flood", "leave")
      yield* server.ready
      server.child.stdout.pause()
      yield* Effect.sleep("200 millis")
      server.child.stdout.resume()
      yield* server.closed
      assert.strictEqual(server.messages.length, 2)
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  it.live("[law 2] keeps its process alive no longer than its connection, also without `runMain`", () =>
    Effect.gen(function*() {
      const server = yield* start("plain", "interrupt")
      yield* server.closed
      assert.deepStrictEqual(server.messages, [message("ready")])
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  it.live("has one session: the second connect fails with InUse", () =>
    Effect.gen(function*() {
      const server = yield* start("twice", "leave")
      yield* server.closed
      assert.deepStrictEqual(server.messages, [message("ready"), message("InUse")])
    }))

  it.live("exits with 0 after SIGTERM and SIGINT, after its finalizers have run", () =>
    Effect.gen(function*() {
      yield* Effect.forEach(["SIGTERM", "SIGINT"] as const, (signal) =>
        Effect.gen(function*() {
          const server = yield* start("slow")
          yield* server.ready
          server.child.kill(signal)
          yield* server.closed
          assert.deepStrictEqual(server.exit, { code: 0, signal: null })
          assert.include(server.stderr, "finalized")
        }), { concurrency: 2 })
    }))

  it.live("[STD-03] tells a person in a terminal, and no other client, what it is, on standard error", () =>
    Effect.gen(function*() {
      // The test has no terminal. This is how the program would see one.
      const preload = "data:text/javascript,process.stdin.isTTY = true"
      const server = yield* startNode("--import", preload, fixture("stdioServer.ts"), "leave")
      yield* server.closed
      assert.deepStrictEqual(server.messages, [message("ready")])
      assert.strictEqual(
        server.stderr,
        "This MCP server reads messages from standard input, one JSON text on each line, and writes them to standard " +
          "output. MCP clients start it themselves; to stop it here, press Ctrl+C or Ctrl+D.\n"
      )
      const piped = yield* start("leave")
      yield* piped.closed
      assert.strictEqual(piped.stderr, "")
    }))

  it.live("logs a failure on standard error, and exits with 1", () =>
    Effect.gen(function*() {
      const server = yield* start("fail")
      yield* server.closed
      assert.deepStrictEqual(server.messages, [message("ready")])
      assert.include(server.stderr, "the reason")
      assert.deepStrictEqual(server.exit, { code: 1, signal: null })
    }))

  it.live("[STD-03] writes only messages to standard output, and all logs to standard error, at any time", () =>
    Effect.gen(function*() {
      const server = yield* start("noise", "leave")
      yield* server.closed
      assert.deepStrictEqual(server.messages, [message("ready")])
      const expected = ["log", "info", "debug", "warn", "error"].map((name) => `console.${name}`).concat(
        "dir: 1",
        "table",
        "trace",
        "group",
        "count: ",
        "assert",
        "time: ",
        "a reference taken before",
        "Effect.log",
        "Console.log"
      )
      for (const entry of expected) {
        // Before, during and after the connection.
        assert.isAtLeast(server.stderr.split(entry).length - 1, 3, entry)
      }
    }))

  it.live("fails with WriteFailed after its client has closed the pipe", () =>
    Effect.gen(function*() {
      const server = yield* start("push")
      yield* server.ready
      server.child.stdout.destroy()
      yield* until(() => server.exit !== undefined && server.child.stderr.closed)
      assert.strictEqual(server.stderr, "WriteFailed: writing to the peer failed: write EPIPE\n")
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  it.live("exits within closeTimeout if its client does not read", () =>
    Effect.gen(function*() {
      const server = yield* start("flood", "leave", "impatient")
      server.child.stdout.pause()
      yield* server.exited
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  it.live("exits within shutdownTimeout if a finalizer hangs", () =>
    Effect.gen(function*() {
      const server = yield* start("hang")
      yield* server.ready
      server.child.kill("SIGTERM")
      yield* Effect.sleep("100 millis")
      server.child.kill("SIGTERM")
      yield* server.closed
      assert.include(server.stderr, "the program has not ended 0.5 s after the signal: exiting with code 1")
      assert.deepStrictEqual(server.exit, { code: 1, signal: null })
    }))
})

const modern = (id: number, method: string, params: object) =>
  JsonRpc.request(id, method, {
    ...params,
    _meta: RequestMetadata.write({
      protocolVersion: "2026-07-28",
      clientCapabilities: {},
      clientInfo: undefined,
      logLevel: undefined
    })
  })

/** Starts a server whose tool never ends, and calls the tool. */
const startHanging = Effect.fnUntraced(function*(gracefulTimeout: number) {
  const server = yield* startFixture("hangingHandlerServer.ts", String(gracefulTimeout))
  const initialize = JsonRpc.request(0, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1.0.0" }
  })
  for (const request of [initialize, JsonRpc.request(1, "tools/call", { name: "x" })]) {
    server.child.stdin.write(`${JSON.stringify(request)}\n`)
  }
  yield* until(() => server.stderr.includes("started"))
  return server
})

describe.concurrent("a server process with a call in flight", () => {
  it.live("interrupts its handler `gracefulTimeout` after the first signal, also if the session allows more", () =>
    Effect.gen(function*() {
      const server = yield* startHanging(50)
      server.child.kill("SIGTERM")
      yield* server.closed
      assert.strictEqual(server.stderr, "started\nsignal\ninterrupted\n")
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  it.live("interrupts its handler at once after a second signal", () =>
    Effect.gen(function*() {
      const server = yield* startHanging(600_000)
      server.child.kill("SIGTERM")
      yield* until(() => server.stderr.includes("signal"))
      server.child.kill("SIGTERM")
      yield* server.closed
      assert.strictEqual(server.stderr, "started\nsignal\nsignal\ninterrupted\n")
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  // The session allows its handlers 10 minutes, and the test has less.
  it.live("interrupts its handler soon after the end of input, and first sends the replies of others", () =>
    Effect.gen(function*() {
      const server = yield* startHanging(600_000)
      server.child.stdin.end(`${JSON.stringify(JsonRpc.request(2, "tools/call", { name: "soon" }))}\n`)
      yield* server.closed
      assert.strictEqual(server.stderr, "started\ninterrupted\n")
      assert.deepStrictEqual(server.messages.slice(1), [
        JsonRpc.success(2, { content: [{ type: "text", text: "soon" }] })
      ])
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  it.live("does so in revision 2026-07-28, with an open stream of notifications, which ends with a result", () =>
    Effect.gen(function*() {
      const server = yield* startFixture("hangingHandlerServer.ts", "600000")
      const write = (sent: JsonRpc.Message) => server.child.stdin.write(`${JSON.stringify(sent)}\n`)
      write(modern(1, "subscriptions/listen", { notifications: { toolsListChanged: true } }))
      write(modern(2, "tools/call", { name: "x" }))
      yield* until(() => server.stderr.includes("started") && server.stdout.includes("acknowledged"))
      server.child.stdin.end(`${JSON.stringify(modern(3, "tools/call", { name: "soon" }))}\n`)
      yield* server.closed
      assert.strictEqual(server.stderr, "started\ninterrupted\n")
      const ids = server.messages.map((sent) => Predicate.hasProperty(sent, "id") ? sent.id : "none")
      assert.sameMembers(ids, ["none", 1, 3])
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))

  it.live("serves calls of both eras beside each other, and cancels each by its id without a reply", () =>
    Effect.gen(function*() {
      const server = yield* startHanging(50)
      const write = (sent: JsonRpc.Message) => server.child.stdin.write(`${JSON.stringify(sent)}\n`)
      const seen = (event: string) => server.stderr.split(event).length - 1
      write(modern(2, "tools/call", { name: "x" }))
      yield* until(() => seen("started") === 2)
      write(JsonRpc.notification("notifications/cancelled", { requestId: 2 }))
      yield* until(() => seen("interrupted") === 1)
      write(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* until(() => seen("interrupted") === 2)
      write(modern(3, "server/discover", {}))
      server.child.stdin.end()
      yield* server.closed
      assert.deepStrictEqual(
        server.messages.map((message) =>
          typeof message === "object" && message !== null && "id" in message && message.id
        ),
        [0, 3]
      )
      assert.deepStrictEqual(server.exit, { code: 0, signal: null })
    }))
})

describe("over any standard streams", () => {
  const connectTo = (stdio: Partial<Stdio.Stdio>) =>
    Effect.flatMap(Transport.Transport, (transport) => transport.connect).pipe(
      Effect.provide(Layer.provide(StdioServer.layer(), Stdio.layerTest(stdio)))
    )

  const bytes = (text: string) => new TextEncoder().encode(text)

  it.live("the connection can send after the end of input", () =>
    Effect.gen(function*() {
      const written: Array<string> = []
      const scope = yield* Scope.make()
      const connection = yield* Scope.provide(
        connectTo({
          stdin: Stream.make(bytes("1\n{\"a\""), bytes(":2}\n3")),
          stdout: () =>
            Sink.forEach((chunk) => Effect.sync(() => written.push(new TextDecoder().decode(asBytes(chunk)))))
        }),
        scope
      )
      const frames: Array<unknown> = []
      const end = yield* connection.run((inbound) => frames.push(inbound))
      assert.deepStrictEqual(frames, [
        { frame: Result.succeed(1), bytes: 1 },
        { frame: Result.succeed({ a: 2 }), bytes: 7 },
        { frame: Result.succeed(3), bytes: 1 }
      ])
      assert.deepStrictEqual(end, { exit: undefined, writable: true })
      yield* connection.send(outbound("one"))
      yield* connection.send(outbound("two"))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(written.join(""), `${JSON.stringify(message("one"))}\n${JSON.stringify(message("two"))}\n`)
    }))

  it.live("maxMessageBytes and maxMessageNodes limit the messages that it reads", () =>
    Effect.gen(function*() {
      const stdin = Stream.make(bytes("\"12345678\"\n[[[]]]\n1\n"))
      const transport = yield* StdioServer.make({ maxMessageBytes: 8, maxMessageNodes: 2 }).pipe(
        Effect.provide(Stdio.layerTest({ stdin }))
      )
      const connection = yield* transport.connect
      const frames: Array<unknown> = []
      yield* connection.run((inbound) => frames.push(inbound.frame))
      assert.deepStrictEqual(frames, [
        Result.fail({ _tag: "TooLarge", limitBytes: 8 }),
        Result.fail({ _tag: "TooComplex", nodes: 3, limitNodes: 2 }),
        Result.succeed(1)
      ])
    }).pipe(Effect.scoped))

  it.live("[STD-03] the console is restored after the last connection has closed", () =>
    Effect.gen(function*() {
      const before = Object.getOwnPropertyDescriptor(console, "_stdout")
      const first = yield* Scope.make()
      const second = yield* Scope.make()
      yield* Scope.provide(connectTo({}), first)
      yield* Scope.provide(connectTo({}), second)
      assert.strictEqual(Reflect.get(console, "_stdout"), process.stderr)
      yield* Scope.close(first, Exit.void)
      assert.strictEqual(Reflect.get(console, "_stdout"), process.stderr)
      yield* Scope.close(second, Exit.void)
      assert.deepStrictEqual(Object.getOwnPropertyDescriptor(console, "_stdout"), before)
    }))

  it.live("input that breaks fails with the system's error", () =>
    Effect.gen(function*() {
      const broken = PlatformError.systemError({
        _tag: "Unknown",
        module: "Stdio",
        method: "stdin",
        cause: new Error("read EIO")
      })
      const connection = yield* connectTo({ stdin: Stream.concat(Stream.make(bytes("1\n")), Stream.fail(broken)) })
      const frames: Array<unknown> = []
      const error = yield* Effect.flip(connection.run((inbound) => frames.push(inbound.frame)))
      assert.strictEqual(error.message, "reading from the peer failed: read EIO")
      assert.deepStrictEqual(frames, [Result.succeed(1)])
    }).pipe(Effect.scoped))
})

const asBytes = (chunk: string | Uint8Array): Uint8Array =>
  typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk

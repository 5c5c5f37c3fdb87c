import type { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { Transport, type TransportError } from "@effect-mcp/session"
import { ClientAuthorization, StdioClient } from "@effect-mcp/transport/node"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import * as Person from "../support/person.ts"
import { fixture, isRunning, until } from "../support/process.ts"

type Options = Partial<StdioClient.Options>

/** Returns the options of a client of the scripted peer, which behaves as its flags say. */
const peer = (flags: ReadonlyArray<string>, options?: Options): StdioClient.Options => ({
  command: process.execPath,
  args: [fixture("stdioPeer.mjs"), ...flags],
  ...options
})

const connectTo = (options: StdioClient.Options) =>
  Effect.flatMap(Transport.Transport, (transport) => transport.connect).pipe(
    Effect.provide(StdioClient.layerNode(options))
  )

type Frame = Transport.Inbound["frame"]

const Processes = Schema.Struct({ pid: Schema.Int, child: Schema.optionalKey(Schema.Int) })
const ProcessContext = Schema.Struct({ environment: Schema.Record(Schema.String, Schema.String), cwd: Schema.String })
const Message = Schema.Struct({ params: Schema.Struct({ data: Schema.String }) })

/** Opens a connection in its own scope, runs it, and waits for the first message of the peer. */
const start = Effect.fnUntraced(function*(flags: ReadonlyArray<string>, options?: Options) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const connection = yield* Scope.provide(connectTo(peer(flags, options)), scope)
  const frames: Array<Frame> = []
  const reading = yield* Effect.forkChild(connection.run((inbound) => frames.push(inbound.frame)))
  yield* until(() => frames.length > 0)
  const { child, pid } = yield* Schema.decodeUnknownEffect(Processes)(messages(frames)[0])
  return { connection, frames, reading, pid, child: child ?? -1, close: Scope.close(scope, Exit.void) }
})

/** Timeouts that expire during a test. */
const quick: Options = { exitTimeout: "150 millis", terminateTimeout: "150 millis" }

/** Timeouts that no test reaches. */
const patient: Options = { exitTimeout: "1 minute", terminateTimeout: "1 minute" }

const messages = (frames: ReadonlyArray<Frame>): ReadonlyArray<unknown> =>
  frames.filter(Result.isSuccess).map((frame) => frame.success)

const notification = (data: unknown): JsonRpc.Notification => ({
  jsonrpc: "2.0",
  method: "notifications/message",
  params: { data }
})

const outbound = (message: JsonRpc.Message): Transport.Outbound => ({ message, replyTo: undefined, last: false })

const exitReport = (reading: Fiber.Fiber<Transport.End, TransportError.TransportError>) =>
  Effect.map(Fiber.join(reading), ({ exit }): CloseReason.ProcessExit | undefined => exit)

/** Waits in real time, also if a test clock stands still. */
const realTime = (millis: number) => Effect.promise(() => new Promise((resolve) => setTimeout(resolve, millis)))

describe.concurrent("an authorization", () => {
  it.live("[HTTP-16] that is provided to the client has no part in its connection", () =>
    Effect.gen(function*() {
      const { authorization, servers } = Person.make()
      const ended = yield* Effect.flatMap(
        connectTo(peer(["exit=0"])),
        (connection) => connection.run(() => {})
      ).pipe(Effect.scoped, Effect.provideService(ClientAuthorization.ClientAuthorization, authorization))
      assert.strictEqual(ended.exit?.exitCode, 0)
      assert.deepStrictEqual(servers, [])
    }))
})

describe.concurrent("messages", () => {
  it.live("[STD-02] [STD-04] are written to the child's input and read from its output, one on each line", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"])
      const sent = [notification("one"), notification("two\nlines"), notification("漢😀")]
      for (const message of sent) yield* connection.send(outbound(message))
      yield* until(() => frames.length === 4)
      assert.deepStrictEqual(messages(frames).slice(1), sent)
      yield* close
    }))

  it.live("that arrive before `run` are kept for it", () =>
    Effect.gen(function*() {
      const connection = yield* connectTo(peer(["stray", "exit=0"]))
      yield* Effect.sleep("300 millis")
      const frames: Array<unknown> = []
      yield* connection.run((inbound) => frames.push(inbound.frame))
      assert.strictEqual(frames.length, 3)
    }).pipe(Effect.scoped))

  it.live("are exchanged over any ChildProcessSpawner", () =>
    Effect.gen(function*() {
      const connection = yield* Effect.flatMap(Transport.Transport, (transport) => transport.connect)
      const end = yield* connection.run(() => {})
      assert.strictEqual(end.exit?.exitCode, 0)
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.provide(StdioClient.layer(peer(["exit=0"])), NodeServices.layer))
    ))

  it.live("of each connection go to another process", () =>
    Effect.gen(function*() {
      const transport = yield* Transport.Transport
      const first = yield* transport.connect
      const second = yield* transport.connect
      const frames: Array<unknown> = []
      yield* first.run((inbound) => frames.push(inbound.frame))
      yield* second.run((inbound) => frames.push(inbound.frame))
      assert.strictEqual(new Set(frames.map((frame) => JSON.stringify(frame))).size, 2)
    }).pipe(Effect.scoped, Effect.provide(StdioClient.layerNode(peer(["exit=0"])))))

  it.live("[law 7] are read between lines that are not JSON, which are delivered as failed frames", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["stray", "echo"])
      yield* connection.send(outbound(notification("after")))
      yield* until(() => frames.length === 4)
      assert.deepStrictEqual<ReadonlyArray<Frame>>(frames.slice(1), [
        Result.fail({ _tag: "NotJson", text: "npm warn deprecated" }),
        Result.fail({ _tag: "NotJson", text: "{\"half\":" }),
        Result.succeed(notification("after"))
      ])
      yield* close
    }))

  it.live("of 5 MB are sent and received", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"], { maxMessageBytes: 6_000_000 })
      const message = notification("x".repeat(5_000_000))
      yield* connection.send(outbound(message))
      yield* until(() => frames.length === 2)
      assert.deepStrictEqual(messages(frames)[1], message)
      yield* close
    }))

  it.live("above maxMessageBytes are reported, and the next one is delivered", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"], { maxMessageBytes: 1_000 })
      yield* connection.send(outbound(notification("x".repeat(1_000))))
      yield* connection.send(outbound(notification("short")))
      yield* until(() => frames.length === 3)
      assert.deepStrictEqual<ReadonlyArray<Frame>>(frames.slice(1), [
        Result.fail({ _tag: "TooLarge", limitBytes: 1_000 }),
        Result.succeed(notification("short"))
      ])
      yield* close
    }))

  it.live("law 12: with more nodes than maxMessageNodes are reported, and the next one is delivered", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"], { maxMessageNodes: 100 })
      yield* connection.send(outbound(notification(Array.from({ length: 100 }, () => []))))
      yield* connection.send(outbound(notification("short")))
      yield* until(() => frames.length === 3)
      const [, failed, short] = frames
      assert.isTrue(failed !== undefined && Result.isFailure(failed) && failed.failure._tag === "TooComplex")
      assert.deepStrictEqual<Frame | undefined>(short, Result.succeed(notification("short")))
      yield* close
    }))

  it.live("that JSON cannot represent fail with Unserializable, and the next one is sent", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"])
      const error = yield* Effect.flip(connection.send(outbound(notification(1n))))
      assert.strictEqual(error.reason._tag, "Unserializable")
      yield* connection.send(outbound(notification("after")))
      yield* until(() => frames.length === 2)
      assert.deepStrictEqual(messages(frames)[1], notification("after"))
      yield* close
    }))

  it.live("[law 12] wait for a child that does not read yet, and all arrive in order", () =>
    Effect.gen(function*() {
      const { close, connection, frames, pid } = yield* start(["echo", "delay-reading"], patient)
      const sending = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 100 }, (_, index) => notification(`${index} ${"x".repeat(60_000)}`)),
          (message) => connection.send(outbound(message)),
          { discard: true }
        )
      )
      yield* Effect.sleep("100 millis")
      assert.isUndefined(sending.pollUnsafe(), "six million bytes exceed the buffer")
      process.kill(pid, "SIGUSR2")
      yield* Fiber.join(sending)
      yield* until(() => frames.length === 101)
      const numbers = messages(frames).slice(1).map((message) =>
        parseInt(Schema.decodeUnknownSync(Message)(message).params.data)
      )
      assert.deepStrictEqual(numbers, Array.from({ length: 100 }, (_, index) => index))
      yield* close
    }))
})

describe("the environment of the child", () => {
  const environmentOf = Effect.fnUntraced(function*(options: Options) {
    const { close, frames } = yield* start(["environment"], options)
    yield* until(() => frames.length === 2)
    yield* close
    return yield* Schema.decodeUnknownEffect(ProcessContext)(messages(frames)[1])
  })

  const withVariables = (variables: Record<string, string>) =>
    Effect.acquireRelease(
      Effect.sync(() => Object.assign(process.env, variables)),
      () => Effect.sync(() => Object.keys(variables).forEach((name) => Reflect.deleteProperty(process.env, name)))
    )

  it.live("contains the inherited variables and those of the options, and no secrets", () =>
    Effect.gen(function*() {
      yield* withVariables({ SECRET: "token", USER: "ada", TERM: "() { echo shell; }" })
      const { cwd, environment } = yield* environmentOf({ env: { NOTES: "/notes" }, cwd: "/" })
      assert.strictEqual(cwd, "/")
      assert.strictEqual(environment["NOTES"], "/notes")
      assert.strictEqual(environment["USER"], "ada")
      assert.strictEqual(environment["PATH"], process.env["PATH"])
      assert.isUndefined(environment["SECRET"])
      assert.isUndefined(environment["TERM"])
      for (const name of Object.keys(environment)) {
        assert.include([...StdioClient.inheritedVariables, "NOTES", "__CF_USER_TEXT_ENCODING"], name)
      }
    }).pipe(Effect.scoped))

  it.live("contains the variables that inheritEnv selects: some, all or none", () =>
    Effect.gen(function*() {
      yield* withVariables({ SECRET: "token", BASH_FUNC: "() { echo shell; }" })
      const some = yield* environmentOf({ inheritEnv: ["SECRET", "BASH_FUNC", "MISSING"] })
      assert.deepStrictEqual(some.environment, { SECRET: "token" })
      const all = yield* environmentOf({ inheritEnv: true, env: { PATH: undefined } })
      assert.strictEqual(all.environment["SECRET"], "token")
      assert.isUndefined(all.environment["PATH"])
      assert.isUndefined(all.environment["BASH_FUNC"])
      const none = yield* environmentOf({ inheritEnv: false })
      assert.deepStrictEqual(none.environment, {})
    }).pipe(Effect.scoped))
})

describe.concurrent("the end of a connection", () => {
  it.live("connect fails with the command line if the command does not exist", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(connectTo({ command: "no-such-server", args: ["--root", "my notes"] }))
      assert.strictEqual(error.reason._tag, "ConnectFailed")
      assert.include(error.message, "no-such-server --root 'my notes'")
      assert.include(error.message, "ENOENT")
    }).pipe(Effect.scoped))

  it.live("the error of connect shows no redacted argument", () =>
    Effect.gen(function*() {
      const args = ["--token", Redacted.make("secret")]
      const error = yield* Effect.flip(connectTo({ command: "no-such-server", args }))
      assert.include(error.message, "no-such-server --token")
      assert.notInclude(error.message, "secret")
    }).pipe(Effect.scoped))

  it.live("the error of connect shows the description, and no secrets of the options", () =>
    Effect.gen(function*() {
      const options = { args: ["--key=abcd-1234"], description: "the notes", secrets: ["/no/such/ada", "efgh-5678"] }
      const unknown = yield* Effect.flip(connectTo({ command: "no-such-server", ...options }))
      assert.include(unknown.message, "the notes")
      assert.notInclude(JSON.stringify(unknown) + unknown.message, "abcd-1234")
      const nowhere = yield* Effect.flip(connectTo(peer([], { ...options, cwd: "/no/such/ada" })))
      assert.notInclude(JSON.stringify(nowhere) + nowhere.message, "/no/such/ada")
      const lines: Array<string> = []
      const { reading } = yield* start(["complain=1", "exit=0"], {
        secrets: [Redacted.make("complaint")],
        stderr: (line) => void lines.push(line)
      })
      assert.deepStrictEqual((yield* exitReport(reading))?.stderr, ["<redacted> 1"])
      assert.deepStrictEqual(lines, ["<redacted> 1"])
    }).pipe(Effect.scoped))

  it.live("connect fails if the working directory does not exist", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(connectTo(peer([], { cwd: "/no/such/folder" })))
      assert.strictEqual(error.reason._tag, "ConnectFailed")
      assert.include(error.message, "/no/such/folder")
    }).pipe(Effect.scoped))

  it.live("[STD-08] the exit report has the exit code and the last lines of standard error", () =>
    Effect.gen(function*() {
      const { reading } = yield* start(["complain=30", "exit=3"])
      const exit = yield* exitReport(reading)
      assert.strictEqual(exit?.exitCode, 3)
      assert.isUndefined(exit?.signal)
      assert.deepStrictEqual(exit?.stderr, Array.from({ length: 20 }, (_, index) => `complaint ${index + 11}`))
    }))

  it.live("the exit report has the signal that ended the child", () =>
    Effect.gen(function*() {
      const { reading } = yield* start(["exit=SIGKILL"])
      assert.deepStrictEqual(yield* exitReport(reading), { exitCode: undefined, signal: "SIGKILL", stderr: [] })
    }))

  it.live("a message to a child that has exited fails with the exit report", () =>
    Effect.gen(function*() {
      const { connection, reading } = yield* start(["complain=1", "exit=7"])
      yield* Fiber.join(reading)
      const error = yield* connection.send(outbound(notification("hello"))).pipe(
        Effect.andThen(Effect.sleep("1 millis")),
        Effect.forever,
        Effect.flip
      )
      assert.deepStrictEqual(error.reason, {
        _tag: "PeerEnded",
        exit: { exitCode: 7, signal: undefined, stderr: ["complaint 1"] }
      })
    }))

  it.live("a message to a child that has closed its input fails with the system's error", () =>
    Effect.gen(function*() {
      const { close, connection } = yield* start(["close-input"], quick)
      const error = yield* connection.send(outbound(notification("hello"))).pipe(
        Effect.andThen(Effect.sleep("1 millis")),
        Effect.forever,
        Effect.flip
      )
      assert.strictEqual(error.reason._tag, "WriteFailed")
      assert.include(error.message, "EPIPE")
      yield* close
    }))

  it.live("[law 1] run ends after the child's exit although another process of its group holds the output open", () =>
    Effect.gen(function*() {
      const { child, close, frames, reading } = yield* start(
        ["exit=0", "complain=1", "leave-child", "never-read", "ignore-end"],
        quick
      )
      yield* Fiber.join(reading)
      assert.deepStrictEqual(messages(frames)[1], { pid: child })
      assert.deepStrictEqual(yield* exitReport(reading), { exitCode: 0, signal: undefined, stderr: ["complaint 1"] })
      assert.isTrue(isRunning(child))
      yield* close
      assert.isFalse(isRunning(child))
    }))

  it.live("[law 1] run ends after the child's exit although another process of its group keeps writing", () =>
    Effect.gen(function*() {
      const { child, close, reading } = yield* start(["exit=0", "leave-child", "chatter"], quick)
      yield* Fiber.join(reading)
      yield* close
      assert.isFalse(isRunning(child))
    }))
})

describe.concurrent("standard error", () => {
  it.live("[STD-05] is read without a receiver, so that a child never waits for a reader", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["flood-stderr=4", "echo"])
      yield* connection.send(outbound(notification("after")))
      yield* until(() => frames.length === 2)
      yield* close
    }))

  it.live("is read to its last line, also if the child writes it during the shutdown", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const program = `process.stdin.resume().on("end", () => {
        for (let line = 1; line <= 100; line++) process.stderr.write("line " + line + "\\n")
        process.kill(process.pid, "SIGKILL")
      })`
      yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.scoped(connectTo({
          command: process.execPath,
          args: ["-e", program],
          stderr: (line) => void lines.push(line),
          ...patient
        })), { concurrency: "unbounded" })
      assert.strictEqual(lines.filter((line) => line === "line 100").length, 20)
    }))

  it.live("[STD-05] [STD-06] is passed to a function line by line, and is never a failure", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { reading } = yield* start(["complain=3", "exit=0"], { stderr: (line) => void lines.push(line) })
      assert.strictEqual((yield* exitReport(reading))?.exitCode, 0)
      assert.deepStrictEqual(lines, ["complaint 1", "complaint 2", "complaint 3"])
    }))

  it.live("law 12: is passed to a function in turns of 256 lines", () =>
    Effect.gen(function*() {
      let lines = 0
      let inTurn = 0
      let mostInTurn = 0
      yield* start(["complain=20000"], {
        stderr: () => {
          if (inTurn++ === 0) {
            setImmediate(() => {
              inTurn = 0
            })
          }
          mostInTurn = Math.max(mostInTurn, inTurn)
          lines++
        }
      })
      yield* until(() => lines === 20_000)
      assert.isAtMost(mostInTurn, 256)
    }))

  it.live("is no longer passed to a function that throws, which is logged", () =>
    Effect.gen(function*() {
      let calls = 0
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logged.push(message))
      const { reading } = yield* start(["complain=3", "exit=0"], {
        stderr: () => {
          calls++
          throw new Error("no")
        }
      }).pipe(Effect.provide(Logger.layer([logger])))
      const exit = yield* exitReport(reading)
      assert.strictEqual(exit?.exitCode, 0)
      assert.strictEqual(exit?.stderr.length, 3)
      assert.strictEqual(calls, 1)
      assert.strictEqual(logged.length, 1)
    }))

  it.live("is kept up to maxStderrLines lines of 1,000 characters", () =>
    Effect.gen(function*() {
      const { reading } = yield* start(["flood-stderr=1", "exit=0"], { maxStderrLines: 1 })
      assert.deepStrictEqual((yield* exitReport(reading))?.stderr, [`${"e".repeat(999)}…`])
    }))
})

describe.concurrent("[STD-07] closing the scope", () => {
  it.live("[STD-09] ends the child's input, and sends no signal to a child that exits then", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { close, frames, pid, reading } = yield* start(["report-term"], {
        ...patient,
        stderr: (line) => void lines.push(line)
      })
      yield* close
      yield* Fiber.await(reading)
      assert.isFalse(isRunning(pid))
      assert.deepStrictEqual(lines, ["input ended"])
      assert.notInclude(messages(frames), "got SIGTERM")
    }))

  it.live("first writes the messages that were sent", () =>
    Effect.gen(function*() {
      const { close, connection, frames, pid, reading } = yield* start(["echo", "delay-reading"], patient)
      for (let index = 0; index < 10; index++) yield* connection.send(outbound(notification("x".repeat(50_000))))
      const closing = yield* Effect.forkChild(close)
      yield* Effect.sleep("20 millis")
      process.kill(pid, "SIGUSR2")
      yield* Fiber.join(closing)
      yield* Fiber.await(reading)
      assert.strictEqual(frames.length, 11)
    }))

  it.live("[STD-09] sends SIGTERM to a child that does not exit after the end of its input", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { close, frames, pid } = yield* start(["ignore-end", "report-term"], {
        ...quick,
        terminateTimeout: "1 minute",
        stderr: (line) => void lines.push(line)
      })
      yield* close
      assert.isFalse(isRunning(pid))
      assert.deepStrictEqual([lines, messages(frames)[1]], [["input ended"], "got SIGTERM"])
    }))

  it.live("sends SIGKILL to a child that ignores SIGTERM", () =>
    Effect.gen(function*() {
      const { close, pid } = yield* start(["ignore-end", "ignore-term"], quick)
      yield* close
      assert.isFalse(isRunning(pid))
    }))

  it.live("does not wait for a child that reads nothing", () =>
    Effect.gen(function*() {
      const { close, connection, pid } = yield* start(["never-read", "ignore-end"], quick)
      yield* connection.send(outbound(notification("x".repeat(3_000_000))))
      const waiting = yield* Effect.forkChild(connection.send(outbound(notification("more"))))
      yield* Effect.sleep("20 millis")
      yield* close
      assert.isFalse(isRunning(pid))
      const error = yield* Effect.flip(Fiber.join(waiting))
      assert.strictEqual(error.reason._tag, "WriteFailed")
    }))

  it.live("reads the output that a child writes before it exits", () =>
    Effect.gen(function*() {
      const { close, frames, pid, reading } = yield* start(["long-output-at-end"], patient)
      yield* Fiber.interrupt(reading)
      yield* close
      assert.isFalse(isRunning(pid))
      assert.strictEqual(frames.length, 1)
    }))

  it.live("ends every process of the group of a child that has exited", () =>
    Effect.gen(function*() {
      const { child, close, frames, reading } = yield* start(
        ["exit=0", "leave-child", "ignore-end", "ignore-term"],
        quick
      )
      yield* until(() => frames.length === 2)
      yield* Fiber.join(reading)
      assert.isTrue(isRunning(child))
      yield* close
      assert.isFalse(isRunning(child))
    }))

  it.live("ends every process of the group of a child that runs", () =>
    Effect.gen(function*() {
      const { child, close, frames, pid } = yield* start(["ignore-end", "leave-child", "ignore-end"], quick)
      yield* until(() => frames.length === 2)
      yield* close
      assert.isFalse(isRunning(child))
      assert.isFalse(isRunning(pid))
    }))

  it.live("completes at once for a child that has exited", () =>
    Effect.gen(function*() {
      const { close, reading } = yield* start(["exit=1"], patient)
      yield* Fiber.join(reading)
      yield* close
    }))

  it.live("completes for a connection that was never run", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.provide(connectTo(peer(["long-output-at-end"], patient)), scope)
      yield* Effect.sleep("100 millis")
      yield* Scope.close(scope, Exit.void)
    }))

  it.live("[law 2] closes every pipe, also if this process is too busy to notice the exits in time", () =>
    Effect.gen(function*() {
      const remaining = yield* Effect.promise(() => promisify(execFile)(process.execPath, [fixture("busyParent.ts")]))
      assert.strictEqual(remaining.stdout, "0")
    }))

  it.live.runIf(process.platform === "linux")(
    "does not wait until the exit statuses of zombies are collected",
    () =>
      Effect.gen(function*() {
        // The fixture adopts the orphans of its child, as the first process of a container does, and never collects
        // their exit statuses. 36 is PR_SET_CHILD_SUBREAPER, and the other number is the system call `prctl`.
        const prctl = process.arch === "arm64" ? 167 : 157
        const adopt = `syscall(${prctl}, 36, 1, 0, 0, 0) == 0 or die; exec @ARGV`
        const { stdout } = yield* Effect.promise(() =>
          promisify(execFile)("perl", ["-e", adopt, process.execPath, fixture("adoptingParent.ts")])
        )
        assert.strictEqual(stdout, "1 zombie\n")
      })
  )

  it.effect("does not depend on the Effect clock", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const connection = yield* Scope.provide(
        connectTo(peer(["never-read", "ignore-end", "ignore-term"], quick)),
        scope
      )
      yield* Effect.raceFirst(connection.run(() => {}), realTime(100))
      yield* Scope.close(scope, Exit.void)
    }))
})

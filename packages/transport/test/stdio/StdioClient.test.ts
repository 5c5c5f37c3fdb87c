import type { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { Transport, type TransportError } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport"
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
import { fixture, isRunning, until } from "../fixtures/process.ts"

type Options = Partial<StdioClient.Options>

const peer = (words: ReadonlyArray<string>, options?: Options): StdioClient.Options => ({
  command: process.execPath,
  args: [fixture("peer.mjs"), ...words],
  ...options
})

const connectTo = (options: StdioClient.Options) =>
  Effect.flatMap(Transport.Transport, (transport) => transport.connect).pipe(
    Effect.provide(StdioClient.layerNode(options))
  )

type Frame = Transport.Inbound["frame"]

const Introduction = Schema.Struct({ pid: Schema.Int, child: Schema.optionalKey(Schema.Int) })
const Surroundings = Schema.Struct({ environment: Schema.Record(Schema.String, Schema.String), cwd: Schema.String })
const Message = Schema.Struct({ params: Schema.Struct({ data: Schema.String }) })

/** A connection that is being read, in a scope of its own. */
const start = Effect.fnUntraced(function*(words: ReadonlyArray<string>, options?: Options) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const connection = yield* Scope.provide(connectTo(peer(words, options)), scope)
  const frames: Array<Frame> = []
  const reading = yield* Effect.forkChild(connection.run((inbound) => frames.push(inbound.frame)))
  yield* until(() => frames.length > 0)
  const { child, pid } = yield* Schema.decodeUnknownEffect(Introduction)(messages(frames)[0])
  return { connection, frames, reading, pid, child: child ?? -1, close: Scope.close(scope, Exit.void) }
})

/** A ladder whose steps are short. */
const quick: Options = { exitTimeout: "150 millis", terminateTimeout: "150 millis" }

/** A ladder that no test has the time to climb. */
const patient: Options = { exitTimeout: "1 minute", terminateTimeout: "1 minute" }

const messages = (frames: ReadonlyArray<Frame>): ReadonlyArray<unknown> =>
  frames.filter(Result.isSuccess).map((frame) => frame.success)

const notification = (data: unknown): JsonRpc.Notification => ({
  jsonrpc: "2.0",
  method: "notifications/message",
  params: { data }
})

const outbound = (message: JsonRpc.Message): Transport.Outbound => ({ message, replyTo: undefined, last: false })

const exitOf = (reading: Fiber.Fiber<Transport.End, TransportError.TransportError>) =>
  Effect.map(Fiber.join(reading), ({ exit }): CloseReason.ProcessExit | undefined => exit)

/** A delay that no test clock holds up. */
const realTime = (millis: number) => Effect.promise(() => new Promise((resolve) => setTimeout(resolve, millis)))

describe.concurrent("a conversation", () => {
  it.live("[STD-02] [STD-04] messages go to the child line by line, and come back", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"])
      const sent = [notification("one"), notification("two\nlines"), notification("漢😀")]
      for (const message of sent) yield* connection.send(outbound(message))
      yield* until(() => frames.length === 4)
      assert.deepStrictEqual(messages(frames).slice(1), sent)
      yield* close
    }))

  it.live("frames that came before `run` are kept for it", () =>
    Effect.gen(function*() {
      const connection = yield* connectTo(peer(["stray", "exit=0"]))
      yield* Effect.sleep("300 millis")
      const frames: Array<unknown> = []
      yield* connection.run((inbound) => frames.push(inbound.frame))
      assert.strictEqual(frames.length, 3)
    }).pipe(Effect.scoped))

  it.live("any platform's spawner will do", () =>
    Effect.gen(function*() {
      const connection = yield* Effect.flatMap(Transport.Transport, (transport) => transport.connect)
      const end = yield* connection.run(() => {})
      assert.strictEqual(end.exit?.exitCode, 0)
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.provide(StdioClient.layer(peer(["exit=0"])), NodeServices.layer))
    ))

  it.live("every connection has a process of its own", () =>
    Effect.gen(function*() {
      const transport = yield* Transport.Transport
      const first = yield* transport.connect
      const second = yield* transport.connect
      const said: Array<unknown> = []
      yield* first.run((inbound) => said.push(inbound.frame))
      yield* second.run((inbound) => said.push(inbound.frame))
      assert.strictEqual(new Set(said.map((frame) => JSON.stringify(frame))).size, 2)
    }).pipe(Effect.scoped, Effect.provide(StdioClient.layerNode(peer(["exit=0"])))))

  it.live("[law 7] stray lines on standard output are frames that failed, and harm nothing", () =>
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

  it.live("a message of 5 MB goes there and back", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"], { maxMessageBytes: 6_000_000 })
      const message = notification("x".repeat(5_000_000))
      yield* connection.send(outbound(message))
      yield* until(() => frames.length === 2)
      assert.deepStrictEqual(messages(frames)[1], message)
      yield* close
    }))

  it.live("a message beyond the limit costs only itself", () =>
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

  it.live("law 12: a message of more arrays, objects and members than the limit costs only itself", () =>
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

  it.live("what is no JSON fails by itself and is not sent", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["echo"])
      const error = yield* Effect.flip(connection.send(outbound(notification(1n))))
      assert.strictEqual(error.reason._tag, "Unserializable")
      yield* connection.send(outbound(notification("after")))
      yield* until(() => frames.length === 2)
      assert.deepStrictEqual(messages(frames)[1], notification("after"))
      yield* close
    }))

  it.live("[law 12] several MiB wait for a child that does not read yet, and all arrives in order", () =>
    Effect.gen(function*() {
      const { close, connection, frames, pid } = yield* start(["echo", "deaf"], patient)
      const sending = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 100 }, (_, index) => notification(`${index} ${"x".repeat(60_000)}`)),
          (message) => connection.send(outbound(message)),
          { discard: true }
        )
      )
      yield* Effect.sleep("100 millis")
      assert.isUndefined(sending.pollUnsafe(), "six million bytes are more than the buffer takes")
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

describe("the environment", () => {
  const environmentOf = Effect.fnUntraced(function*(options: Options) {
    const { close, frames } = yield* start(["environment"], options)
    yield* until(() => frames.length === 2)
    yield* close
    return yield* Schema.decodeUnknownEffect(Surroundings)(messages(frames)[1])
  })

  const withVariables = (variables: Record<string, string>) =>
    Effect.acquireRelease(
      Effect.sync(() => Object.assign(process.env, variables)),
      () => Effect.sync(() => Object.keys(variables).forEach((name) => Reflect.deleteProperty(process.env, name)))
    )

  it.live("the child inherits what is harmless, and what it is given", () =>
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

  it.live("which variables it inherits can be said: these, all, none", () =>
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

describe.concurrent("how it ends", () => {
  it.live("a command that does not exist fails to connect, with the command line", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(connectTo({ command: "no-such-server", args: ["--root", "my notes"] }))
      assert.strictEqual(error.reason._tag, "ConnectFailed")
      assert.include(error.message, "no-such-server --root 'my notes'")
      assert.include(error.message, "ENOENT")
    }).pipe(Effect.scoped))

  it.live("what is redacted on the command line stays so", () =>
    Effect.gen(function*() {
      const args = ["--token", Redacted.make("secret")]
      const error = yield* Effect.flip(connectTo({ command: "no-such-server", args }))
      assert.include(error.message, "no-such-server --token")
      assert.notInclude(error.message, "secret")
    }).pipe(Effect.scoped))

  it.live("a working directory that does not exist fails to connect", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(connectTo(peer([], { cwd: "/no/such/folder" })))
      assert.strictEqual(error.reason._tag, "ConnectFailed")
      assert.include(error.message, "/no/such/folder")
    }).pipe(Effect.scoped))

  it.live("[STD-08] the report has the exit code and the last lines of standard error", () =>
    Effect.gen(function*() {
      const { reading } = yield* start(["complain=30", "exit=3"])
      const exit = yield* exitOf(reading)
      assert.strictEqual(exit?.exitCode, 3)
      assert.isUndefined(exit?.signal)
      assert.deepStrictEqual(exit?.stderr, Array.from({ length: 20 }, (_, index) => `complaint ${index + 11}`))
    }))

  it.live("the report has the signal that ended the child", () =>
    Effect.gen(function*() {
      const { reading } = yield* start(["exit=SIGKILL"])
      assert.deepStrictEqual(yield* exitOf(reading), { exitCode: undefined, signal: "SIGKILL", stderr: [] })
    }))

  it.live("sending to a child that has gone fails with how it went", () =>
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

  it.live("sending to a child that has closed its input fails with what the system says", () =>
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

  it.live("[law 1] output held open by a process that the child left behind counts as ended", () =>
    Effect.gen(function*() {
      const { child, close, frames, reading } = yield* start(
        ["exit=0", "complain=1", "leave-child", "never-read", "ignore-end"],
        quick
      )
      yield* Fiber.join(reading)
      assert.deepStrictEqual(messages(frames)[1], { pid: child })
      assert.deepStrictEqual(yield* exitOf(reading), { exitCode: 0, signal: undefined, stderr: ["complaint 1"] })
      assert.isTrue(isRunning(child))
      yield* close
      assert.isFalse(isRunning(child))
    }))

  it.live("[law 1] also when that process keeps talking", () =>
    Effect.gen(function*() {
      const { child, close, reading } = yield* start(["exit=0", "leave-child", "chatter"], quick)
      yield* Fiber.join(reading)
      yield* close
      assert.isFalse(isRunning(child))
    }))
})

describe.concurrent("standard error", () => {
  it.live("[STD-05] is read whether anyone wants it or not: a child never waits for it", () =>
    Effect.gen(function*() {
      const { close, connection, frames } = yield* start(["flood-stderr=4", "echo"])
      yield* connection.send(outbound(notification("after")))
      yield* until(() => frames.length === 2)
      yield* close
    }))

  it.live("to the last line, also what a child says while it is being ended", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const program = `process.stdin.resume().on("end", () => {
        for (let line = 1; line <= 100; line++) process.stderr.write("last word " + line + "\\n")
        process.kill(process.pid, "SIGKILL")
      })`
      yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.scoped(connectTo({
          command: process.execPath,
          args: ["-e", program],
          stderr: (line) => void lines.push(line),
          ...patient
        })), { concurrency: "unbounded" })
      assert.strictEqual(lines.filter((line) => line === "last word 100").length, 20)
    }))

  it.live("[STD-05] [STD-06] a function sees its lines, and is no reason to fail", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { reading } = yield* start(["complain=3", "exit=0"], { stderr: (line) => void lines.push(line) })
      assert.strictEqual((yield* exitOf(reading))?.exitCode, 0)
      assert.deepStrictEqual(lines, ["complaint 1", "complaint 2", "complaint 3"])
    }))

  it.live("a function that throws is logged, and sees no more", () =>
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
      const exit = yield* exitOf(reading)
      assert.strictEqual(exit?.exitCode, 0)
      assert.strictEqual(exit?.stderr.length, 3)
      assert.strictEqual(calls, 1)
      assert.strictEqual(logged.length, 1)
    }))

  it.live("lines are cut, and as many are kept as was asked for", () =>
    Effect.gen(function*() {
      const { reading } = yield* start(["flood-stderr=1", "exit=0"], { maxStderrLines: 1 })
      assert.deepStrictEqual((yield* exitOf(reading))?.stderr, ["e".repeat(1_000)])
    }))
})

describe.concurrent("[STD-07] closing the scope", () => {
  it.live("[STD-09] ends the child's input, and a child that exits then gets no signal", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { close, frames, pid, reading } = yield* start(["say-term"], {
        ...patient,
        stderr: (line) => void lines.push(line)
      })
      yield* close
      yield* Fiber.await(reading)
      assert.isFalse(isRunning(pid))
      assert.deepStrictEqual(lines, ["good bye"])
      assert.notInclude(messages(frames), "got SIGTERM")
    }))

  it.live("writes first what was sent", () =>
    Effect.gen(function*() {
      const { close, connection, frames, pid, reading } = yield* start(["echo", "deaf"], patient)
      for (let index = 0; index < 10; index++) yield* connection.send(outbound(notification("x".repeat(50_000))))
      const closing = yield* Effect.forkChild(close)
      yield* Effect.sleep("20 millis")
      process.kill(pid, "SIGUSR2")
      yield* Fiber.join(closing)
      yield* Fiber.await(reading)
      assert.strictEqual(frames.length, 11)
    }))

  it.live("terminates a child that does not exit on the end of its input, and not before", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { close, frames, pid } = yield* start(["ignore-end", "say-term"], {
        ...quick,
        terminateTimeout: "1 minute",
        stderr: (line) => void lines.push(line)
      })
      yield* close
      assert.isFalse(isRunning(pid))
      assert.deepStrictEqual([lines, messages(frames)[1]], [["good bye"], "got SIGTERM"])
    }))

  it.live("kills a child that ignores the signal", () =>
    Effect.gen(function*() {
      const { close, pid } = yield* start(["ignore-end", "ignore-term"], quick)
      yield* close
      assert.isFalse(isRunning(pid))
    }))

  it.live("does not hang on a child that reads nothing, whatever waits to be written", () =>
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

  it.live("does not cut off a child that has much to say before it exits", () =>
    Effect.gen(function*() {
      const { close, frames, pid, reading } = yield* start(["long-goodbye"], patient)
      yield* Fiber.interrupt(reading)
      yield* close
      assert.isFalse(isRunning(pid))
      assert.strictEqual(frames.length, 1)
    }))

  it.live("leaves no process of the group, also of a child that has exited", () =>
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

  it.live("leaves no process of the group of a child that is running", () =>
    Effect.gen(function*() {
      const { child, close, frames, pid } = yield* start(["ignore-end", "leave-child", "ignore-end"], quick)
      yield* until(() => frames.length === 2)
      yield* close
      assert.isFalse(isRunning(child))
      assert.isFalse(isRunning(pid))
    }))

  it.live("has nothing left to do for a child that has exited", () =>
    Effect.gen(function*() {
      const { close, reading } = yield* start(["exit=1"], patient)
      yield* Fiber.join(reading)
      yield* close
    }))

  it.live("a connection that was never read closes as well", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.provide(connectTo(peer(["long-goodbye"], patient)), scope)
      yield* Effect.sleep("100 millis")
      yield* Scope.close(scope, Exit.void)
    }))

  it.live("[law 2] closes every pipe, also where this process is too busy to see the ends of its children in time", () =>
    Effect.gen(function*() {
      const left = yield* Effect.promise(() => promisify(execFile)(process.execPath, [fixture("busyParent.ts")]))
      assert.strictEqual(left.stdout, "0")
    }))

  it.live.runIf(process.platform === "linux")(
    "does not wait until zombies of the group are collected",
    () =>
      Effect.gen(function*() {
        // The fixture adopts the processes that its child leaves, as the first process of a container does, and never collects
        // their exit status. 36 is PR_SET_CHILD_SUBREAPER; the other number is that of the system call `prctl`.
        const prctl = process.arch === "arm64" ? 167 : 157
        const adopt = `syscall(${prctl}, 36, 1, 0, 0, 0) == 0 or die; exec @ARGV`
        const { stdout } = yield* Effect.promise(() =>
          promisify(execFile)("perl", ["-e", adopt, process.execPath, fixture("adoptingParent.ts")])
        )
        assert.strictEqual(stdout, "1 zombie\n")
      })
  )

  it.effect("does not wait for a clock that stands still", () =>
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

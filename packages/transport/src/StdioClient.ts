/**
 * The client of stdio. It starts an MCP server as a child process and exchanges messages over the child's standard
 * input and output (STD-01). The child lives in the scope of its connection. When the scope closes, the transport ends
 * the child's input, then sends `SIGTERM` to its process group, then `SIGKILL` (STD-07). No process of the group is
 * left.
 */
import type { CloseReason } from "@effect-mcp/protocol"
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as ChildProcess from "effect/process/ChildProcess"
import { type ChildProcessHandle, ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as CommandLine from "effect/process/CommandLine"
import type { Redacted } from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as LineWriter from "./internal/shared/LineWriter.ts"
import { atMost, delay } from "./internal/shared/nodeTimers.ts"
import { unwrapCause } from "./internal/shared/platformErrors.ts"
import * as Turns from "./internal/shared/Turns.ts"
import * as ProcessGroup from "./internal/stdio/ProcessGroup.ts"
import * as StderrTail from "./internal/stdio/StderrTail.ts"
import * as JsonLines from "./JsonLines.ts"

/**
 * The environment variables that a child inherits by default: those that programs need to find their files and their
 * user, and none that may be secret. They differ between Windows and other systems.
 *
 * @category constants
 */
export const inheritedVariables: ReadonlyArray<string> = process.platform === "win32"
  ? [
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE"
  ]
  : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]

/**
 * Options of a stdio client.
 *
 * @category options
 */
export interface Options {
  /** The program: a path, or a name to look up in `PATH`. It starts without a shell. */
  readonly command: string
  /** The arguments. Errors show a `Redacted` argument as `<redacted>`. */
  readonly args?: ReadonlyArray<string | Redacted<string>> | undefined
  /** The working directory. Default: that of this process. */
  readonly cwd?: string | undefined
  /** Environment variables to set. They replace inherited ones; `undefined` removes an inherited one. */
  readonly env?: Readonly<Record<string, string | Redacted<string> | undefined>> | undefined
  /**
   * The environment variables that the child inherits: the listed ones, all (`true`) or none (`false`). Default:
   * {@link inheritedVariables}. Values that begin with `()` are shell functions and are never inherited.
   */
  readonly inheritEnv?: boolean | ReadonlyArray<string> | undefined
  /** The largest message to read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read. Default 100,000. A message with more is not parsed and
   * is reported as an event: parsing takes time and memory for each of them, and cannot be interrupted.
   */
  readonly maxMessageNodes?: number | undefined
  /**
   * The receiver of the child's standard error. The transport always reads it, so the child never waits for a reader. A
   * function receives each line, cut at 65,536 characters. If it throws, the transport logs that and calls it no more.
   * With `"inherit"` the child writes to the standard error of this process, and the exit report has no lines. By
   * default the transport keeps only the last lines. Output on standard error is never a failure (STD-05, STD-06).
   */
  readonly stderr?: "inherit" | ((line: string) => void) | undefined
  /** The most lines of standard error in the exit report, each cut at 1,000 characters. Default 20. */
  readonly maxStderrLines?: number | undefined
  /** The time that the child has to exit after the end of its input, before `SIGTERM`. Default 2 seconds. */
  readonly exitTimeout?: Duration.Input | undefined
  /** The time that the process group has to end after `SIGTERM`, before `SIGKILL`. Default 2 seconds. */
  readonly terminateTimeout?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  maxStderrLines: NumericOption.countFromZero,
  exitTimeout: NumericOption.duration,
  terminateTimeout: NumericOption.duration
}

/** Where a line of the exit report is cut, in characters. */
const keptLineLength = 1_000

/** The time that the end of a connection waits for the exit status and the last lines of the report. */
const reportTimeout = "500 millis"

/**
 * The number of silent turns in a row after which the output of an exited child counts as ended. Another process of its
 * group may hold the output open. One long turn would not do: a timer that fires late fires before the pipe is read
 * again.
 */
const silentTurns = 4
const silentTurn = "30 millis"

/** Waits, at the end of a connection, for its pipes to be read to their ends: at least half a second. */
const lastTurns = Effect.repeat(delay(silentTurn), { times: 17 })

/** The most turns in which the output of an exited child is read, although its process group keeps writing. */
const talkativeTurns = 34

interface ExitStatus {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
}

const environment = (options: Options): Record<string, string | Redacted<string> | undefined> => {
  const inherit = options.inheritEnv ?? inheritedVariables
  const names = inherit === true ? Object.keys(process.env) : inherit === false ? [] : inherit
  const inherited = names.flatMap((name) => {
    const value = process.env[name]
    return value === undefined || value.startsWith("()") ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(inherited), ...options.env }
}

const commandLine = (options: Options): string => CommandLine.display([options.command, ...(options.args ?? [])])

/** Returns how the child exited. The handle names a signal only in the text of its error. */
const exitStatus = (handle: ChildProcessHandle): Effect.Effect<ExitStatus> =>
  Effect.match(handle.exitCode, {
    onSuccess: (exitCode) => ({ exitCode, signal: undefined }),
    onFailure: (error) => ({ exitCode: undefined, signal: /\bSIG[A-Z0-9]+\b/.exec(String(unwrapCause(error)))?.[0] })
  })

/**
 * Creates the transport as a value. Each `connect` starts another process, so one transport carries any number of
 * sessions and never fails with `InUse`. `connect` fails with `ConnectFailed`, with the command line as the target, if
 * the process cannot be started. `send` fails with `PeerEnded` and the exit report if the process has exited, and with
 * `WriteFailed` if only its input is closed. `send` suspends while 1 MiB waits for the child to read.
 *
 * `run` ends with the child's output. It also ends if the child has exited and its output falls silent, although
 * another process may hold the output open. The result has the exit code or signal and the last lines of standard
 * error. A line that is not JSON is delivered as a failed frame.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // Two processes, one for each session.
 * export const two = Effect.gen(function*() {
 *   const transport = yield* StdioClient.make({ command: "node", args: ["server.mjs"] })
 *   const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 *   return yield* Effect.all([session, session])
 * })
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Transport.Transport["Service"], never, ChildProcessSpawner> {
  NumericOption.check(options, rules)
  const spawner = yield* ChildProcessSpawner
  const connect = Effect.suspend(() => open(options)).pipe(
    Effect.provideService(ChildProcessSpawner, spawner)
  )
  return { connect }
})

/**
 * Starts the child, and stops its whole process group when the scope closes. The scope closes as soon as all processes
 * of the group have ended. The spawner's own finalizer may still wait then, in a detached fiber without resources. It
 * waits until the system has removed the processes, which takes 3 seconds if nothing collects their exit statuses.
 */
const spawn = Effect.fnUntraced(function*(options: Options) {
  const group = yield* Scope.make()
  const handle = yield* Scope.provide(started(options), group).pipe(
    Effect.onError((cause) => Scope.close(group, Exit.failCause(cause)))
  )
  yield* Effect.addFinalizer((exit) =>
    Effect.gen(function*() {
      const closing = yield* Effect.forkDetach(Scope.close(group, exit), { startImmediately: true })
      const ended = Effect.andThen(exitStatus(handle), ProcessGroup.ended(handle.pid))
      yield* Effect.raceFirst(Fiber.await(closing), ended)
    })
  )
  return handle
}, Effect.uninterruptible)

const started = (options: Options) =>
  ChildProcess.make(options.command, options.args ?? [], {
    cwd: options.cwd,
    env: environment(options),
    stderr: options.stderr === "inherit" ? "inherit" : "pipe",
    killSignal: "SIGTERM",
    // Without it, the scope would wait forever for a child that ignores the signal.
    forceKillAfter: options.terminateTimeout ?? "2 seconds"
  }).pipe(
    Effect.mapError((error) =>
      TransportError.make({ _tag: "ConnectFailed", target: commandLine(options), cause: unwrapCause(error) })
    )
  )

/** Reads standard error to its end, even if no function receives it. */
const readErrors = Effect.fnUntraced(function*(handle: ChildProcessHandle, options: Options, readers: Scope.Scope) {
  const tail = StderrTail.make({ keep: options.maxStderrLines ?? 20, cutAt: keptLineLength })
  let onLine = typeof options.stderr === "function" ? options.stderr : undefined
  const notify = (lines: ReadonlyArray<string>) =>
    Effect.sync(() => lines.forEach((line) => onLine?.(line))).pipe(
      Effect.catchCause((cause) => {
        onLine = undefined
        return Effect.logWarning("the function that reads the child's standard error failed", cause)
      })
    )
  const reader = yield* handle.stderr.pipe(
    Stream.runForEachArray((chunks) => notify(chunks.flatMap(tail.push))),
    // A failure to read standard error does not fail the session.
    Effect.ignore,
    Effect.andThen(Effect.suspend(() => notify(tail.finish()))),
    Effect.forkIn(readers)
  )
  return { ended: Effect.asVoid(Fiber.await(reader)), lastLines: tail.snapshot }
})

/** Reads standard output from its first subscriber on, and to its end even after the subscriber has left. */
const readOutput = Effect.fnUntraced(function*(handle: ChildProcessHandle, options: Options, readers: Scope.Scope) {
  const discard = () => {}
  let deliver: (inbound: Transport.Inbound) => void = discard
  let chunksRead = 0
  const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }), {
    maxMessageBytes: options.maxMessageBytes,
    maxMessageNodes: options.maxMessageNodes
  })
  const begun = Latch.makeUnsafe(false)
  const reader = yield* handle.stdout.pipe(
    Stream.runForEachArray((chunks) =>
      Effect.suspend(() => {
        chunksRead += chunks.length
        return Turns.bytes(chunks, decoder.push)
      })
    ),
    begun.whenOpen,
    Effect.forkIn(readers)
  )
  return {
    subscribe: (deliverTo: (inbound: Transport.Inbound) => void): void => {
      deliver = deliverTo
    },
    unsubscribe: (): void => {
      deliver = discard
    },
    begin: begun.open,
    ended: Fiber.join(reader),
    read: Effect.asVoid(Fiber.await(reader)),
    chunksRead: () => chunksRead,
    finish: decoder.finish
  }
})

const open = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<
  Transport.Connection,
  TransportError.TransportError,
  ChildProcessSpawner | Scope.Scope
> {
  // Finalizers run in reverse. The readers' scope is acquired first, so it closes last: a child that writes while it is
  // being stopped would otherwise block on a full pipe.
  const readers = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  let outputRead: Effect.Effect<void> = Effect.void
  let errorsRead: Effect.Effect<void> = Effect.void
  // The last output is still in the pipes after the exit, and a pipe that is not read to its end is never closed.
  yield* Effect.addFinalizer(() => Effect.raceFirst(Effect.andThen(errorsRead, outputRead), lastTurns))
  const handle = yield* spawn(options)
  const errors = yield* readErrors(handle, options, readers)
  errorsRead = errors.ended
  const output = yield* readOutput(handle, options, readers)
  outputRead = output.read

  let status: ExitStatus = { exitCode: undefined, signal: undefined }
  const exited = Effect.map(exitStatus(handle), (known) => {
    status = known
  })
  const reportSoFar = Effect.sync((): CloseReason.ProcessExit => ({ ...status, stderr: errors.lastLines() }))
  const report = Effect.andThen(atMost(Effect.andThen(exited, errors.ended), reportTimeout), reportSoFar)

  /** Waits until the child has exited and its output is silent. */
  const silence = Effect.gen(function*() {
    yield* exited
    let silent = 0
    let seen = output.chunksRead()
    for (let turn = 0; turn < talkativeTurns && silent < silentTurns; turn++) {
      yield* delay(silentTurn)
      silent = output.chunksRead() === seen ? silent + 1 : 0
      seen = output.chunksRead()
    }
  })

  const run = Effect.fnUntraced(
    function*(
      deliver: (inbound: Transport.Inbound) => void
    ): Effect.fn.Return<Transport.End, TransportError.TransportError> {
      output.subscribe(deliver)
      yield* output.begin
      const exit = yield* Effect.raceFirst(
        Effect.andThen(output.ended, report),
        Effect.andThen(silence, reportSoFar)
      ).pipe(
        Effect.mapError((error) => TransportError.make({ _tag: "ReadFailed", cause: unwrapCause(error) })),
        // A message that was accepted and cannot be written has no sender any more, so `run` fails. If the child has
        // exited, `run` instead reads the rest of its output and reports the exit.
        Effect.raceFirst(
          Effect.catch(writer.failed, (error) => error.reason._tag === "PeerEnded" ? Effect.never : Effect.fail(error))
        )
      )
      output.finish()
      return { exit, writable: false }
    },
    Effect.ensuring(Effect.sync(output.unsubscribe))
  )

  const writer = yield* LineWriter.make({
    sink: handle.stdin,
    // A pipe mostly breaks because the child has exited. Then the exit report is the more useful error.
    explain: Effect.fnUntraced(function*(cause) {
      const exit = yield* report
      return exit.exitCode === undefined && exit.signal === undefined
        ? TransportError.make({ _tag: "WriteFailed", cause: unwrapCause(cause) })
        : TransportError.make({ _tag: "PeerEnded", exit })
    })
  })

  // The first step of the shutdown: write what was sent, end the input, wait. The spawner's finalizer does the rest.
  const ended = Effect.raceFirst(exited, Effect.andThen(writer.close, Effect.never))
  yield* Effect.addFinalizer(() => Effect.andThen(output.begin, atMost(ended, options.exitTimeout ?? "2 seconds")))

  return { run, send: writer.send }
})

/**
 * Provides the transport over any platform that can start processes. On Node, {@link layerNode} includes one.
 *
 * @example
 * ```ts
 * import { StdioClient } from "@effect-mcp/transport"
 * import * as NodeServices from "@effect/platform-node/NodeServices"
 * import * as Layer from "effect/Layer"
 *
 * export const server = Layer.provide(
 *   StdioClient.layer({ command: "python3", args: ["server.py"], stderr: "inherit" }),
 *   NodeServices.layer
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, ChildProcessSpawner> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * Provides the transport on Node.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = StdioClient.layerNode({ command: "node", args: ["server.mjs"], env: { NOTES: "/home/ada/notes" } })
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const notes = yield* ClientSession.ClientSession
 *   return yield* notes.callTool("search", { words: "birthday" })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, server))
 * )
 * ```
 *
 * @category layers
 */
export const layerNode = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), spawnerNode)

/** The spawner of Node, loaded on first use: a server that imports this package must not pay 50 ms for it. */
const spawnerNode: Layer.Layer<ChildProcessSpawner> = Layer.unwrap(
  Effect.promise(async () => {
    const [Spawner, FileSystem, Path] = await Promise.all([
      import("@effect/platform-node/NodeChildProcessSpawner"),
      import("@effect/platform-node/NodeFileSystem"),
      import("@effect/platform-node/NodePath")
    ])
    return Layer.provide(Spawner.layer, Layer.merge(FileSystem.layer, Path.layer))
  })
)

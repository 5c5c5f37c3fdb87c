/**
 * The client half of stdio: starts an MCP server as a child process and speaks to it over its standard input and output
 * (STD-01). The child lives in the scope it was connected in: when the scope closes, its input is ended, then it and every
 * process of its group is asked to terminate, then killed (STD-07), and none of them is left.
 *
 * @since 0.1.0
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
import * as Turns from "./internal/shared/Turns.ts"
import { unwrapCause } from "./internal/shared/unwrapCause.ts"
import * as ProcessGroup from "./internal/stdio/ProcessGroup.ts"
import * as StderrTail from "./internal/stdio/StderrTail.ts"
import * as LineFraming from "./LineFraming.ts"

/**
 * The variables a child inherits unless told otherwise: what programs need to find themselves and their user, and nothing
 * that might be a secret. They differ between Windows and everything else.
 *
 * @category constants
 * @since 0.1.0
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
 * How to start the server, what to give it, and how long to wait for its end.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The program: a path, or a name that is looked up in `PATH`. It is started without a shell. */
  readonly command: string
  /** Its arguments. A `Redacted` one stands as `<redacted>` in errors. */
  readonly args?: ReadonlyArray<string | Redacted<string>> | undefined
  /** Its working directory. The default is that of this process. */
  readonly cwd?: string | undefined
  /** Variables to set, over those it inherits. `undefined` takes an inherited one away. */
  readonly env?: Readonly<Record<string, string | Redacted<string> | undefined>> | undefined
  /**
   * Which variables of this process it inherits: exactly the listed ones, all (`true`) or none (`false`). The default is
   * {@link inheritedVariables}. Values that begin with `()` are shell functions and are never passed on.
   */
  readonly inheritEnv?: boolean | ReadonlyArray<string> | undefined
  /** The longest message to read, in bytes. The default is 4 MiB. */
  readonly messageLimitBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read. The default is 100,000. A message with more is not
   * parsed, which an event says: parsing takes time and memory for each of them, and cannot be interrupted.
   */
  readonly messageLimitNodes?: number | undefined
  /**
   * What happens to its standard error, which is read in any case, so that the child never waits for a reader. A function
   * sees each line, cut at 65,536 characters; if it throws, that is logged, and it sees no more. `"inherit"` lets the
   * child write to the standard error of this process, and leaves the exit report without lines. By default only the last
   * lines are kept. Nothing on standard error is taken for a failure (STD-05, STD-06).
   */
  readonly stderr?: "inherit" | ((line: string) => void) | undefined
  /** How many of the last lines of standard error the exit report carries, each cut at 1,000 characters. Default 20. */
  readonly keptStderrLines?: number | undefined
  /** How long it may take to exit after its input was ended, before it gets `SIGTERM`. The default is 2 seconds. */
  readonly exitWithin?: Duration.Input | undefined
  /** How long its group may take to end after `SIGTERM`, before it gets `SIGKILL`. The default is 2 seconds. */
  readonly terminateWithin?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  messageLimitBytes: NumericOption.count,
  messageLimitNodes: NumericOption.count,
  keptStderrLines: NumericOption.countFromZero,
  exitWithin: NumericOption.duration,
  terminateWithin: NumericOption.duration
}

/** Where a line of the exit report is cut, in characters. */
const keptLineLength = 1_000

/** How long the end of a connection waits for the rest of the report: the exit status and the last lines. */
const reportWithin = "500 millis"

/**
 * A process of the child's group may outlive it and hold its output open. Output counts as ended when the child has
 * exited and nothing has come for this many turns in a row. Several short turns, and not one long one, because a timer
 * that fires late fires before the pipe is looked at again.
 */
const silentTurns = 4
const silentTurn = "30 millis"

/** How long the end of a connection waits for pipes to be read to their ends, likewise: half a second at least. */
const lastTurns = Effect.repeat(delay(silentTurn), { times: 17 })

/** A process of the group that keeps talking after the child has exited is listened to no longer than this. */
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

/** A handle tells the signal only in the words of its error. */
const exitStatus = (handle: ChildProcessHandle): Effect.Effect<ExitStatus> =>
  Effect.match(handle.exitCode, {
    onSuccess: (exitCode) => ({ exitCode, signal: undefined }),
    onFailure: (error) => ({ exitCode: undefined, signal: /\bSIG[A-Z0-9]+\b/.exec(String(unwrapCause(error)))?.[0] })
  })

/**
 * The transport as a value. Each `connect` starts a process of its own, so it carries any number of sessions and never
 * fails with `InUse`. It fails with `ConnectFailed` when the process cannot be started, with the command line as the
 * target. `send` fails with `PeerEnded` and the exit report when the process is gone, with `WriteFailed` when only its
 * input is closed, and suspends while 1 MiB waits to be read by the child.
 *
 * `run` ends when the child's output does, or when the child has exited and its output falls silent, though some process
 * it left behind may hold it open. It reports the exit code or signal and the last lines of standard error. Lines that
 * are no JSON are delivered as frames that failed.
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
 * @since 0.1.0
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
 * Starts the child, and stops its whole group when the scope closes. The spawner waits until the system has forgotten
 * every process of the group, for 3 seconds where nothing collects the exit status of those that the child has left.
 * The scope closes as soon as all of them have ended; the spawner may still be waiting then, in a fiber that holds
 * nothing.
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
    // Without it, the scope would wait without end for a child that ignores the signal.
    forceKillAfter: options.terminateWithin ?? "2 seconds"
  }).pipe(
    Effect.mapError((error) =>
      TransportError.make({ _tag: "ConnectFailed", target: commandLine(options), cause: unwrapCause(error) })
    )
  )

/** Standard error, read to its end whether anyone wants it or not. */
const readErrors = Effect.fnUntraced(function*(handle: ChildProcessHandle, options: Options, readers: Scope.Scope) {
  const lastLines = StderrTail.make({ keep: options.keptStderrLines ?? 20, cutAt: keptLineLength })
  let onLine = typeof options.stderr === "function" ? options.stderr : undefined
  const tell = (lines: ReadonlyArray<string>) =>
    Effect.sync(() => lines.forEach((line) => onLine?.(line))).pipe(
      Effect.catchCause((cause) => {
        onLine = undefined
        return Effect.logWarning("the function that reads the child's standard error failed", cause)
      })
    )
  const reader = yield* handle.stderr.pipe(
    Stream.runForEachArray((chunks) => tell(chunks.flatMap(lastLines.push))),
    // Whatever ends it, standard error is no reason to fail.
    Effect.ignore,
    Effect.andThen(Effect.suspend(() => tell(lastLines.finish()))),
    Effect.forkIn(readers)
  )
  return { ended: Effect.asVoid(Fiber.await(reader)), lastLines: lastLines.snapshot }
})

/** Standard output, which waits for its first listener, and is read to its end from then on though nobody listens. */
const readOutput = Effect.fnUntraced(function*(handle: ChildProcessHandle, options: Options, readers: Scope.Scope) {
  const discard = () => {}
  let deliver: (inbound: Transport.Inbound) => void = discard
  let chunksRead = 0
  const decoder = LineFraming.decoder((frame, bytes) => deliver({ frame, bytes }), {
    limitBytes: options.messageLimitBytes,
    limitNodes: options.messageLimitNodes
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
    listen: (deliverTo: (inbound: Transport.Inbound) => void): void => {
      deliver = deliverTo
    },
    ignore: (): void => {
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
  // Finalizers run backwards. The readers' scope is the first, so that it closes last: a child that talks while it is
  // being stopped must not block on a full pipe.
  const readers = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  let outputRead: Effect.Effect<void> = Effect.void
  let errorsRead: Effect.Effect<void> = Effect.void
  // What it has said last is still in the pipes when it has gone, and a pipe that is not read to its end is never closed.
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
  const report = Effect.andThen(atMost(Effect.andThen(exited, errors.ended), reportWithin), reportSoFar)

  /** The child has exited, and whoever it left behind has nothing more to say. */
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
      output.listen(deliver)
      yield* output.begin
      const exit = yield* Effect.raceFirst(
        Effect.andThen(output.ended, report),
        Effect.andThen(silence, reportSoFar)
      ).pipe(
        Effect.mapError((error) => TransportError.make({ _tag: "ReadFailed", cause: unwrapCause(error) })),
        // What was taken and cannot be written is nobody's send any more, so that reading has to tell. A child that has
        // exited is no news here: what it still said is read, and its exit reported.
        Effect.raceFirst(
          Effect.catch(writer.failed, (error) => error.reason._tag === "PeerEnded" ? Effect.never : Effect.fail(error))
        )
      )
      output.finish()
      return { exit, writable: false }
    },
    Effect.ensuring(Effect.sync(output.ignore))
  )

  const writer = yield* LineWriter.make({
    sink: handle.stdin,
    // A pipe mostly breaks because the child has gone; then, how it went is what a person needs to know.
    explain: Effect.fnUntraced(function*(cause) {
      const exit = yield* report
      return exit.exitCode === undefined && exit.signal === undefined
        ? TransportError.make({ _tag: "WriteFailed", cause: unwrapCause(cause) })
        : TransportError.make({ _tag: "PeerEnded", exit })
    })
  })

  // The first step of the ladder: write what was sent, end the input, wait. The spawner's own finalizer climbs the rest.
  const ended = Effect.raceFirst(exited, Effect.andThen(writer.close, Effect.never))
  yield* Effect.addFinalizer(() => Effect.andThen(output.begin, atMost(ended, options.exitWithin ?? "2 seconds")))

  return { run, send: writer.send }
})

/**
 * The transport as a Layer over any platform that can start processes. On Node, {@link layerNode} is all in one.
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
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, ChildProcessSpawner> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * The transport as a Layer that needs nothing, on Node.
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
 * @since 0.1.0
 */
export const layerNode = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), spawnerNode)

/** Loaded when it is used: a server that imports this package must not pay 50 ms for what only clients need. */
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

/**
 * The server of stdio. It exchanges messages over the standard input and output of this process, which clients start as
 * their child (STD-01). Only messages go to standard output (STD-03).
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { HandlerCutoff, NumericOption } from "@effect-mcp/session/internal"
import * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import type { Writable } from "node:stream"
import * as LineWriter from "../internal/shared/LineWriter.ts"
import { atMost, delay } from "../internal/shared/nodeTimers.ts"
import { unwrapCause } from "../internal/shared/platformErrors.ts"
import * as Turns from "../internal/shared/Turns.ts"
import * as consoleToStderr from "../internal/stdio/consoleToStderr.ts"
import { ProgressGap } from "../internal/stdio/ProgressGap.ts"
import { thisPackage } from "../internal/thisPackage.ts"
import * as JsonLines from "../JsonLines.ts"

/**
 * Options of a stdio server; all are optional.
 *
 * @category options
 */
export interface Options {
  /** The largest message to read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read; an integer beyond 2^53 counts as eight. Default 100,000.
   * A message with more is not parsed and is rejected with −32700 without an id: parsing takes time and memory for each
   * of them, and cannot be interrupted.
   */
  readonly maxMessageNodes?: number | undefined
  /** The time that the client has to read the last messages when the scope closes. Default 3 seconds. */
  readonly closeTimeout?: Duration.Input | undefined
  /**
   * The time that handlers may continue after the end of standard input, if the limit `gracefulTimeout` of their
   * session is not shorter. Then they are interrupted, and their requests get no reply. Default 0.5 seconds, because
   * clients commonly kill a server 2 seconds after they have closed its input. A pipeline, which kills nothing, may
   * allow more.
   */
  readonly halfCloseTimeout?: Duration.Input | undefined
}

/**
 * Options of {@link runMain}.
 *
 * @category options
 */
export interface RunOptions {
  /**
   * The time that handlers may continue after the first signal, if the limit `gracefulTimeout` of their session is
   * not shorter. Default 1.5 seconds, because clients commonly kill a server 2 seconds after `SIGTERM`. A second signal
   * interrupts the handlers at once.
   */
  readonly gracefulTimeout?: Duration.Input | undefined
  /** The time that the program has to end after the first signal. Default 10 seconds. */
  readonly shutdownTimeout?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  closeTimeout: NumericOption.duration,
  halfCloseTimeout: NumericOption.duration
}

/** The time that the program has to end after a second signal. */
const hurriedShutdownTimeout = "2 seconds"

/** The time that the end of the process waits until the standard streams are flushed. */
const lastFlushTimeout = "1 second"

const open = Effect.fnUntraced(function*(
  stdio: Stdio.Stdio,
  options: Options | undefined
): Effect.fn.Return<Transport.Connection, never, Scope.Scope> {
  yield* consoleToStderr.scoped
  const writer = yield* LineWriter.make({
    sink: stdio.stdout(),
    pacing: new ProgressGap(),
    explain: (cause) => Effect.succeed(TransportError.make({ _tag: "WriteFailed", cause: unwrapCause(cause) }))
  })
  yield* Effect.addFinalizer(() => atMost(writer.close, options?.closeTimeout ?? "3 seconds"))

  const run = Effect.fnUntraced(function*(
    deliver: (inbound: Transport.Inbound) => void
  ): Effect.fn.Return<Transport.End, TransportError.TransportError> {
    const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }), {
      maxMessageBytes: options?.maxMessageBytes,
      maxMessageNodes: options?.maxMessageNodes
    })
    yield* stdio.stdin.pipe(
      Stream.runForEachArray(Turns.bytes(decoder.push)),
      Effect.mapError((error) => TransportError.make({ _tag: "ReadFailed", cause: unwrapCause(error) })),
      // A message that was accepted and cannot be written has no sender any more, so `run` fails.
      Effect.raceFirst(writer.failed)
    )
    decoder.finish()
    return { exit: undefined, writable: true }
  })

  return {
    run,
    send: writer.send,
    halfCloseMillis: Duration.toMillis(options?.halfCloseTimeout ?? "500 millis")
  }
})

/**
 * Creates the transport as a value. It carries one session: the second `connect` fails with `InUse`.
 *
 * `run` ends with standard input. That is a half-close, after which `send` still works: handlers have 0.5 seconds to
 * finish (`halfCloseTimeout`), and their replies are sent. `send` suspends while 1 MiB waits for a client that does not
 * read, and fails with `WriteFailed` if the client has closed its end. While the transport is connected, output of
 * `console`, and so of Effect's loggers, goes to standard error. Closing the scope writes what was sent.
 *
 * @example
 * ```ts
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Stdio from "effect/Stdio"
 *
 * // Standard input and output carry one session.
 * export const second = Effect.gen(function*() {
 *   const transport = yield* StdioServer.make()
 *   yield* transport.connect
 *   return (yield* Effect.flip(transport.connect)).message
 * }).pipe(Effect.scoped, Effect.provide(Stdio.layerTest({})))
 * // => "this transport already carries a session; make a transport for each session"
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function*(
  options?: Options
): Effect.fn.Return<Transport.Transport["Service"], never, Stdio.Stdio> {
  LoadedPackages.check(thisPackage)
  NumericOption.check(options, rules)
  const stdio = yield* Stdio.Stdio
  let used = false
  return {
    connect: Effect.suspend(() => {
      if (used) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      used = true
      return open(stdio, options)
    })
  }
})

/**
 * Provides the transport over the standard streams of any platform. On Node, {@link layerNode} includes them.
 *
 * @example
 * ```ts
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Layer from "effect/Layer"
 * import * as Stdio from "effect/Stdio"
 * import type * as Stream from "effect/Stream"
 *
 * // The bytes of a recorded client instead of standard input.
 * export const replayed = (input: Stream.Stream<Uint8Array>) =>
 *   Layer.provide(StdioServer.layer(), Stdio.layerTest({ stdin: input }))
 * ```
 *
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<Transport.Transport, never, Stdio.Stdio> =>
  Layer.effect(Transport.Transport, make(options))

/** Waits until the operating system has all output, or cannot take it. */
const flushed = (output: Writable): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (output.writableLength === 0 || output.destroyed) return resume(Effect.void)
    // Writes are carried out in order: after the empty one, all are done.
    output.write("", () => resume(Effect.void))
  })

/** The line for a person who starts the server in a terminal, where it would seem to hang. */
const inTerminal = "This MCP server reads messages from standard input, one JSON text on each line, and writes them " +
  "to standard output. MCP clients start it themselves; to stop it here, press Ctrl+C or Ctrl+D.\n"

/**
 * Provides the standard streams of this process. They differ from `NodeStdio.layer` in two ways. After reading has
 * ended or was interrupted, standard input is destroyed, so it does not keep the process alive. Writing ends only after
 * the operating system has all output. If standard input is a terminal, one line on standard error says what the
 * program is.
 *
 * @example
 * ```ts
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Stdio from "effect/Stdio"
 * import * as Stream from "effect/Stream"
 *
 * // Counts every byte that a client sends.
 * let bytes = 0
 * const counting = Layer.effect(
 *   Stdio.Stdio,
 *   Effect.map(Stdio.Stdio, (stdio) => ({
 *     ...stdio,
 *     stdin: Stream.tap(stdio.stdin, (chunk) => Effect.sync(() => bytes += chunk.length))
 *   }))
 * )
 * export const transport = StdioServer.layer().pipe(Layer.provide(counting), Layer.provide(StdioServer.layerStdioNode))
 * ```
 *
 * @category layers
 */
export const layerStdioNode: Layer.Layer<Stdio.Stdio> = Layer.effect(
  Stdio.Stdio,
  Effect.map(Stdio.Stdio, (stdio) => {
    if (process.stdin.isTTY) process.stderr.write(inTerminal)
    return {
      ...stdio,
      stdin: Stream.ensuring(stdio.stdin, Effect.sync(() => process.stdin.destroy())),
      stdout: (options) => Sink.mapEffect(stdio.stdout(options), () => flushed(process.stdout))
    }
  })
).pipe(Layer.provide(NodeStdio.layer))

/**
 * Provides the transport on Node.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 *
 * export const main = ServerSession.serve({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("hello")] })
 * }, { info: { name: "greeter", version: "1.0.0" } }).pipe(Effect.provide(StdioServer.layerNode()))
 * ```
 *
 * @category layers
 */
export const layerNode = (options?: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), layerStdioNode)

const flushAndExit = (code: number): void => {
  const flush = Effect.all([flushed(process.stdout), flushed(process.stderr)], { concurrency: "unbounded" })
  Effect.runFork(atMost(flush, lastFlushTimeout)).addObserver(() => process.exit(code))
}

/** Returns the exit code of the process. A program that ends because of a signal has succeeded. */
const exitCode = <A, E>(exit: Exit.Exit<A, E>): number =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : Runtime.getErrorExitCode(Cause.squash(exit.cause))

const exitAfter = (duration: Duration.Input): void => {
  const exit = Effect.sync(() => {
    const seconds = Duration.toSeconds(duration)
    process.stderr.write(`the program has not ended ${seconds} s after the signal: exiting with code 1\n`)
    process.exit(1)
  })
  Effect.runFork(Effect.andThen(delay(duration), exit))
}

/**
 * Bounds the shutdown of the process from the first signal on. Returns the effect that completes when handlers are
 * interrupted.
 */
const boundShutdown = ({ shutdownTimeout, gracefulTimeout }: RunOptions): Effect.Effect<void> => {
  const cutoff = Deferred.makeUnsafe<void>()
  const cutOff = Effect.asVoid(Deferred.succeed(cutoff, undefined))
  let signals = 0
  const onSignal = () => {
    signals++
    if (signals === 1) {
      exitAfter(shutdownTimeout ?? "10 seconds")
      Effect.runFork(Effect.andThen(delay(gracefulTimeout ?? "1500 millis"), cutOff))
    } else if (signals === 2) {
      exitAfter(hurriedShutdownTimeout)
      Effect.runFork(cutOff)
    }
  }
  process.on("SIGTERM", onSignal)
  process.on("SIGINT", onSignal)
  return Deferred.await(cutoff)
}

/**
 * Runs a server as the whole program of this process.
 *
 * - `SIGTERM` and `SIGINT` interrupt it. Success and interruption exit with 0; a failure is logged, and exits with 1 or
 *   with the error's own `Runtime.errorExitCode`.
 * - When the program ends, the process exits, even if standard input is still open or something else keeps it alive.
 * - After the first signal, handlers have 1.5 seconds to finish (`gracefulTimeout`); then they are interrupted. A
 *   second signal interrupts them at once.
 * - 10 seconds after the first signal the process exits with 1, even if a finalizer hangs (`shutdownTimeout`). After a
 *   second signal it does so after 2 seconds.
 * - Output of `console`, and so of Effect's loggers, goes to standard error from the start.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 *
 * const program = ServerSession.serve({
 *   "tools/list": () => Effect.succeed({ tools: [{ name: "greet", inputSchema: { type: "object" } }] }),
 *   "tools/call": () => Effect.succeed({ content: [{ type: "text", text: "Hello" }] })
 * }, { info: { name: "greeter", version: "1.0.0" } }).pipe(Effect.provide(StdioServer.layerNode()))
 *
 * // `StdioServer.runMain(program)` is the last line of the program.
 * export const main = () => StdioServer.runMain(program)
 * ```
 *
 * @category running
 */
export const runMain = <A, E>(program: Effect.Effect<A, E>, options?: RunOptions): void => {
  NumericOption.check(options, { gracefulTimeout: NumericOption.duration, shutdownTimeout: NumericOption.duration })
  consoleToStderr.forGood()
  const bounded = Effect.provideService(program, HandlerCutoff, boundShutdown(options ?? {}))
  NodeRuntime.runMain(bounded, { teardown: (exit) => flushAndExit(exitCode(exit)) })
}

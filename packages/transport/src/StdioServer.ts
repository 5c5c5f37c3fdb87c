/**
 * The server half of stdio: speaks MCP over the standard input and output of this process, as a program that clients start
 * as their child (STD-01). Nothing but protocol goes to standard output (STD-03).
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import { HandlerCutoff } from "@effect-mcp/session/Shutdown"
import * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import type { Writable } from "node:stream"
import * as LineWriter from "./internal/shared/LineWriter.ts"
import { atMost, delay } from "./internal/shared/nodeTimers.ts"
import * as Turns from "./internal/shared/Turns.ts"
import { unwrapCause } from "./internal/shared/unwrapCause.ts"
import * as consoleToStderr from "./internal/stdio/consoleToStderr.ts"
import * as LineFraming from "./LineFraming.ts"

/**
 * Options of {@link make} and {@link layerWith}.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The longest message to read, in bytes. The default is 4 MiB. */
  readonly messageLimitBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read. The default is 100,000. A message with more is answered
   * with −32700, without an id, since it was not parsed: parsing takes time and memory for each of them, and cannot be
   * interrupted.
   */
  readonly messageLimitNodes?: number | undefined
  /** How long the end of the scope waits for a client that does not read what was sent. The default is 3 seconds. */
  readonly flushWithin?: Duration.Input | undefined
}

/**
 * Options of {@link runMain}.
 *
 * @category options
 * @since 0.1.0
 */
export interface RunOptions {
  /**
   * How long handlers may continue after the first signal, if the limit `gracefulClose` of their session is not
   * shorter. The default is 1.5 seconds, because clients commonly kill a server 2 seconds after `SIGTERM`. A second
   * signal interrupts the handlers at once.
   */
  readonly handlersWithin?: Duration.Input | undefined
  /** How long the program may take to end after the first signal. The default is 10 seconds. */
  readonly endWithin?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  messageLimitBytes: NumericOption.count,
  messageLimitNodes: NumericOption.count,
  flushWithin: NumericOption.duration
}

/** The longest time that a program may take to end after a second signal. */
const hurriedEndWithin = "2 seconds"

/** How long the end of the process waits for what others wrote to the standard streams. */
const lastFlushWithin = "1 second"

const open = Effect.fnUntraced(function*(
  stdio: Stdio.Stdio,
  options: Options | undefined
): Effect.fn.Return<Transport.Connection, never, Scope.Scope> {
  yield* consoleToStderr.scoped
  const writer = yield* LineWriter.make({
    sink: stdio.stdout(),
    explain: (cause) => Effect.succeed(TransportError.make({ _tag: "WriteFailed", cause: unwrapCause(cause) }))
  })
  yield* Effect.addFinalizer(() => atMost(writer.close, options?.flushWithin ?? "3 seconds"))

  const run = Effect.fnUntraced(function*(
    deliver: (inbound: Transport.Inbound) => void
  ): Effect.fn.Return<Transport.End, TransportError.TransportError> {
    const decoder = LineFraming.decoder((frame, bytes) => deliver({ frame, bytes }), {
      limitBytes: options?.messageLimitBytes,
      limitNodes: options?.messageLimitNodes
    })
    yield* stdio.stdin.pipe(
      Stream.runForEachArray((chunks) => Turns.bytes(chunks, decoder.push)),
      Effect.mapError((error) => TransportError.make({ _tag: "ReadFailed", cause: unwrapCause(error) })),
      // What was taken and cannot be written is nobody's send any more, so that reading has to tell.
      Effect.raceFirst(writer.failed)
    )
    decoder.finish()
    return { exit: undefined, writable: true }
  })

  return { run, send: writer.send }
})

/**
 * The transport as a value. It carries one session: the second `connect` fails with `InUse`.
 *
 * `run` ends when standard input does; that is a half-close, after which `send` still works. `send` suspends while 1 MiB
 * waits for a client that does not read, and fails with `WriteFailed` when it has closed its end. While it is connected,
 * what is written to `console`, and so by Effect's loggers, goes to standard error. The end of the scope writes what was
 * sent.
 *
 * @example
 * ```ts
 * import { StdioServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Stdio from "effect/Stdio"
 *
 * // Standard input and output carry one conversation.
 * export const second = Effect.gen(function*() {
 *   const transport = yield* StdioServer.make()
 *   yield* transport.connect
 *   return (yield* Effect.flip(transport.connect)).message
 * }).pipe(Effect.scoped, Effect.provide(Stdio.layerTest({}))) // => "this transport already carries a session"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*(
  options?: Options
): Effect.fn.Return<Transport.Transport["Service"], never, Stdio.Stdio> {
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
 * The transport as a Layer over the standard streams of any platform.
 *
 * @example
 * ```ts
 * import { StdioServer } from "@effect-mcp/transport"
 * import * as Layer from "effect/Layer"
 *
 * export const small = Layer.provide(
 *   StdioServer.layerWith({ messageLimitBytes: 64 * 1024, flushWithin: "1 second" }),
 *   StdioServer.layerStdio
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: Options): Layer.Layer<Transport.Transport, never, Stdio.Stdio> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * {@link layerWith} with every default.
 *
 * @example
 * ```ts
 * import { StdioServer } from "@effect-mcp/transport"
 * import * as Layer from "effect/Layer"
 * import * as Stdio from "effect/Stdio"
 * import type * as Stream from "effect/Stream"
 *
 * // The bytes of a recorded client, in place of standard input.
 * export const replayed = (input: Stream.Stream<Uint8Array>) =>
 *   Layer.provide(StdioServer.layer, Stdio.layerTest({ stdin: input }))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Transport.Transport, never, Stdio.Stdio> = Layer.effect(Transport.Transport, make())

/** Waits until all that was written has been handed to the operating system, or cannot be. */
const flushed = (output: Writable): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (output.writableLength === 0 || output.destroyed) return resume(Effect.void)
    // Writes are carried out in order: when the empty one is done, all are.
    output.write("", () => resume(Effect.void))
  })

/**
 * The standard streams of this process, as a server wants them. They differ from `NodeStdio.layer` in two ways: when
 * reading has ended or was interrupted, standard input is destroyed, so that it does not keep the process alive; and
 * writing has ended only when all of it has been handed to the operating system.
 *
 * @example
 * ```ts
 * import { StdioServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Stdio from "effect/Stdio"
 * import * as Stream from "effect/Stream"
 *
 * // Every byte that a client sends is counted on its way.
 * let bytes = 0
 * const counting = Layer.effect(
 *   Stdio.Stdio,
 *   Effect.map(Stdio.Stdio, (stdio) => ({
 *     ...stdio,
 *     stdin: Stream.tap(stdio.stdin, (chunk) => Effect.sync(() => bytes += chunk.length))
 *   }))
 * )
 * export const transport = StdioServer.layer.pipe(Layer.provide(counting), Layer.provide(StdioServer.layerStdio))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerStdio: Layer.Layer<Stdio.Stdio> = Layer.effect(
  Stdio.Stdio,
  Effect.map(Stdio.Stdio, (stdio) => ({
    ...stdio,
    stdin: Stream.ensuring(stdio.stdin, Effect.sync(() => process.stdin.destroy())),
    stdout: (options) => Sink.mapEffect(stdio.stdout(options), () => flushed(process.stdout))
  }))
).pipe(Layer.provide(NodeStdio.layer))

/**
 * The transport as a Layer that needs nothing, on Node.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * export const main = ServerSession.serve({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("hello")] })
 * }, { info: { name: "greeter", version: "1.0.0" } }).pipe(Effect.provide(StdioServer.layerNode))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNode: Layer.Layer<Transport.Transport> = Layer.provide(layer, layerStdio)

const flushAndExit = (code: number): void => {
  const flush = Effect.all([flushed(process.stdout), flushed(process.stderr)], { concurrency: "unbounded" })
  Effect.runFork(atMost(flush, lastFlushWithin)).addObserver(() => process.exit(code))
}

/** A program that was asked to end and ended is a program that succeeded, however it was asked. */
const exitCode = <A, E>(exit: Exit.Exit<A, E>): number =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : Runtime.getErrorExitCode(Cause.squash(exit.cause))

const exitAfter = (duration: Duration.Input): void => {
  const giveUp = Effect.sync(() => {
    process.stderr.write("still running long after the signal to end: exiting\n")
    process.exit(1)
  })
  Effect.runFork(Effect.andThen(delay(duration), giveUp))
}

/**
 * Bounds the end of the process from the first signal on. Returns the effect that completes when handlers are cut off.
 */
const boundEnd = ({ endWithin, handlersWithin }: RunOptions): Effect.Effect<void> => {
  const cutoff = Deferred.makeUnsafe<void>()
  const cutOff = Effect.asVoid(Deferred.succeed(cutoff, undefined))
  let signals = 0
  const onSignal = () => {
    signals++
    if (signals === 1) {
      exitAfter(endWithin ?? "10 seconds")
      Effect.runFork(Effect.andThen(delay(handlersWithin ?? "1500 millis"), cutOff))
    } else if (signals === 2) {
      exitAfter(hurriedEndWithin)
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
 * - When it has ended the process exits, though standard input may still be open or something else keep it alive.
 * - After the first signal, handlers have 1.5 seconds to finish (`handlersWithin`); then they are interrupted. A second
 *   signal interrupts them at once.
 * - 10 seconds after the first signal the process exits with 1, although a finalizer may hang. `endWithin` is that
 *   bound. After a second signal the bound is 2 seconds.
 * - From its start on, what is written to `console`, and so by Effect's loggers, goes to standard error.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const program = ServerSession.serve({
 *   "tools/list": () => Effect.succeed({ tools: [{ name: "greet", inputSchema: { type: "object" } }] }),
 *   "tools/call": () => Effect.succeed({ content: [{ type: "text", text: "Hello" }] })
 * }, { info: { name: "greeter", version: "1.0.0" } }).pipe(Effect.provide(StdioServer.layerNode))
 *
 * // `StdioServer.runMain(program)` is the last line of the program.
 * export const main = () => StdioServer.runMain(program)
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const runMain = <A, E>(program: Effect.Effect<A, E>, options?: RunOptions): void => {
  NumericOption.check(options, { handlersWithin: NumericOption.duration, endWithin: NumericOption.duration })
  consoleToStderr.forGood()
  const bounded = Effect.provideService(program, HandlerCutoff, boundEnd(options ?? {}))
  NodeRuntime.runMain(bounded, { teardown: (exit) => flushAndExit(exitCode(exit)) })
}

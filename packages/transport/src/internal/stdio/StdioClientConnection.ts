/** The connection of a stdio client: it writes to the input of the server's process and reads its outputs. */
import type { CloseReason } from "@effect-mcp/protocol"
import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type { ChildProcessHandle, ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as JsonLines from "../../JsonLines.ts"
import * as LineWriter from "../shared/LineWriter.ts"
import { atMost, delay } from "../shared/nodeTimers.ts"
import { unwrapCause } from "../shared/platformErrors.ts"
import * as Turns from "../shared/Turns.ts"
import { ProgressGap } from "./ProgressGap.ts"
import * as ServerProcess from "./ServerProcess.ts"
import * as StderrTail from "./StderrTail.ts"

/** The command of the server, and the limits of its connection. */
export interface Settings extends ServerProcess.Command {
  readonly maxMessageBytes?: number | undefined
  readonly maxMessageNodes?: number | undefined
  /** The most lines of standard error in the exit report. Default 20. */
  readonly maxStderrLines?: number | undefined
  /** The time that the process has to exit after the end of its input, before `SIGTERM`. Default 2 seconds. */
  readonly exitTimeout?: Duration.Input | undefined
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

/** Reads standard error to its end, even if no function receives it. */
const readErrors = Effect.fnUntraced(function*(
  handle: ChildProcessHandle,
  settings: Settings,
  readers: Scope.Scope,
  started: Latch.Latch
) {
  const tail = StderrTail.make({ keep: settings.maxStderrLines ?? 20, cutAt: keptLineLength })
  let onLine = typeof settings.stderr === "function" ? settings.stderr : undefined
  let failed: Effect.Effect<void> = Effect.void
  const notify = (lines: ReadonlyArray<string>): void => {
    try {
      lines.forEach((line) => onLine?.(line))
    } catch (error) {
      onLine = undefined
      failed = Effect.logWarning("the function that reads the child's standard error failed", Cause.die(error))
    }
  }
  const warn = Effect.suspend(() => {
    const warning = failed
    failed = Effect.void
    return warning
  })
  const push = Turns.bytes((part) => notify(tail.push(part)))
  // Each part depends on the chunks before it.
  const pushLast = (chunk: Uint8Array) => Effect.suspend(() => push([tail.lastPart(chunk)]))
  const take = (chunks: ReadonlyArray<Uint8Array>): Effect.Effect<void> =>
    onLine === undefined ? Effect.forEach(chunks, pushLast, { discard: true }) : push(chunks)
  const reader = yield* handle.stderr.pipe(
    Stream.runForEachArray((chunks) => Effect.andThen(started.open, Effect.andThen(take(chunks), warn))),
    // A failure to read standard error does not fail the session.
    Effect.ignore,
    Effect.andThen(Effect.sync(() => notify(tail.finish()))),
    Effect.andThen(warn),
    Effect.forkIn(readers)
  )
  return { ended: Effect.asVoid(Fiber.await(reader)), lastLines: tail.snapshot }
})

/** Reads standard output from its first subscriber on, and to its end even after the subscriber has left. */
const readOutput = Effect.fnUntraced(function*(
  handle: ChildProcessHandle,
  settings: Settings,
  readers: Scope.Scope,
  started: Latch.Latch
) {
  const discard = () => {}
  let deliver: (inbound: Transport.Inbound) => void = discard
  let chunksRead = 0
  const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }), {
    maxMessageBytes: settings.maxMessageBytes,
    maxMessageNodes: settings.maxMessageNodes
  })
  const push = Turns.bytes(decoder.push)
  const begun = Latch.makeUnsafe(false)
  const reader = yield* handle.stdout.pipe(
    Stream.runForEachArray((chunks) =>
      Effect.suspend(() => {
        chunksRead += chunks.length
        started.openUnsafe()
        return push(chunks)
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

/** Starts the server, and opens a connection to it. Leaving the scope stops the server. */
export const open = Effect.fnUntraced(function*(
  settings: Settings
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
  const handle = yield* ServerProcess.spawn(settings)
  const started = Latch.makeUnsafe(false)
  const errors = yield* readErrors(handle, settings, readers, started)
  errorsRead = errors.ended
  const output = yield* readOutput(handle, settings, readers, started)
  outputRead = output.read

  let status: ServerProcess.ExitStatus = { exitCode: undefined, signal: undefined }
  const exited = Effect.map(ServerProcess.exitStatus(handle), (known) => {
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
    pacing: new ProgressGap(),
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
  yield* Effect.addFinalizer(() => Effect.andThen(output.begin, atMost(ended, settings.exitTimeout ?? "2 seconds")))

  return { run, send: writer.send, started: Effect.asVoid(started.await) }
})

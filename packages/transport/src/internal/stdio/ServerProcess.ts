/** The process of a stdio server: its start, its exit status, and the stop of its whole process group (STD-07). */
import * as TransportError from "@effect-mcp/session/TransportError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as ChildProcess from "effect/process/ChildProcess"
import type { ChildProcessHandle } from "effect/process/ChildProcessSpawner"
import * as CommandLine from "effect/process/CommandLine"
import type { Redacted } from "effect/Redacted"
import * as Scope from "effect/Scope"
import { codeOf, unwrapCause } from "../shared/platformErrors.ts"
import * as ProcessGroup from "./ProcessGroup.ts"

/** The command that starts a server. */
export interface Command {
  readonly command: string
  readonly args?: ReadonlyArray<string | Redacted<string>> | undefined
  readonly cwd?: string | undefined
  /** All environment variables of the process. */
  readonly env: Readonly<Record<string, string | Redacted<string> | undefined>>
  /** `"inherit"`, or a function: then standard error is a pipe. */
  readonly stderr?: "inherit" | ((line: string) => void) | undefined
  /** The time that the process group has to end after `SIGTERM`, before `SIGKILL`. Default 2 seconds. */
  readonly terminateTimeout?: Duration.Input | undefined
}

/** The exit code of a process, or the signal that ended it. */
export interface ExitStatus {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
}

const commandLine = (command: Command): string => CommandLine.display([command.command, ...(command.args ?? [])])

/** Returns how the child exited. The handle names a signal only in the text of its error. */
export const exitStatus = (handle: ChildProcessHandle): Effect.Effect<ExitStatus> =>
  Effect.match(handle.exitCode, {
    onSuccess: (exitCode) => ({ exitCode, signal: undefined }),
    onFailure: (error) => ({ exitCode: undefined, signal: /\bSIG[A-Z0-9]+\b/.exec(String(unwrapCause(error)))?.[0] })
  })

/** The codes of commands and directories that do not exist, or cannot be run. Others may be a lack of resources. */
const permanentCodes: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "EACCES", "ENOEXEC"])

const started = (command: Command) =>
  ChildProcess.make(command.command, command.args ?? [], {
    cwd: command.cwd,
    env: command.env,
    stderr: command.stderr === "inherit" ? "inherit" : "pipe",
    killSignal: "SIGTERM",
    // Without it, the scope would wait forever for a child that ignores the signal.
    forceKillAfter: command.terminateTimeout ?? "2 seconds"
  }).pipe(
    Effect.mapError((error) => {
      const cause = unwrapCause(error)
      const failed = { _tag: "ConnectFailed", target: commandLine(command), cause } as const
      return TransportError.make(permanentCodes.has(codeOf(cause)) ? { ...failed, isPermanent: true } : failed)
    })
  )

/**
 * Starts the child, and stops its whole process group when the scope closes. The scope closes as soon as all processes
 * of the group have ended. The spawner's own finalizer may still wait then, in a detached fiber without resources. It
 * waits until the system has removed the processes, which takes 3 seconds if nothing collects their exit statuses.
 */
export const spawn = Effect.fnUntraced(function*(command: Command) {
  const group = yield* Scope.make()
  const handle = yield* Scope.provide(started(command), group).pipe(
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

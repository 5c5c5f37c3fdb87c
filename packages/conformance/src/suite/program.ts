/** Child processes of Node: programs that run to their exit, and servers. */
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"

/** The failure of a program that exited too early. */
export class ProgramFailed extends Data.TaggedError("ProgramFailed")<{ readonly message: string }> {}

/** The exit of a program, and its output. */
export interface Run {
  readonly exitCode: number | null
  readonly output: string
}

/** A running program, which stops when its scope closes. */
interface Running {
  readonly output: () => string
  /** Calls `onChange` after each output, and after the exit. */
  readonly watch: (onChange: (ended: number | null | undefined) => void) => void
}

const start = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  timeout: Duration.Input
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: "pipe" })),
      stop(timeout)
    ),
    (child) => {
      let output = ""
      let onChange: (ended: number | null | undefined) => void = () => {}
      let ended: number | null | undefined
      const onOutput = (text: string) => {
        output += text
        onChange(ended)
      }
      child.stdout.setEncoding("utf8").on("data", onOutput)
      child.stderr.setEncoding("utf8").on("data", onOutput)
      child.once("close", (exitCode) => {
        ended = exitCode
        onChange(ended)
      })
      return {
        output: () => output,
        watch: (next) => {
          onChange = next
          onChange(ended)
        }
      }
    }
  )

/** Stops a program, and waits for its exit. */
const stop = (timeout: Duration.Input) => (child: ChildProcess): Effect.Effect<void> => {
  const end = (signal: NodeJS.Signals) =>
    Effect.callback<void>((resume) => {
      if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
      child.once("close", () => resume(Effect.void))
      child.kill(signal)
    })
  return Effect.timeoutOrElse(end("SIGTERM"), { duration: timeout, orElse: () => end("SIGKILL") })
}

/** The time limit for the exit of a program after it was asked to stop. */
const stopTimeout = "5 seconds"

/** Runs a program until it exits, with any status. */
export const run = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Run> =>
  Effect.scoped(Effect.flatMap(start(args, env, stopTimeout), ({ output, watch }) =>
    Effect.callback<Run>((resume) => {
      watch((ended) => {
        if (ended !== undefined) resume(Effect.succeed({ exitCode: ended, output: output() }))
      })
    })))

/** Starts a server, and waits for the URL that it prints. The server stops when the scope closes. */
export const serve = (
  args: ReadonlyArray<string>,
  { timeout = stopTimeout }: { readonly timeout?: Duration.Input } = {}
): Effect.Effect<string, ProgramFailed, Scope.Scope> =>
  Effect.flatMap(start(args, {}, timeout), ({ output, watch }) =>
    Effect.callback<string, ProgramFailed>((resume) => {
      watch((ended) => {
        const address = /^(http:\/\/\S+)$/m.exec(output())?.[1]
        if (address !== undefined) resume(Effect.succeed(address))
        else if (ended !== undefined) {
          resume(
            Effect.fail(
              new ProgramFailed({
                message: `${args.join(" ")} ended with ${ended} before it printed a URL:\n${output()}`
              })
            )
          )
        }
      })
    }))

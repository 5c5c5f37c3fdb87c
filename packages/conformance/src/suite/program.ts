/**
 * Child processes: programs of Node that are run to their end, and one that serves meanwhile.
 */
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"

/** A program ended before it did what it was started for. */
export class ProgramFailed extends Data.TaggedError("ProgramFailed")<{ readonly message: string }> {}

/** How a program ended, and all that it wrote. */
export interface Run {
  readonly exitCode: number | null
  readonly output: string
}

/** A program that is running. Leaving the scope ends it. */
interface Running {
  readonly output: () => string
  /** Calls back each time it has written, and when it has ended. */
  readonly watch: (look: (ended: number | null | undefined) => void) => void
}

const start = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  patience: Duration.Input
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: "pipe" })),
      stop(patience)
    ),
    (child) => {
      let output = ""
      let look: (ended: number | null | undefined) => void = () => {}
      let ended: number | null | undefined
      const heard = (text: string) => {
        output += text
        look(ended)
      }
      child.stdout.setEncoding("utf8").on("data", heard)
      child.stderr.setEncoding("utf8").on("data", heard)
      child.once("close", (exitCode) => {
        ended = exitCode
        look(ended)
      })
      return {
        output: () => output,
        watch: (next) => {
          look = next
          look(ended)
        }
      }
    }
  )

/** Asks it to end and waits until it has, so that whatever follows finds nothing of it. */
const stop = (patience: Duration.Input) => (child: ChildProcess): Effect.Effect<void> => {
  const end = (signal: NodeJS.Signals) =>
    Effect.callback<void>((resume) => {
      if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
      child.once("close", () => resume(Effect.void))
      child.kill(signal)
    })
  return Effect.timeoutOrElse(end("SIGTERM"), { duration: patience, orElse: () => end("SIGKILL") })
}

/** How long a program may take to end when it is asked to. */
const enough = "5 seconds"

/** Runs a program to its end, whatever that is. */
export const run = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Run> =>
  Effect.scoped(Effect.flatMap(start(args, env, enough), ({ output, watch }) =>
    Effect.callback<Run>((resume) => {
      watch((ended) => {
        if (ended !== undefined) resume(Effect.succeed({ exitCode: ended, output: output() }))
      })
    })))

/** Starts a program that serves, and waits for the address that it prints. Leaving the scope ends it. */
export const serve = (
  args: ReadonlyArray<string>,
  { patience = enough }: { readonly patience?: Duration.Input } = {}
): Effect.Effect<string, ProgramFailed, Scope.Scope> =>
  Effect.flatMap(start(args, {}, patience), ({ output, watch }) =>
    Effect.callback<string, ProgramFailed>((resume) => {
      watch((ended) => {
        const address = /^(http:\/\/\S+)$/m.exec(output())?.[1]
        if (address !== undefined) resume(Effect.succeed(address))
        else if (ended !== undefined) {
          resume(
            Effect.fail(
              new ProgramFailed({ message: `${args.join(" ")} ended with ${ended} and served nothing:\n${output()}` })
            )
          )
        }
      })
    }))

/** Processes that use a token store. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { spawn } from "node:child_process"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"

const fileOf = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

/** The id of a user without rights. */
export const unprivileged = 65_534

/** The end of a process. */
export interface Ended {
  readonly lines: ReadonlyArray<string>
  readonly signal: NodeJS.Signals | null
  readonly code: number | null
}

/** The options of a process. */
export interface ProcessOptions {
  /** Kills the process at its operation of this number on the files of its place. */
  readonly killAt?: number
  /** Runs at each line of the output. It may kill the process. */
  readonly onLine?: (line: string, kill: () => void) => void
}

/** Runs the fixture with these arguments until it ends. It is killed if the caller is interrupted. */
export const run = (
  args: readonly [kind: string, place: string, ...ReadonlyArray<string>],
  options: ProcessOptions = {}
) =>
  Effect.callback<Ended>((resume) => {
    const { killAt, onLine } = options
    const preload = killAt === undefined ? [] : ["--import", fileOf("killedAtStep.mjs")]
    const child = spawn(process.execPath, [...preload, fileOf("tokenStoreProcess.ts"), ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_NO_WARNINGS: "1", KILL_AT: String(killAt), KILL_IN: args[1] }
    })
    const kill = () => void child.kill("SIGKILL")
    const lines: Array<string> = []
    const output = readline.createInterface({ input: child.stdout })
    output.on("line", (line) => {
      lines.push(line)
      onLine?.(line, kill)
    })
    child.on("close", (code, signal) => resume(Effect.succeed({ lines, code, signal })))
    return Effect.sync(kill)
  })

/** Starts the fixture, and returns when it has printed a line. It is killed with the scope, or by the result. */
export const start = (args: readonly [kind: string, place: string, ...ReadonlyArray<string>]) =>
  Effect.gen(function*() {
    let started = () => {}
    const begun = new Promise<void>((resolve) => {
      started = resolve
    })
    const fiber = yield* Effect.forkScoped(run(args, { onLine: () => started() }))
    yield* Effect.promise(() => begun)
    return Fiber.interrupt(fiber)
  })

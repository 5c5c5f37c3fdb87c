/** A process under attack, seen from its parent. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { none, reportMillis, type Vitals } from "./Vitals.ts"

export interface Victim {
  readonly vitals: () => Vitals
  readonly exit: () => string | number | undefined
  /** The address of a server. */
  readonly address: Effect.Effect<string>
  readonly send: (message: string) => void
}

/** Starts a program of this folder as a child with an IPC channel. It is killed when the scope closes. */
export const start = Effect.fnUntraced(function*(
  program: string,
  args: ReadonlyArray<string>,
  execArgs: ReadonlyArray<string> = []
): Effect.fn.Return<Victim, never, Scope.Scope> {
  let vitals = none
  let reportedAt = performance.now()
  let exit: string | number | undefined
  let address: string | undefined
  const listeners: Array<(address: string) => void> = []
  const running = yield* Effect.acquireRelease(
    Effect.sync((): ChildProcess => {
      const child = spawn(
        process.execPath,
        [
          "--disable-warning=ExperimentalWarning",
          ...execArgs,
          fileURLToPath(new URL(program, import.meta.url)),
          ...args
        ],
        { stdio: ["ignore", "inherit", "inherit", "ipc"] }
      )
      child.on("message", (message) => {
        if (typeof message !== "object" || message === null) return
        if ("address" in message) {
          address = String(message.address)
          for (const listener of listeners) listener(address)
        } else if ("exit" in message) exit ??= String(message.exit)
        else {
          vitals = { ...vitals, ...message }
          reportedAt = performance.now()
        }
      })
      child.on("exit", (code, signal) => {
        exit ??= signal ?? code ?? undefined
      })
      return child
    }),
    (child) =>
      Effect.callback<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )
  return {
    // A process with a blocked event loop sends no reports, so the time since the last one counts.
    vitals: () =>
      vitals === none || exit !== undefined
        ? vitals
        : { ...vitals, loopMillis: Math.max(vitals.loopMillis, performance.now() - reportedAt - reportMillis) },
    exit: () => exit,
    send: (message) => void running.send(message),
    address: Effect.callback<string>((resume) => {
      if (address === undefined) listeners.push((value) => resume(Effect.succeed(value)))
      else resume(Effect.succeed(address))
    })
  }
})

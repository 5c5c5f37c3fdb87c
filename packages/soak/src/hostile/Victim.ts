/** A process under attack, seen from its parent. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../../scripts/joinedProgram.ts"
import * as VictimLog from "./VictimLog.ts"
import { none, reportMillis, type Vitals } from "./Vitals.ts"

export interface Victim {
  readonly vitals: () => Vitals
  readonly exit: () => string | number | undefined
  /** Whether an attacker has reported that the attack is in progress. */
  readonly isPrepared: () => boolean
  readonly log: () => VictimLog.VictimLog
  /** The address of a server. */
  readonly address: Effect.Effect<string>
  readonly send: (message: string) => void
}

/** Returns a program of this folder as one file, which starts in less time. Attacks start a few programs many times. */
export const program = (name: string): Effect.Effect<string> =>
  Effect.promise(() => joinedProgram(fileURLToPath(new URL(name, import.meta.url))))

/** Starts a program of this folder as a child with an IPC channel. It is killed when the scope closes. */
export const start = Effect.fnUntraced(function*(
  name: string,
  args: ReadonlyArray<string>,
  execArgs: ReadonlyArray<string> = []
): Effect.fn.Return<Victim, never, Scope.Scope> {
  const file = yield* program(name)
  let vitals = none
  let reportedAt = performance.now()
  let exit: string | number | undefined
  let address: string | undefined
  let log = VictimLog.none
  let isPrepared = false
  const listeners: Array<(address: string | undefined) => void> = []
  const running = yield* Effect.acquireRelease(
    Effect.sync((): ChildProcess => {
      const child = spawn(
        process.execPath,
        [
          "--disable-warning=ExperimentalWarning",
          ...execArgs,
          file,
          ...args
        ],
        { stdio: ["ignore", "pipe", "pipe", "ipc"] }
      )
      if (child.stdout !== null && child.stderr !== null) log = VictimLog.follow(child.stdout, child.stderr)
      child.on("message", (message) => {
        if (typeof message !== "object" || message === null) return
        if ("address" in message) {
          address = String(message.address)
          for (const listener of listeners) listener(address)
        } else if ("prepared" in message) isPrepared = true
        else if ("exit" in message) exit ??= String(message.exit)
        else {
          vitals = { ...vitals, ...message }
          reportedAt = performance.now()
        }
      })
      child.on("exit", (code, signal) => {
        exit ??= signal ?? code ?? undefined
        for (const listener of listeners) listener(undefined)
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
    isPrepared: () => isPrepared,
    log: () => log(),
    send: (message) => void running.send(message),
    address: Effect.callback<string>((resume) => {
      const complete = (value: string | undefined) =>
        resume(value === undefined ? Effect.die(`${name} exited before it was ready`) : Effect.succeed(value))
      if (address === undefined && exit === undefined) listeners.push(complete)
      else complete(address)
    })
  }
})

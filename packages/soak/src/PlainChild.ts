/**
 * A minimal client of stdio: a child process whose input can end while its output is still read. The library's client
 * ends the input only on shutdown.
 */
import { type Transport, TransportError } from "@effect-mcp/session"
import * as JsonLines from "@effect-mcp/transport/JsonLines"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"

export interface PlainChild {
  readonly transport: Transport.Transport["Service"]
  readonly halfClose: Effect.Effect<void>
}

/** Starts a program. It is killed when the scope closes, unless it has exited. */
export const make = (
  program: string,
  onErrorLine: (line: string) => void
): Effect.Effect<PlainChild, never, Scope.Scope> =>
  Effect.gen(function*() {
    const child = spawn(process.execPath, [program], { stdio: "pipe" })
    const closed = new Promise<Transport.End>((resolve) => {
      child.once("close", (exitCode, signal) =>
        resolve({
          exit: { exitCode: exitCode ?? undefined, signal: signal ?? undefined, stderr: [] },
          writable: false
        }))
    })
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return closed
      })
    )
    child.stdin.on("error", () => {})
    let rest = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const lines = `${rest}${text}`.split("\n")
      rest = lines.pop() ?? ""
      lines.forEach(onErrorLine)
    })
    const connection: Transport.Connection = {
      run: (deliver) =>
        Effect.promise(() => {
          const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }))
          child.stdout.on("data", decoder.push)
          return closed
        }),
      send: ({ message }) =>
        Effect.suspend(() => {
          if (!child.stdin.writable) return Effect.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
          child.stdin.write(`${JSON.stringify(message)}\n`)
          return Effect.void
        })
    }
    return {
      transport: { connect: Effect.succeed(connection) },
      halfClose: Effect.sync(() => {
        child.stdin.end()
      })
    }
  })

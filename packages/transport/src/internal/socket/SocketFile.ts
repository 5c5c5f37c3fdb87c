/**
 * The file of a Unix socket.
 *
 * It appears at its path only when a server listens and it has its mode. It replaces a socket on which no server
 * listens, and no other file.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { promises as fs } from "node:fs"
import * as path from "node:path"
import { codeOf } from "../shared/platformErrors.ts"
import * as StaleSocketTakeover from "./StaleSocketTakeover.ts"

/** The most bytes of a socket's path. */
const maxPathBytes = process.platform === "linux" ? 107 : 103

/** The error of a file that was not made: that of the system, or the file that is there. */
export class SocketFileError extends Data.TaggedError("SocketFileError")<{ readonly cause: unknown }> {}

const failed = (cause: unknown): SocketFileError => new SocketFileError({ cause })

/** The reasons why a path is not free. */
const problems = {
  Server: "a server listens there already",
  NoSocket: "the file there is not a socket",
  Busy: "other servers start and stop there"
} as const

/**
 * Makes a socket with `listen`, and gives it this path and mode for as long as the scope is open. The socket is made in
 * a private directory, so no other user can connect before it has its mode.
 */
export const make = <A, E, R>(
  file: string,
  mode: number,
  listen: (at: string) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | SocketFileError, R | Scope.Scope> =>
  Effect.gen(function*() {
    if (file === "") return yield* failed("the path is empty")
    const resolved = path.resolve(file)
    if (Buffer.byteLength(resolved) > maxPathBytes) {
      return yield* failed(`the path of a socket may have at most ${maxPathBytes} bytes`)
    }
    // The socket is made one directory deeper than its path.
    const deeper = Buffer.byteLength(path.join(path.dirname(resolved), ".XXXXXX", "s"))
    if (deeper > maxPathBytes) {
      const maxDirectoryBytes = maxPathBytes - deeper + Buffer.byteLength(path.dirname(resolved))
      return yield* failed(`the directory of a socket may have at most ${maxDirectoryBytes} bytes`)
    }
    return yield* Effect.acquireUseRelease(
      Effect.tryPromise({
        try: () => fs.mkdtemp(`${path.dirname(resolved)}${path.sep}.`),
        catch: (error) => failed(codeOf(error) === "ENOENT" ? "its directory does not exist" : error)
      }),
      (directory) =>
        Effect.gen(function*() {
          const made = path.join(directory, "s")
          const listening = yield* listen(made)
          yield* Effect.acquireRelease(
            Effect.tryPromise({
              try: async () => {
                await fs.chmod(made, mode)
                const own = await fs.lstat(made, { bigint: true })
                const result = await StaleSocketTakeover.take(made, resolved)
                if (result !== "Taken") throw new Error(problems[result])
                return own
              },
              catch: failed
            }),
            // If its directory is gone or read-only, there is nothing to remove.
            (own) => Effect.ignore(Effect.try(() => StaleSocketTakeover.remove(resolved, own)))
          )
          return listening
        }),
      (directory) => Effect.promise(() => fs.rm(directory, { recursive: true, force: true }))
    )
  })

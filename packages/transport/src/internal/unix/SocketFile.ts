/**
 * The file of a Unix socket: it comes to its path whole, listened to and with its mode; it takes the place of one that nobody listens
 * to any more, and of nothing else.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { promises as fs } from "node:fs"
import * as path from "node:path"
import * as SocketPathLock from "./SocketPathLock.ts"

/** How long the path of a socket may be, in bytes. */
const longestPath = process.platform === "linux" ? 107 : 103

/** No file was made: what the system says, or what is there already. */
export class SocketFileError extends Data.TaggedError("SocketFileError")<{ readonly cause: unknown }> {}

const failed = (cause: unknown): SocketFileError => new SocketFileError({ cause })

/** Why a socket did not get its path. */
const refusals = {
  Server: "a server listens there already",
  NoSocket: "there is something that is no socket",
  Busy: "other servers come and go there"
} as const

/**
 * Has a socket made that is listened to, and gives it this path and this mode for as long as the scope is open. It is made in a
 * directory that nobody else may look into, so that nobody may connect before the mode says who may.
 */
export const make = <A, E, R>(
  file: string,
  mode: number,
  listen: (at: string) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | SocketFileError, R | Scope.Scope> =>
  Effect.gen(function*() {
    if (file === "") return yield* failed("the path is empty")
    const resolved = path.resolve(file)
    if (Buffer.byteLength(resolved) > longestPath) {
      return yield* failed(`the path of a socket may have ${longestPath} bytes`)
    }
    // It is made one directory deeper than it comes to.
    const deeper = Buffer.byteLength(path.join(path.dirname(resolved), ".XXXXXX", "s"))
    if (deeper > longestPath) {
      const longestDirectory = longestPath - deeper + Buffer.byteLength(path.dirname(resolved))
      return yield* failed(`the directory of a socket may have ${longestDirectory} bytes`)
    }
    return yield* Effect.acquireUseRelease(
      Effect.tryPromise({
        try: () => fs.mkdtemp(`${path.dirname(resolved)}${path.sep}.`),
        catch: (error) => failed(SocketPathLock.codeOf(error) === "ENOENT" ? "its directory is not there" : error)
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
                const answer = await SocketPathLock.take(made, resolved)
                if (answer !== "Taken") throw new Error(refusals[answer])
                return own
              },
              catch: failed
            }),
            // Where its directory has gone, or may not be changed any more, there is nothing left to do.
            (own) => Effect.ignore(Effect.try(() => SocketPathLock.remove(resolved, own)))
          )
          return listening
        }),
      (directory) => Effect.promise(() => fs.rm(directory, { recursive: true, force: true }))
    )
  })

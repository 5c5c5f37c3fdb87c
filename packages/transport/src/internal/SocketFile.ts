/**
 * The file of a Unix socket: it comes to its path whole, listened to and with its mode; it takes the place of one that nobody listens
 * to any more, and of nothing else.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { promises as fs, unlinkSync } from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"

/** How long the path of a socket may be, in bytes. */
const longestPath = process.platform === "linux" ? 107 : 103

/** How often to try where others come and go at the same path. */
const tries = 10

/** No file was made: what the system says, or what is there already. */
export class SocketFileError extends Data.TaggedError("SocketFileError")<{ readonly cause: unknown }> {}

const failed = (cause: unknown): SocketFileError => new SocketFileError({ cause })

/** What is at a path. */
type Occupant = "Nothing" | "Nobody" | "Server" | "Other"

const codeOf = (error: unknown): unknown => error instanceof Error && "code" in error ? error.code : undefined

const isSocket = async (file: string): Promise<boolean | undefined> => {
  try {
    return (await fs.lstat(file)).isSocket()
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  }
}

/** Does somebody listen there? Asked by knocking: whoever opens says nothing, and has gone. */
const isListenedTo = (file: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = Net.connect({ path: file })
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", (error) => {
      const code = codeOf(error)
      if (code === "ECONNREFUSED") resolve(false)
      // So many wait to be let in that there is no room for one more.
      else if (code === "EAGAIN") resolve(true)
      else reject(error)
    })
  })

const occupantOf = async (file: string): Promise<Occupant> => {
  // Whoever knocks at a file that is no socket is refused, too.
  const socket = await isSocket(file)
  if (socket === undefined) return "Nothing"
  if (!socket) return "Other"
  try {
    return await isListenedTo(file) ? "Server" : "Nobody"
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "Nothing"
    throw error
  }
}

/** Gives a file a name that must be free. */
const link = async (from: string, to: string): Promise<boolean> => {
  try {
    await fs.link(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false
    throw error
  }
}

/**
 * Takes away a socket that nobody listens to. It is taken aside first: what was there may be another by now, and whoever listens to
 * that one gets its name back.
 */
export const clear = async (file: string, aside: string): Promise<void> => {
  try {
    await fs.rename(file, aside)
  } catch (error) {
    if (codeOf(error) === "ENOENT") return
    throw error
  }
  if (await occupantOf(aside) !== "Nobody") await link(aside, file)
  await fs.unlink(aside)
}

const place = async (from: string, file: string, aside: string): Promise<void> => {
  for (let attempt = 0; attempt < tries; attempt++) {
    if (await link(from, file)) return
    switch (await occupantOf(file)) {
      case "Server":
        throw new Error("a server listens there already")
      case "Other":
        throw new Error("there is something that is no socket")
      case "Nobody":
        await clear(file, aside)
        break
      case "Nothing":
    }
  }
  throw new Error("other servers come and go there")
}

/** Takes away the name of a socket, if it still is the name of this one. */
const remove = async (file: string, own: { readonly dev: bigint; readonly ino: bigint }): Promise<void> => {
  try {
    const { dev, ino } = await fs.lstat(file, { bigint: true })
    if (dev === own.dev && ino === own.ino) unlinkSync(file)
  } catch {
    // It has gone, and with it what there was to do.
  }
}

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
        catch: (error) => failed(codeOf(error) === "ENOENT" ? "its directory is not there" : error)
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
                await place(made, resolved, path.join(directory, "a"))
                return own
              },
              catch: failed
            }),
            (own) => Effect.promise(() => remove(resolved, own))
          )
          return listening
        }),
      (directory) => Effect.promise(() => fs.rm(directory, { recursive: true, force: true }))
    )
  })

/**
 * The takeover of a path from a stale socket, whose server is dead.
 *
 * One server has a path at a time: it takes the path if it is free, or if the server that had it is dead.
 *
 * To take the path of a dead server, a server first takes a claim. A claim is a path, too, named after the inode of the
 * dead socket and linked to the socket of the claimant. It is held as long as the claimant lives, and is taken from a
 * dead claimant in the same way. The file system links a path to one socket only, and only the claimant may remove the
 * path of a dead socket. So the socket that it has found dead is still there when it removes the path.
 */
import { type BigIntStats, lstatSync, promises as fs, rmSync, unlinkSync } from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"
import { setTimeout } from "node:timers/promises"
import { codeOf } from "../shared/platformErrors.ts"

/** The attempts to take a path at which other servers start and stop, and the pause between them in milliseconds. */
const maxAttempts = 10
const pauseMillis = 20

/** The most dead claimants on the way to one path. More than this many would mean that their claims form a circle. */
const maxDepth = 32

/** The identity of a file. The inode alone is reused after the file is gone. */
export type Identity = Pick<BigIntStats, "dev" | "ino" | "birthtimeNs">

/** The result of taking a path. */
export type ClaimResult = "Taken" | "Server" | "NoSocket" | "Busy"

/** Returns the result of a call, or another value if the call fails with this code. */
const unless = async <A, B>(code: string, instead: B, call: Promise<A>): Promise<A | B> => {
  try {
    return await call
  } catch (error) {
    if (codeOf(error) === code) return instead
    throw error
  }
}

/** Links a file to another path. Returns whether that was free. */
const link = async (from: string, to: string): Promise<boolean> =>
  await unless("EEXIST", "Occupied", fs.link(from, to)) === undefined

/** Removes a path, if it is still that of this file. */
export const remove = (file: string, own: Identity): void => {
  const there = lstatSync(file, { bigint: true, throwIfNoEntry: false })
  if (there?.dev === own.dev && there.ino === own.ino && there.birthtimeNs === own.birthtimeNs) unlinkSync(file)
}

/** Returns whether a server listens there, by connecting to it. The file may disappear meanwhile. */
const probe = (file: string): Promise<"Alive" | "Dead" | "Gone"> =>
  new Promise((resolve, reject) => {
    const socket = Net.connect({ path: file })
    socket.once("connect", () => {
      socket.destroy()
      resolve("Alive")
    })
    socket.once("error", (error) => {
      const code = codeOf(error)
      if (code === "ECONNREFUSED") resolve("Dead")
      // The backlog of the server is full.
      else if (code === "EAGAIN") resolve("Alive")
      else if (code === "ENOENT" || code === "ECONNRESET") resolve("Gone")
      else reject(error)
    })
  })

/** Returns the path of the claim to a dead socket. Two sockets may share a claim; then they are taken in turn. */
const claimTo = (file: string, { ino }: Identity): string => {
  const number = BigInt.asUintN(32, ino).toString(16).padStart(8, "0")
  return path.join(path.dirname(file), `.${number}`)
}

/** Removes the path of a dead socket, unless another server has the claim. */
const free = async (made: string, file: string, dead: Identity, depth: number): Promise<boolean> => {
  if (depth === maxDepth) return false
  const claim = claimTo(file, dead)
  if (await takeOnce(made, claim, depth + 1) !== "Taken") return false
  try {
    remove(file, dead)
  } finally {
    rmSync(claim, { force: true })
  }
  return true
}

const takeOnce = async (made: string, file: string, depth: number): Promise<ClaimResult> => {
  if (await link(made, file)) return "Taken"
  const there = await unless("ENOENT", undefined, fs.lstat(file, { bigint: true }))
  if (there === undefined) return "Busy"
  // A connection to a file that is not a socket is rejected like one to a dead socket.
  if (!there.isSocket()) return "NoSocket"
  const state = await probe(file)
  if (state === "Alive") return "Server"
  if (state === "Dead" && await free(made, file, there, depth) && await link(made, file)) return "Taken"
  return "Busy"
}

/**
 * Links the path to a socket on which a server listens. The path of a claim must not be too long to connect to: it is
 * no longer than that of a socket in a directory with a name of seven bytes next to the path.
 */
export const take = async (made: string, file: string): Promise<ClaimResult> => {
  for (let attempt = 1; attempt < maxAttempts; attempt++) {
    const result = await takeOnce(made, file, 0)
    if (result !== "Busy") return result
    await setTimeout(pauseMillis)
  }
  return takeOnce(made, file, 0)
}

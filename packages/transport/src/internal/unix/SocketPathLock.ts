/**
 * The name of a socket in its directory. One server has it at a time: a server takes it where it is free, or where the server that
 * had it is dead, and in no other case.
 *
 * A dead server's name is made free by whoever holds the claim to it. The claim is a name as well, made of the number of the dead socket
 * and given to the socket of the claimant: it is held for as long as the claimant lives, and is taken from a dead claimant the same way.
 * The file system gives a name to one socket only, and only the claimant may take one away from a dead socket: what it has found
 * dead there is still there when it does.
 */
import { type BigIntStats, lstatSync, promises as fs, rmSync, unlinkSync } from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"
import { setTimeout } from "node:timers/promises"

/** How often to try where others come and go at the same name, and how long to wait before the next time, in milliseconds. */
const tries = 10
const pause = 20

/** How many claimants may have died on their way to one name: more than ever will have, unless their claims lead in a circle. */
const deepest = 32

/** What tells a file from every other: the number of one may be given again once it has gone. */
export type Identity = Pick<BigIntStats, "dev" | "ino" | "birthtimeNs">

/** What has come of asking for a name. */
export type Answer = "Taken" | "Server" | "NoSocket" | "Busy"

/** What the system calls the reason of its refusal. */
export const codeOf = (error: unknown): unknown => error instanceof Error && "code" in error ? error.code : undefined

/** What a call comes to, or another value where the system refuses it for this reason. */
const unless = async <A, B>(code: string, instead: B, call: Promise<A>): Promise<A | B> => {
  try {
    return await call
  } catch (error) {
    if (codeOf(error) === code) return instead
    throw error
  }
}

/** Gives a file one name more, which must be free. */
const link = async (from: string, to: string): Promise<boolean> =>
  await unless("EEXIST", "Occupied", fs.link(from, to)) === undefined

/** Takes a name away, if it still is the name of this file. */
export const remove = (file: string, own: Identity): void => {
  const there = lstatSync(file, { bigint: true, throwIfNoEntry: false })
  if (there?.dev === own.dev && there.ino === own.ino && there.birthtimeNs === own.birthtimeNs) unlinkSync(file)
}

/** Does somebody listen there? Asked by knocking: whoever opens says nothing, and has gone. It may be gone before it has answered. */
const knock = (file: string): Promise<"Alive" | "Dead" | "Gone"> =>
  new Promise((resolve, reject) => {
    const socket = Net.connect({ path: file })
    socket.once("connect", () => {
      socket.destroy()
      resolve("Alive")
    })
    socket.once("error", (error) => {
      const code = codeOf(error)
      if (code === "ECONNREFUSED") resolve("Dead")
      // So many wait to be let in that there is no room for one more.
      else if (code === "EAGAIN") resolve("Alive")
      else if (code === "ENOENT" || code === "ECONNRESET") resolve("Gone")
      else reject(error)
    })
  })

/** The name of the claim to a dead socket's names. Two of them may have one claim: then they are taken one after the other. */
const claimTo = (file: string, { ino }: Identity): string => {
  const number = BigInt.asUintN(32, ino).toString(16).padStart(8, "0")
  return path.join(path.dirname(file), `.${number}`)
}

/** Takes a name away from a dead socket, if nobody else is about to. */
const free = async (made: string, file: string, dead: Identity, depth: number): Promise<boolean> => {
  if (depth === deepest) return false
  const claim = claimTo(file, dead)
  if (await ask(made, claim, depth + 1) !== "Taken") return false
  try {
    remove(file, dead)
  } finally {
    rmSync(claim, { force: true })
  }
  return true
}

const ask = async (made: string, file: string, depth: number): Promise<Answer> => {
  if (await link(made, file)) return "Taken"
  const there = await unless("ENOENT", undefined, fs.lstat(file, { bigint: true }))
  if (there === undefined) return "Busy"
  // Whoever knocks at a file that is no socket is refused, too.
  if (!there.isSocket()) return "NoSocket"
  const answer = await knock(file)
  if (answer === "Alive") return "Server"
  if (answer === "Dead" && await free(made, file, there, depth) && await link(made, file)) return "Taken"
  return "Busy"
}

/**
 * Gives a socket that is listened to one name more. The system lets nobody knock at a path that is too long: the path of a claim is
 * not longer than that of a socket in a directory of seven bytes beside the name.
 */
export const take = async (made: string, file: string): Promise<Answer> => {
  for (let attempt = 1; attempt < tries; attempt++) {
    const answer = await ask(made, file, 0)
    if (answer !== "Busy") return answer
    await setTimeout(pause)
  }
  return ask(made, file, 0)
}

/** The group of processes that a child of this process leads. */
import * as Effect from "effect/Effect"
import * as fs from "node:fs/promises"
import { delay } from "../shared/nodeTimers.ts"

/** The time between the first two looks at a group, and the longest between later ones, in milliseconds. */
const firstPause = 10
const longestPause = 100

interface Status {
  readonly group: number
  readonly hasEnded: boolean
}

/**
 * Reads a line of `/proc/<pid>/stat`: after the name of the program, which may itself contain brackets, come the state,
 * the parent and the group. A process that has ended is a zombie (`Z`) until its parent collects its exit status, or
 * dead (`X`).
 */
export const statusOf = (line: string): Status => {
  const [state = "", , group] = line.slice(line.lastIndexOf(")") + 2).split(" ")
  return { group: Number(group), hasEnded: /^[ZXx]$/.test(state) }
}

/** Returns the status of a process, or nothing for one that has ended meanwhile. */
const read = (pid: string): Promise<Status | undefined> =>
  fs.readFile(`/proc/${pid}/stat`, "utf8").then(statusOf, () => undefined)

/**
 * Returns whether every process of the group has ended. Fails where the system does not list its processes in `/proc`.
 */
const hasEnded = async (group: number): Promise<boolean> => {
  const processes = (await fs.readdir("/proc")).filter((name) => /^\d+$/.test(name))
  for (const pid of processes) {
    const status = await read(pid)
    if (status?.group === group && !status.hasEnded) return false
  }
  return true
}

/**
 * Waits until every process of the group has ended. A process that has ended counts although its parent has not
 * collected its exit status: the processes that `sh -c` and `npx` leave are collected by the first process of
 * the system, and in a container that may never do so. The wait has no end where there is no `/proc`.
 */
export const ended = (group: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    let pause = firstPause
    while (!(yield* Effect.promise(() => hasEnded(group)))) {
      yield* delay(pause)
      pause = Math.min(pause * 2, longestPause)
    }
  }).pipe(Effect.catchDefect(() => Effect.never))

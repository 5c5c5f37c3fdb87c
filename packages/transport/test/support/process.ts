/** Child processes of tests, and the wait for a condition. */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"

/** Returns the path of a program in `fixtures`. */
export const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

/** Returns whether a process runs. A zombie does not: it waits for its parent to collect its exit status. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/^\d+ \(.*\) Z/s.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return !fs.existsSync("/proc")
  }
}

/** Waits until the condition holds. The test's timeout is the bound. */
export const until = Effect.fnUntraced(function*(condition: () => boolean) {
  while (!condition()) yield* Effect.sleep("5 millis")
})

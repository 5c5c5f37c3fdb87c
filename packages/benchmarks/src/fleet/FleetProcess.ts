/** The example of a fleet as a child process, with the places of its processes. */
import { type ChildProcess, spawn } from "node:child_process"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../../examples/src/fleet.ts", import.meta.url))

/** One process of a fleet. */
export interface Place {
  readonly pid: number
  readonly port: number
}

/** A fleet that serves. */
export interface Fleet {
  /** Returns the processes that have started, by their numbers. A restarted one replaces the one before. */
  readonly places: () => ReadonlyArray<Place>
  readonly stop: () => Promise<void>
}

/** Starts a fleet with these options of its command line, and waits until all of its processes serve. */
export const start = (options: ReadonlyArray<string>): Promise<Fleet> =>
  new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(process.execPath, [program, "--port", "0", ...options], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const places = new Map<number, Place>()
    const ended = new Promise<void>((done) => child.once("exit", () => done()))
    const stop = async () => {
      child.kill("SIGTERM")
      await ended
    }
    void ended.then(() => reject(new Error("the fleet ended before it was ready")))
    if (child.stdout === null) return reject(new Error("the fleet has no output"))
    readline.createInterface({ input: child.stdout }).on("line", (line) => {
      const started = /^process (\d+) pid (\d+) port (\d+)$/.exec(line)
      if (started !== null) {
        places.set(Number(started[1]), { pid: Number(started[2]), port: Number(started[3]) })
      }
      if (line === "ready") resolve({ places: () => [...places.values()], stop })
    })
  })

/**
 * The processes of the fleet: starts them, knows which ones live, and ends them.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

/** A process that serves. */
export interface Running {
  readonly number: number
  readonly pid: number
  readonly port: number
}

export interface Options {
  /** Returns the arguments of a process, by its number. */
  readonly arguments: (number: number) => ReadonlyArray<string>
  /** Whether a process is started again after it has ended. */
  readonly restart: boolean
  readonly onStarted: (started: Running) => void
  readonly onEnded: (ended: Running, how: string) => void
}

const program = fileURLToPath(new URL("./process.ts", import.meta.url))

/** The time before a process is started again, so that one that cannot start does not use up a core. */
const restartMillis = 1000

/** Waits until a process prints the port that it listens on. */
const portOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (code) => reject(new Error(`a process ended with ${code} at its start`)))
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, port] = /^listening at port (\d+)$/.exec(line) ?? []
      if (port === undefined) console.log(line)
      else resolve(Number(port))
    })
  })

export class Processes {
  readonly #options: Options
  readonly #children = new Set<ChildProcess>()
  readonly #running = new Map<ChildProcess, Running>()
  #stopping = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Returns the ports of the processes that live. */
  ports(): ReadonlyArray<number> {
    return [...this.#running.values()].map(({ port }) => port)
  }

  /** Starts this number of processes, and waits until all of them serve. */
  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, index) => this.#start(index + 1)))
  }

  /** Ends all processes as a deployment does, by SIGTERM, and waits for them. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all([...this.#children].map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill("SIGTERM")
      await once(child, "close")
    }))
  }

  async #start(number: number): Promise<void> {
    const { arguments: args, onStarted } = this.#options
    // The channel closes when this program ends, however it ends, and then the process ends as well.
    const child = spawn(process.execPath, [program, ...args(number)], {
      stdio: ["ignore", "pipe", "inherit", "ipc"]
    })
    this.#children.add(child)
    child.once("close", (code, signal) => this.#ended(child, signal ?? `status ${code}`))
    const port = await portOf(child)
    const running = { number, pid: child.pid ?? 0, port }
    this.#running.set(child, running)
    onStarted(running)
  }

  #ended(child: ChildProcess, how: string): void {
    const ended = this.#running.get(child)
    this.#children.delete(child)
    this.#running.delete(child)
    if (ended === undefined || this.#stopping) return
    this.#options.onEnded(ended, how)
    if (this.#options.restart) setTimeout(() => this.#restart(ended.number), restartMillis)
  }

  #restart(number: number): void {
    if (this.#stopping) return
    this.#start(number).catch((error: unknown) => {
      if (this.#stopping) return
      console.error(error instanceof Error ? error.message : error)
      setTimeout(() => this.#restart(number), restartMillis)
    })
  }
}

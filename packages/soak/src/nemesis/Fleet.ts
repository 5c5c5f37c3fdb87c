/** The processes of a run, and everything that can happen to them. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import type { Crash } from "./History.ts"
import { freePort } from "./ports.ts"
import type { Place } from "./RawClient.ts"
import { Relay } from "./Relay.ts"
import type { Service, StoreName } from "./services.ts"

/** A process, over all its starts. */
export interface Member {
  readonly number: number
  readonly port: number
  /** The connections of other processes to it. */
  readonly peers: Relay
  /** Its connections to the database; a file has none. */
  readonly store: Relay | undefined
  /** The number of its starts. */
  starts: number
  child: ChildProcess | undefined
  isPaused: boolean
}

export interface Options {
  /** The program of a process, and the arguments that all processes have. */
  readonly program: string
  readonly arguments: ReadonlyArray<string>
  readonly store: StoreName
  readonly service: Service
  readonly count: number
}

/** The time in which a process starts on a busy machine. */
const startMillis = 90_000

/** The time in which a process ends after SIGTERM: the grace period of its calls, on a busy machine. */
const endMillis = 60_000

export class Fleet {
  readonly members: Array<Member> = []
  /** The lines that the processes wrote to standard output and standard error. */
  readonly log: Array<string> = []
  /** The times at which processes reported that their lease was not renewed. */
  readonly lostLeases: Array<{ readonly name: string; readonly at: number }> = []
  /** The processes that ended by themselves, or did not end after SIGTERM. */
  readonly crashes: Array<Crash> = []
  /** The processes that a fault ends. */
  readonly #ending = new Set<ChildProcess>()
  readonly #options: Options

  private constructor(options: Options) {
    this.#options = options
  }

  /** Starts the processes, and waits until they serve. */
  static async start(options: Options): Promise<Fleet> {
    const fleet = new Fleet(options)
    const { count, service } = options
    for (let number = 1; number <= count; number++) {
      const port = await freePort()
      const member: Member = {
        number,
        port,
        peers: await Relay.to(port, await freePort()),
        store: service.port === undefined ? undefined : await Relay.to(service.port, await freePort()),
        starts: 0,
        child: undefined,
        isPaused: false
      }
      fleet.members.push(member)
    }
    await Promise.all(fleet.members.map((member) => fleet.startMember(member)))
    return fleet
  }

  /** Returns the processes that live, paused ones included. */
  places(): ReadonlyArray<Place & { readonly isPaused: boolean }> {
    return this.members.filter(({ child }) => child !== undefined)
      .map(({ isPaused, number, port, starts }) => ({ name: `${number}.${starts}`, port, isPaused }))
  }

  /** Starts a process, again if it ends at its start, as it may while the database is away. */
  async startMember(member: Member): Promise<void> {
    for (const end = Date.now() + startMillis;;) {
      try {
        return await this.#start(member)
      } catch (error) {
        if (Date.now() > end || member.starts === 1) throw error
      }
    }
  }

  async #start(member: Member): Promise<void> {
    const { arguments: args, program, service, store } = this.#options
    member.starts++
    const { peers, port, store: relay } = member
    const child = spawn(process.execPath, [
      program,
      ...args,
      "--port",
      String(port),
      "--address",
      `http://127.0.0.1:${peers.port}`,
      "--store",
      store,
      "--database",
      service.url(relay?.port)
    ], { stdio: ["ignore", "pipe", "pipe", "ipc"] })
    const name = `${member.number}.${member.starts}`
    let output = ""
    const started = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`process ${name} does not start: ${output}`)), startMillis)
      const read = (bytes: Buffer) => {
        const text = String(bytes)
        output += text
        if (text.includes("lease of this process was not renewed")) {
          this.lostLeases.push({ name, at: performance.now() })
        }
        for (const line of text.split("\n")) if (line !== "") this.log.push(`${name}: ${line}`)
        if (!output.includes("listening at")) return
        clearTimeout(timer)
        resolve()
      }
      child.stdout?.on("data", read)
      child.stderr?.on("data", read)
      child.once("exit", (code, signal) => {
        if (member.child === child) {
          member.child = undefined
          if (!this.#ending.has(child)) {
            this.crashes.push({ process: name, at: performance.now(), problem: `ended with ${signal ?? code}` })
          }
        }
        clearTimeout(timer)
        reject(new Error(`process ${name} ended with ${signal ?? code} at its start: ${output}`))
      })
    })
    await started
    member.child = child
  }

  /** Sends a signal that ends a process, and waits for its end. */
  async endMember(member: Member, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const { child } = member
    if (child === undefined) return
    const exited = once(child, "exit")
    this.#ending.add(child)
    child.kill(signal)
    const timer = setTimeout(() => {
      const process = `${member.number}.${member.starts}`
      this.crashes.push({ process, at: performance.now(), problem: `did not end ${endMillis} ms after ${signal}` })
      child.kill("SIGKILL")
    }, endMillis)
    await exited
    clearTimeout(timer)
  }

  pause(member: Member): void {
    member.isPaused = true
    member.child?.kill("SIGSTOP")
  }

  resume(member: Member): void {
    member.isPaused = false
    member.child?.kill("SIGCONT")
  }

  /** Returns the time for which each process has waited for a processor, in milliseconds, by its name. */
  waits(): ReadonlyMap<string, number> {
    return new Map(this.members.flatMap(({ child, number, starts }) => {
      if (child?.pid === undefined) return []
      try {
        const [, nanoseconds] = fs.readFileSync(`/proc/${child.pid}/schedstat`, "utf8").split(" ")
        return [[`${number}.${starts}`, Number(nanoseconds) / 1e6] as const]
      } catch {
        // The process has just ended.
        return []
      }
    }))
  }

  /** Returns the resident memory of each process in MiB, by its number. */
  memory(): ReadonlyArray<readonly [number: number, mebibytes: number]> {
    return this.members.flatMap(({ child, number }) => {
      if (child?.pid === undefined) return []
      const [, pages = "0"] = fs.readFileSync(`/proc/${child.pid}/statm`, "utf8").split(" ")
      return [[number, Math.round(Number(pages) * 4096 / 2 ** 20)]]
    })
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    for (const member of this.members) this.resume(member)
    await Promise.all(this.members.map((member) => this.endMember(member, "SIGKILL")))
    for (const { peers, store } of this.members) {
      peers.close()
      store?.close()
    }
  }
}

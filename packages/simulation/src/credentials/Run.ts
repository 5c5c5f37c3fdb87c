/**
 * Runs a script in virtual time.
 *
 * The library waits for promises, because its OAuth library does. Between two steps of the clock, everything that they
 * resume runs to its end, so that a run depends on its script alone.
 */
import { createHash } from "node:crypto"
import type { History } from "./History.ts"
import * as ProcessStore from "./ProcessStore.ts"
import type { Command, Script } from "./Script.ts"
import { SimulatedProcess } from "./SimulatedProcess.ts"
import { server, World } from "./World.ts"

/** The time after which nothing of the faults is left: back-off, leases, deadlines and delays of a write. */
const calmMillis = 600_000

/** The time that a call takes at most, in milliseconds. */
const callMillis = 130_000

/** The time in which a process ends. */
const closingMillis = 60_000

/**
 * Computes digests at once. Web Crypto computes them in another thread, whose end a run cannot foresee.
 *
 * Found by a run of the same script with another history.
 */
const digestAtOnce = (): void => {
  Object.defineProperty(globalThis.crypto.subtle, "digest", {
    configurable: true,
    value: async (_algorithm: string, data: Uint8Array) => {
      const bytes = createHash("sha256").update(data).digest()
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
    }
  })
}

/** Completes when all promises have completed that do not wait for time. */
const promisesSettled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

class Run {
  readonly #script: Script
  readonly #world: World
  readonly #processes: Array<SimulatedProcess | undefined> = []
  #started = 0

  constructor(script: Script) {
    this.#script = script
    this.#world = new World(script)
  }

  async history(): Promise<History> {
    const world = this.#world
    await this.#prelude()
    for (const command of this.#script.commands) {
      world.record({ _tag: "Commanded", command })
      await this.#obey(command)
    }
    await this.#aftermath()
    return { events: world.events, secrets: world.secrets }
  }

  async #prelude(): Promise<void> {
    this.#start(0)
    if (this.#script.isSignedIn) {
      this.#processes[0]?.act("read")
      await this.#pass(10_000)
    }
    for (let slot = 1; slot < this.#script.processes; slot++) this.#start(slot)
    await this.#settle()
  }

  /** Stops the faults, lets all living processes and a new one call the server, and ends them. */
  async #aftermath(): Promise<void> {
    const world = this.#world
    world.issuerFault = undefined
    world.storeFault = undefined
    for (const process of this.#processes) process?.resume()
    await this.#pass(calmMillis)
    world.record({ _tag: "Calm", isGranted: this.#isGranted() })
    this.#processes.push(this.#newProcess())
    for (const process of this.#processes) process?.act("read")
    await this.#pass(callMillis)
    world.record({ _tag: "Ended" })
    // A login waits for as long as the person does.
    world.person = "Denies"
    await this.#pass(callMillis)
    world.record({ _tag: "Closing" })
    for (const process of this.#processes) process?.close()
    await this.#pass(closingMillis)
  }

  /** Returns whether the issuer of the server would issue a token for reading, for the refresh token of the store. */
  #isGranted(): boolean {
    const { issuer, runtime, store } = this.#world
    const key = this.#world.stored(store.keys).find((one) =>
      one._tag === "Tokens" && one.issuer === issuer.url && one.resource === server
    )
    const refreshToken = key && ProcessStore.refreshTokenOf(this.#world.stored(store.read(key)))
    return refreshToken !== undefined && issuer.accepts(refreshToken, "read", runtime.now())
  }

  async #obey(command: Command): Promise<void> {
    const world = this.#world
    switch (command._tag) {
      case "Pass":
        return this.#pass(command.millis)
      case "Start":
        if (this.#processes[command.slot]?.isAlive !== true) this.#start(command.slot)
        return this.#settle()
      case "Person":
        world.person = command.answer
        return
      case "Issuer":
        world.issuerFault = command.fault
        return
      case "Store":
        world.storeFault = { ...command }
        return
      case "Revoke":
        return world.issuers.forEach((issuer) => issuer.revokeGrants())
      case "RevokeAccess":
        return world.issuers.forEach((issuer) => issuer.revokeAccess())
      case "Migrate":
        return world.migrate()
      default:
        this.#command(command)
        return this.#settle()
    }
  }

  #command(command: Extract<Command, { readonly slot: number }>): void {
    const process = this.#processes[command.slot]
    switch (command._tag) {
      case "Call":
        return process?.act(command.operation)
      case "CallElsewhere":
        return process?.act("elsewhere")
      case "Login":
        return process?.act("login")
      case "Logout":
        return process?.act("logout")
      case "Close":
        return process?.close()
      case "Resume":
        return process?.resume()
      case "Kill":
      case "Suspend": {
        const { _tag: what, isAfter, operations } = command
        return process?.strike({ what, isAfter, operations })
      }
      case "Start":
        return
    }
  }

  #newProcess(): SimulatedProcess {
    const process = new SimulatedProcess(this.#started++, this.#world, this.#script)
    process.start()
    return process
  }

  #start(slot: number): void {
    this.#processes[slot] = this.#newProcess()
  }

  /** Runs everything that needs no time. */
  async #settle(): Promise<void> {
    const { runtime } = this.#world
    do {
      runtime.act(() => {})
      await promisesSettled()
    } while (runtime.hasReady())
  }

  async #pass(millis: number): Promise<void> {
    const { runtime } = this.#world
    const end = runtime.now() + millis
    await this.#settle()
    for (let due = runtime.nextDue(); due !== undefined && due <= end; due = runtime.nextDue()) {
      runtime.advance(due - runtime.now())
      await this.#settle()
    }
    runtime.advance(end - runtime.now())
  }
}

/** A script with a sign-in, a call and a refresh. */
const everything: Script = {
  interleaving: "Fair",
  seed: 0,
  rotation: "Rotating",
  storeMillis: 0,
  confirms: false,
  isSignedIn: true,
  processes: 1,
  commands: []
}

let prepared: Promise<unknown> | undefined

/** Prepares the platform. The library loads modules on their first use, which takes real time. */
const prepare = (): Promise<unknown> => {
  digestAtOnce()
  return new Run(everything).history()
}

/** Runs a script, and returns its history. */
export const run = async (script: Script): Promise<History> => {
  const { stackTraceLimit } = Error
  // No law looks at a stack trace, and each takes longer than its error.
  Error.stackTraceLimit = 0
  try {
    await (prepared ??= prepare())
    return await new Run(script).history()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/**
 * Runs a script in virtual time.
 *
 * The bodies of web requests are read by promises. Between two steps of the clock, everything that they resume runs to
 * its end, so that a run depends on its script alone.
 */
import { questionMillis, resource } from "./fleetTools.ts"
import type { History } from "./History.ts"
import { ModelClient } from "./ModelClient.ts"
import { Network } from "./Network.ts"
import type { Command, Script } from "./Script.ts"
import { SimulatedProcess } from "./SimulatedProcess.ts"
import { World } from "./World.ts"

/** The time after which nothing of the faults is left: late writes, back-off and leases. */
const calmMillis = 15_000

/** The time between two rounds in which the clients answer and resume, and the number of rounds. */
const roundMillis = 4000
const rounds = 4

/** The time after which no question waits any more. */
const restMillis = questionMillis + 5000

/** The time that a call of the end takes at most. */
const probeMillis = 8000

/** The time in which a process ends. */
const closingMillis = 20_000

/** Completes when all promises have completed that do not wait for time. */
const promisesSettled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

class Run {
  readonly #script: Script
  readonly #world: World
  readonly #network: Network
  readonly #processes: Array<SimulatedProcess> = []
  /** The process in each slot. */
  readonly #slots = new Map<number, SimulatedProcess>()
  readonly #clients: readonly [ModelClient, ModelClient]

  constructor(script: Script) {
    this.#script = script
    this.#world = new World(script)
    this.#network = new Network(this.#world)
    const addressOf = (slot: number) => this.#slots.get(slot)?.address ?? "http://nowhere.internal"
    this.#clients = [
      new ModelClient(0, this.#world, this.#network, addressOf),
      new ModelClient(1, this.#world, this.#network, addressOf)
    ]
  }

  async history(): Promise<History> {
    await this.#prelude()
    for (const command of this.#script.commands) {
      this.#world.record({ _tag: "Commanded", command })
      await this.#act(() => this.#obey(command))
      if (command._tag === "Pass") await this.#pass(command.millis)
    }
    await this.#aftermath()
    return { events: this.#world.events }
  }

  async #prelude(): Promise<void> {
    await this.#act(() => {
      for (let slot = 0; slot < this.#script.processes; slot++) this.#start(slot)
    })
    await this.#pass(3000)
    if (!this.#script.isOpen) return
    await this.#act(() => this.#clients[0].initialize(0))
    await this.#pass(3000)
  }

  /** Stops the faults, lets the clients finish, uses and ends each session, and ends all processes. */
  async #aftermath(): Promise<void> {
    const world = this.#world
    await this.#act(() => {
      world.endOutage()
      world.endNetworkFaults()
      this.#network.mend()
      for (const process of this.#processes) {
        process.stores.fault = undefined
        process.lifeline.resume()
      }
    })
    // A process that ends in order may need as long as its calls.
    await this.#pass(calmMillis)
    await this.#act(() => {
      world.record({ _tag: "Calm" })
      this.#slots.set(this.#slots.size, this.#newProcess())
    })
    await this.#pass(roundMillis)
    for (let round = 0; round < rounds; round++) {
      await this.#act(() => {
        for (const client of this.#clients) {
          client.finishHandshakes(this.#anySlot())
          client.answerAll(() => this.#anySlot())
          client.resumeAll(() => this.#anySlot())
        }
      })
      await this.#pass(roundMillis)
    }
    await this.#pass(restMillis)
    await this.#act(() => {
      world.record({ _tag: "Rested", calls: world.storedCalls() })
      for (const client of this.#clients) {
        client.finish()
        for (const slot of this.#livingSlots()) client.call(slot, "touch", "probe")
      }
    })
    await this.#pass(probeMillis)
    await this.#act(() => {
      world.record({ _tag: "Deleting" })
      for (const client of this.#clients) client.delete(this.#anySlot())
    })
    await this.#pass(probeMillis)
    await this.#act(() => {
      world.record({ _tag: "Deleted" })
      for (const client of this.#clients) {
        for (const slot of this.#livingSlots()) client.callDeleted(slot)
      }
    })
    await this.#pass(probeMillis)
    await this.#act(() => {
      for (const client of this.#clients) client.breakAll()
    })
    await this.#pass(probeMillis)
    await this.#act(() => {
      world.record({ _tag: "Closing" })
      for (const process of this.#processes) process.stop()
    })
    await this.#pass(closingMillis)
    await this.#act(() =>
      world.record({ _tag: "Ended", exchanges: this.#network.open, left: world.left(), calls: world.storedCalls() })
    )
    await this.#act(() => world.close())
  }

  #obey(command: Command): void {
    const world = this.#world
    switch (command._tag) {
      case "Pass":
        return
      case "Start":
        if (this.#slots.get(command.slot)?.isAlive !== true) this.#start(command.slot)
        return
      case "Outage":
        return world.beginOutage(command.isSilent, command.millis)
      case "Cut": {
        const one = this.#slots.get(command.slot)
        const other = this.#slots.get(command.other)
        if (one !== undefined && other !== undefined) this.#network.cut(one, other)
        return
      }
      case "Mend":
        return this.#network.mend()
      case "Network":
        return world.disturb(command.of, command.fault)
      case "Stop":
      case "Kill":
      case "Pause":
      case "Continue":
      case "SetClock":
      case "Store":
        return this.#disturb(command)
      default:
        return this.#use(command)
    }
  }

  #disturb(
    command: Extract<Command, { readonly _tag: "Stop" | "Kill" | "Pause" | "Continue" | "SetClock" | "Store" }>
  ) {
    const process = this.#slots.get(command.slot)
    if (process === undefined) return
    switch (command._tag) {
      case "Stop":
        return process.stop()
      case "Continue":
        return process.lifeline.resume()
      case "SetClock":
        return process.setClock(command.by)
      case "Store":
        process.stores.fault = { ...command }
        return
      case "Kill":
      case "Pause": {
        const { _tag: what, isAfter, operations } = command
        return process.strike({ what, isAfter, operations })
      }
    }
  }

  #use(command: Extract<Command, { readonly client: number }>): void {
    const client = this.#clients[command.client]
    switch (command._tag) {
      case "Initialize":
        return client.initialize(command.slot)
      case "Call":
        return client.call(command.slot, command.tool)
      case "Repeat":
        return client.repeat(command.slot)
      case "Answer":
        return client.answer(command.slot, command.which)
      case "Cancel":
        return client.cancel(command.slot)
      case "Resume":
        return client.resume(command.slot, command.which)
      case "Listen":
        return client.listen(command.slot)
      case "Subscribe":
        return client.subscribe(command.slot, command.isOn, resource)
      case "SetLevel":
        return client.setLevel(command.slot, command.level)
      case "Delete":
        return client.delete(command.slot)
      case "Break":
        return client.breakAll()
      case "Intrude":
        return this.#clients[command.client === 0 ? 1 : 0].intrude(command.slot, command.by, client)
    }
  }

  #livingSlots(): ReadonlyArray<number> {
    return Array.from(this.#slots).flatMap(([slot, { isListening }]) => isListening ? [slot] : [])
  }

  #anySlot(): number {
    const living = this.#livingSlots()
    return living[this.#world.below(living.length)] ?? 0
  }

  #newProcess(): SimulatedProcess {
    const process = new SimulatedProcess(this.#processes.length, this.#world, this.#network)
    this.#processes.push(process)
    process.start()
    return process
  }

  #start(slot: number): void {
    this.#slots.set(slot, this.#newProcess())
  }

  /** Does something at once, and runs everything that needs no time. */
  async #act(action: () => void): Promise<void> {
    this.#world.runtime.act(action)
    await this.#settle()
  }

  /** Runs everything that needs no time. */
  async #settle(): Promise<void> {
    const { runtime } = this.#world
    runtime.act(() => {})
    while (this.#world.served > 0) {
      await promisesSettled()
      if (!runtime.hasReady()) return
      runtime.act(() => {})
    }
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

/** Runs a script, and returns its history. */
export const run = async (script: Script): Promise<History> => {
  const { stackTraceLimit } = Error
  // No law looks at a stack trace, and each takes longer than its error.
  Error.stackTraceLimit = 0
  try {
    return await new Run(script).history()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

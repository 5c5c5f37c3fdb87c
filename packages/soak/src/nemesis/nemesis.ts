/** One run of the nemesis: processes, clients, faults, and the history of all that the clients saw. */
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Client, type Known, type World } from "./Client.ts"
import * as Faults from "./faults.ts"
import { Fleet, type Member } from "./Fleet.ts"
import type { Fault, History, Moment } from "./History.ts"
import { Random } from "./Random.ts"
import { Recorder } from "./RawClient.ts"
import { isDisturbed } from "./rules/Facts.ts"
import { recoveryMillis } from "./rules/recoveryRule.ts"
import * as Services from "./services.ts"
import { Signal } from "./Signal.ts"

/** A fault that hits the process of a booking at a moment. */
export type Aim = readonly [kind: Faults.Inflicted, moment: Moment]

export interface Options {
  readonly store: Services.StoreName
  readonly seed: number
  /** The program of a process, and the arguments that all processes have. */
  readonly program: string
  readonly arguments?: ReadonlyArray<string>
  /** The kinds of faults, each of which happens once, in this order. Default: all. */
  readonly faults?: ReadonlyArray<Faults.Inflicted>
  /**
   * The moments of bookings at which a fault hits their process. Default: every moment with each of the kinds of faults
   * that end the ownership of a process.
   */
  readonly aims?: ReadonlyArray<Aim>
  /** The time for which faults of these kinds happen at random instead, also two at once. */
  readonly millis?: number | undefined
  readonly processes?: number
  readonly onFault?: (fault: Fault) => void
}

export interface Run {
  readonly history: History
  /** The lines that the processes wrote. */
  readonly log: ReadonlyArray<string>
  /** The resident memory of each process at the end, in MiB. */
  readonly memory: ReturnType<Fleet["memory"]>
}

/** The sessions of a run; the clients of the last two end theirs, and open others. */
const owners = ["ada", "ada", "bob", "bob", "ada", "bob"] as const
const steadyCount = 4

/** The time after a fault in which its recovery is seen, and its effects end. */
const calmMillis = recoveryMillis + 200

/** The time for which a process has been silent when it reports that its lease was not renewed. */
const leaseMillis = 2000

/**
 * The interval of a timer. If it is so late, or a process has waited so long for a processor meanwhile, the machine is
 * too busy to judge times.
 */
const tickMillis = 500
const lateMillis = 400
const waitMillis = 250

/** The least time between two faults. */
const pauseMillis = 700

/** The time in which everything that clients have begun ends, on a busy machine. */
const settleMillis = 60_000

/** The time in which a booking reaches a moment. */
const aimMillis = 15_000

/** The stores that keep calls. */
const durable: ReadonlySet<Services.StoreName> = new Set(["memory", "sqlite", "postgres"])

const moments: ReadonlyArray<Moment> = ["begun", "asked", "answering", "answered"]

/** Returns the number of lines of each city. */
const chargesIn = (file: string): Readonly<Record<string, number>> => {
  const charges = new Map<string, number>()
  const lines = fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n") : []
  for (const line of lines) {
    if (line === "") continue
    const city = String(JSON.parse(line))
    charges.set(city, (charges.get(city) ?? 0) + 1)
  }
  return Object.fromEntries(charges)
}

/** Runs a client with one session after the other, until the run ends. */
const runClient = async (
  index: number,
  make: (name: string) => Client,
  isEnding: () => boolean,
  random: Random
): Promise<Client | undefined> => {
  for (let turn = 1; !isEnding(); turn++) {
    const client = make(`${owners[index]}-${index}-${turn}`)
    if (!await client.open()) return undefined
    const listening = client.listen()
    const working = Promise.all([
      client.ping(),
      client.logs(),
      client.asks(),
      client.books(),
      client.trespasses(),
      client.work()
    ])
    if (index < steadyCount) {
      await working
      return client
    }
    await Promise.race([working, sleep(random.between(5000, 15_000))])
    await client.delete()
    await Promise.all([working, listening])
  }
  return undefined
}

/** Runs the nemesis. At its end no process and no file is left. */
export const run = async (options: Options): Promise<Run> => {
  const { arguments: args = [], onFault, processes = 3, program, seed, store } = options
  const random = new Random(seed)
  const service = await Services.make(store)
  const folder = fs.mkdtempSync(path.join(tmpdir(), "fleet-charges-"))
  const charges = path.join(folder, "charges")
  try {
    await service.start()
    const fleet = await Fleet.start({
      program,
      arguments: [...args, "--charges", charges],
      store,
      service,
      count: processes
    })
    try {
      const recorder = new Recorder()
      let onMoment: World["onMoment"] = () => {}
      const world = {
        recorder,
        places: () => fleet.places(),
        sessions: new Set<Known>(),
        isEnding: false,
        onMoment: (moment: Moment, pid: string) => onMoment(moment, pid)
      }
      const clients = owners.map((principal, index) =>
        runClient(
          index,
          (name) => new Client(name, principal, world, random.fork()),
          () => world.isEnding,
          random.fork()
        )
      )
      const faults: Array<Fault> = []
      const site: Faults.Site = { fleet, service, random: random.fork(), now: () => recorder.now() }
      const inflict = async (kind: Faults.Inflicted, target = random.pick(fleet.members), moment?: Moment) => {
        if (target === undefined) return
        const fault = await Faults.run(kind, target, site, moment)
        faults.push(fault)
        onFault?.(fault)
        return fault
      }
      /** Waits for a booking at this moment, and lets a fault hit its process. */
      const aim = async ([kind, moment]: Aim): Promise<Fault | undefined> => {
        const found = new Signal<Member>()
        onMoment = (reached, pid) => {
          const member = fleet.members.find(({ child, isPaused }) => !isPaused && String(child?.pid) === pid)
          if (reached !== moment || member === undefined) return
          onMoment = () => {}
          found.give(member)
        }
        const member = await Promise.race([found.happened, sleep(aimMillis)])
        onMoment = () => {}
        return member === undefined ? undefined : inflict(kind, member, moment)
      }
      /** Waits until all sessions have recovered from a fault, or until it is certain that one has not. */
      const calmAfter = async (fault: Fault | undefined) => {
        if (fault === undefined) return
        const { recoversFrom } = fault
        await sleep(pauseMillis)
        while ([...world.sessions].some(({ servedSince }) => servedSince < recoversFrom)) {
          if (recorder.now() > recoversFrom + calmMillis) return
          await sleep(100)
        }
      }
      const kinds = options.faults ?? Faults.kindsFor(service)
      const isDurable = durable.has(store)
      const aims = options.aims ?? (isDurable
        ? Faults.ofOwners.filter((kind) => kinds.includes(kind))
          .flatMap((kind) => moments.map((moment) => [kind, moment] as const))
        : [])
      const stalls: Array<Fault> = []
      let tickedAt = recorder.now()
      let waits = fleet.waits()
      const ticker = setInterval(() => {
        const now = recorder.now()
        const stall = (target: string) =>
          stalls.push({ kind: "busy", target, at: tickedAt, recoversFrom: now, until: now })
        if (now - tickedAt > tickMillis + lateMillis) stall("machine")
        const before = waits
        waits = fleet.waits()
        for (const [name, millis] of waits) if (millis - (before.get(name) ?? millis) > waitMillis) stall(name)
        tickedAt = now
      }, tickMillis)
      await sleep(2000)
      if (kinds.length === 0) await sleep(options.millis ?? 0)
      else if (options.millis === undefined) {
        for (const kind of kinds) {
          await calmAfter(await inflict(kind))
        }
        for (const one of aims) await calmAfter(await aim(one))
      } else {
        for (const end = recorder.now() + options.millis; recorder.now() < end;) {
          const [first, second] = random.shuffled(fleet.members)
          const aimed = random.chance(0.4) ? random.pick(aims) : undefined
          // An aimed fault can hit any process, also that of a second fault.
          const isDouble = random.chance(0.25) && aimed === undefined
          // There is one database, which cannot be stopped twice.
          const [kind = "kill", another = "kill"] = random.shuffled(kinds)
          const [fault] = await Promise.all([
            aimed === undefined ? inflict(kind, first) : aim(aimed),
            isDouble ? sleep(random.between(0, 1500)).then(() => inflict(another, second)) : undefined
          ])
          await (random.chance(0.6) ? calmAfter(fault) : sleep(random.between(0, calmMillis / 2)))
        }
      }
      // Nothing is disturbed any more when the clients look at everything once again.
      if (faults.length > 0) await sleep(calmMillis)
      world.isEnding = true
      const ended = await Promise.race([Promise.all(clients), sleep(settleMillis)])
      if (ended === undefined) throw new Error(`the clients did not end within ${settleMillis} ms`)
      await Promise.all(ended.map((client) => client?.visit()))
      for (const client of ended) client?.close()
      const memory = fleet.memory()
      const unexpected = fleet.lostLeases.filter(({ at }) => !isDisturbed(faults, at, at))
      const leases = unexpected.map(({ at, name }): Fault => ({
        kind: "lease",
        target: name,
        at: at - leaseMillis,
        recoversFrom: at,
        until: at
      }))
      clearInterval(ticker)
      const all = [...faults, ...leases, ...stalls]
      const history = {
        isDurable,
        charges: chargesIn(charges),
        exchanges: recorder.exchanges,
        faults: all,
        crashes: fleet.crashes
      }
      return { history, log: fleet.log, memory }
    } finally {
      await fleet.stop()
    }
  } finally {
    await service.remove()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

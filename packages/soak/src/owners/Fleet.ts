/** Processes that own sessions in a database, faults, and how long it takes until another process serves a session. */
import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../../scripts/joinedProgram.ts"
import { freePort } from "../nemesis/ports.ts"
import { Relay } from "../nemesis/Relay.ts"
import type { Service } from "../nemesis/services.ts"
import * as Child from "./Child.ts"
import { type Served, violations } from "./Served.ts"

/** The program of a process, joined to one file, because a run starts it many times. */
const program = joinedProgram(fileURLToPath(new URL("ownerProcess.ts", import.meta.url)))

/** The judge of which processes live: the leases in the store alone, or Effect Cluster too. */
export type Judge = "store" | "cluster"

/** One process of a fleet. */
export interface Member extends Child.Child {
  /** The relay through which the other runners reach its runner. */
  readonly relay: Relay | undefined
}

const startMember = async (judge: Judge, url: string, prefix: string): Promise<Member> => {
  if (judge === "store") return { ...await Child.start(await program, [url, prefix]), relay: undefined }
  const port = await freePort()
  const relay = await Relay.to(port, await freePort())
  return { ...await Child.start(await program, [url, prefix, String(relay.port), String(port)]), relay }
}

/** The names of the faults. */
export const faults = ["kill -9", "SIGTERM", "pause", "cut", "restart"] as const

/** A fault: the owner is killed, ended, or paused; its runner is unreachable; the database restarts. */
export type Fault = typeof faults[number]

/** The result of a fault. */
export interface Outcome {
  /** The time from the fault, or from the end of the outage, until a process served the session again. */
  readonly millis: number
  /** Whether the process that served it first is another one. */
  readonly isElsewhere: boolean
  readonly violations: ReadonlyArray<string>
  /** The number of requests that a process has served. */
  readonly served: number
}

const ask = async ({ port }: Member, session: string): Promise<number | undefined> => {
  try {
    const { status } = await Child.get(port, `/serve/${session}`, 1_000)
    return status
  } catch {
    // The process is dead, or it is paused.
    return undefined
  }
}

const historyOf = async ({ port }: Member): Promise<ReadonlyArray<Served>> => {
  const { text } = await Child.get(port, "/history", 5_000)
  return JSON.parse(text)
}

const interval = 20

/** The time for which a process must have had its lease before it may take sessions over, and some more. */
const settled = 2_500

/** The time for which a process is paused: longer than its lease. */
const pause = 4_000

/** The time for which the database is away: longer than a registration in the cluster lasts. */
const outage = 12_000

/** The longest wait for a take-over. A runner that is cut off is noticed by the next check of its health. */
const longest = 60_000

/** Starts processes that share tables of their own. */
export const start = async (judge: Judge, url: string, count: number) => {
  const prefix = `t${randomBytes(5).toString("hex")}_`
  const members = await Promise.all(Array.from({ length: count }, () => startMember(judge, url, prefix)))
  const end = async () => {
    for (const { relay } of members) relay?.close()
    await Promise.all(members.map((member) => Child.end(member)))
  }
  return { members, end }
}

/** Starts processes, causes one fault of the owner of a session, and waits until it is served again. */
export const cause = async (fault: Fault, judge: Judge, service: Service, count = 3): Promise<Outcome> => {
  const { end, members } = await start(judge, service.url(service.port), count)
  const [owner, ...others] = members
  if (owner === undefined) throw new Error("no processes")
  try {
    await sleep(settled)
    const session = randomBytes(8).toString("hex")
    // A second session, of another process, shows whether owners change after an outage.
    const kept = others[0]
    if (await ask(owner, session) !== 200) throw new Error("the first process did not claim the session")
    if (kept !== undefined && await ask(kept, `${session}-kept`) !== 200) throw new Error("no second session")
    const lost: Array<Promise<ReadonlyArray<Served>>> = []
    // The history of a process that ends must be read before it does.
    if (fault === "kill -9" || fault === "SIGTERM") lost.push(historyOf(owner))
    await Promise.all(lost)
    const { over } = await begin(owner, fault, service)
    const begun = performance.now()
    let server: Member | undefined
    for (let turn = 0; server === undefined; turn++) {
      if (performance.now() - begun > longest) break
      const member = members[turn % members.length]
      // A paused process answers nothing, and would only delay the others.
      const isAsked = member !== undefined && (member !== owner || fault === "restart" || fault === "cut")
      if (isAsked && await ask(member, session) === 200 && (fault === "restart" || member !== owner)) server = member
      else await sleep(interval)
    }
    const millis = performance.now() - begun
    await over
    // The former owner is asked too: it must not serve what it has lost.
    for (let turn = 0; turn < 60; turn++) {
      await Promise.all(members.map((member) => ask(member, session)))
      if (fault === "restart" && kept !== undefined) await ask(kept, `${session}-kept`)
      await sleep(interval)
    }
    const isDead = fault === "kill -9" || fault === "SIGTERM"
    const histories = await Promise.all([...lost, ...(isDead ? others : members).map(historyOf)])
    const history = histories.flat()
    return {
      millis,
      isElsewhere: server !== undefined && server !== owner,
      violations: [
        ...(server === undefined ? [`no other process served the session within ${longest} ms`] : []),
        ...violations(history),
        ...(fault === "restart" && history.some(({ epoch }) => epoch > 1) ? ["an owner changed after the outage"] : [])
      ],
      served: history.length
    }
  } finally {
    await end()
  }
}

/** Causes a fault, and returns how long it lasts. */
const begin = async (
  owner: Member,
  fault: Fault,
  service: Service
): Promise<{ readonly over: Promise<unknown> }> => {
  switch (fault) {
    case "kill -9":
      return { over: Child.end(owner) }
    case "SIGTERM":
      return { over: Child.end(owner, "SIGTERM") }
    case "pause":
      owner.process.kill("SIGSTOP")
      return { over: sleep(pause).then(() => owner.process.kill("SIGCONT")) }
    case "cut":
      owner.relay?.cut()
      return { over: Promise.resolve() }
    case "restart":
      await service.stop()
      await sleep(outage)
      await service.start()
      return { over: Promise.resolve() }
  }
}

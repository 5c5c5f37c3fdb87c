/**
 * Thousands of sessions of a fleet without faults, which their clients end or leave. At the end the rows of the stores,
 * the open files and connections, and the memory of the processes are those of the beginning.
 */
import * as fs from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Fleet } from "./Fleet.ts"
import type { Exchange, Principal } from "./History.ts"
import * as Message from "./Message.ts"
import { Random } from "./Random.ts"
import { Recorder, type Sent } from "./RawClient.ts"
import { answerTo } from "./rules/callRules.ts"
import * as Services from "./services.ts"

export interface Options {
  readonly store: Services.StoreName
  readonly seed: number
  readonly program: string
  readonly sessions: number
  readonly onLevel: (name: string, level: Level) => void
}

/** The resources of the fleet at one time. */
export interface Level {
  /** The rows or keys of the stores by their table. */
  readonly rows: Readonly<Record<string, number>>
  /** The open files and connections of all processes. */
  readonly files: number
  /** The connections among them. */
  readonly connections: number
  /** The resident memory of all processes. */
  readonly mebibytes: number
}

export interface Outcome {
  readonly base: Level
  /** The greatest number of each resource at the end of a round. */
  readonly peak: Level
  readonly end: Level
  /** The resources that are left, and the sessions that failed. */
  readonly problems: ReadonlyArray<string>
}

/** The time after which a session that its client has left expires, in seconds. */
const idleSeconds = 5

/** The time for which the stores keep what has ended, in seconds. Their default makes the run wait for minutes. */
const keptSeconds = 5

/** The sessions that exist at once. */
const concurrency = 30

/** The part of the sessions that their clients leave. */
const leftShare = 0.4

/** The time in which everything of the last sessions expires. */
const settleMillis = 120_000

/** The growth of the memory of all processes that is no leak. */
const growthMebibytes = 120

const rounds = 10

/** A session from its begin to its end. Throws if a response is not the expected one. */
const useSession = async (recorder: Recorder, fleet: Fleet, random: Random): Promise<void> => {
  const principal: Principal = random.chance(0.5) ? "ada" : "bob"
  let session: string | undefined
  const begin = (sent: Omit<Sent, "principal" | "to" | "session">) => {
    const to = random.pick(fleet.places())
    if (to === undefined) throw new Error("no process serves")
    return recorder.send({ limitMillis: 30_000, ...sent, principal, to, session })
  }
  const expect = (exchange: Exchange, status: number): Exchange => {
    if (exchange.status === status && exchange.ending === "complete") return exchange
    throw new Error(`${exchange.purpose}: ${exchange.status} ${exchange.ending} ${exchange.body}`)
  }
  const post = async (message: unknown, status: number, onEvent?: Sent["onEvent"]) =>
    expect(
      await begin({ purpose: "call", method: "POST", message, ...(onEvent === undefined ? undefined : { onEvent }) })
        .done,
      status
    )
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "soak", version: "1" }
  }
  session = (await post({ jsonrpc: "2.0", id: 0, method: "initialize", params }, 200)).opened
  await post({ jsonrpc: "2.0", method: "notifications/initialized" }, 202)
  const listening = begin({ purpose: "listen", method: "GET", limitMillis: 600_000 })
  try {
    await post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "fleet://harbour" } }, 200)
    const call = (id: number, name: string, input: unknown, onEvent?: Sent["onEvent"]) =>
      post(
        { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input, _meta: { progressToken: id } } },
        200,
        onEvent
      )
    await call(2, "echo", { text: "x".repeat(random.between(1, 2000)) })
    await call(3, "slow", { ms: 100 })
    await call(4, "ask", { question: "where to?" }, ({ data }) => {
      const message = Message.parse(data)
      if (message?.method !== "elicitation/create") return
      const result = { action: "accept", content: { answer: answerTo("where to?") } }
      void begin({ purpose: "answer", method: "POST", message: { jsonrpc: "2.0", id: message.id, result } }).done
    })
    if (!random.chance(leftShare)) expect(await begin({ purpose: "delete", method: "DELETE" }).done, 204)
  } finally {
    // The stream of a session that fails would hold it until the limit.
    listening.abandon()
  }
}

/** Returns the open files and connections of the processes, as the links of the system. */
const linksOf = (fleet: Fleet): ReadonlyArray<string> =>
  fleet.members.flatMap(({ child }) => {
    if (child?.pid === undefined) return []
    const folder = `/proc/${child.pid}/fd`
    return fs.readdirSync(folder).map((file) => {
      try {
        return fs.readlinkSync(`${folder}/${file}`)
      } catch {
        // It has just been closed.
        return ""
      }
    })
  })

const highest = (one: Level, other: Level): Level => ({
  rows: Object.fromEntries(
    Object.entries(other.rows).map(([name, count]) => [name, Math.max(count, one.rows[name] ?? 0)])
  ),
  files: Math.max(one.files, other.files),
  connections: Math.max(one.connections, other.connections),
  mebibytes: Math.max(one.mebibytes, other.mebibytes)
})

/** Runs the sessions. At the end no process and no file is left. */
export const run = async ({ onLevel, program, seed, sessions, store }: Options): Promise<Outcome> => {
  const random = new Random(seed)
  const service = await Services.make(store)
  try {
    await service.start()
    const args = ["--idle", String(idleSeconds), "--kept", String(keptSeconds)]
    const fleet = await Fleet.start({ program, arguments: args, store, service, count: 3 })
    try {
      const failures = new Map<string, number>()
      const wave = async (count: number) => {
        let left = count
        await Promise.all(Array.from({ length: concurrency }, async () => {
          const recorder = new Recorder()
          const own = random.fork()
          while (left-- > 0) {
            await useSession(recorder, fleet, own).catch((error: unknown) => {
              const problem = error instanceof Error ? error.message.slice(0, 200) : String(error)
              failures.set(problem, (failures.get(problem) ?? 0) + 1)
            })
            recorder.exchanges.length = 0
          }
        }))
      }
      const level = (): Level => {
        const links = linksOf(fleet)
        return {
          rows: service.rows(),
          files: links.length,
          connections: links.filter((link) => link.startsWith("socket:")).length,
          mebibytes: fleet.memory().reduce((sum, [, mebibytes]) => sum + mebibytes, 0)
        }
      }
      const isSettled = (now: Level, base: Level | undefined) =>
        ["sessions", "streams", "events"].every((name) => (now.rows[name] ?? 0) <= (base?.rows[name] ?? 0)) &&
        now.files <= (base?.files ?? Number.POSITIVE_INFINITY) &&
        // The engine returns memory up to a minute after the last request.
        now.mebibytes <= (base?.mebibytes ?? Number.POSITIVE_INFINITY) + growthMebibytes
      /** Waits until everything has expired, and returns the level. */
      const settled = async (base: Level | undefined): Promise<Level> => {
        for (const end = Date.now() + settleMillis;; await sleep(1000)) {
          const now = level()
          if (isSettled(now, base) || Date.now() > end) return now
        }
      }
      // The first sessions load modules and fill caches.
      await wave(Math.min(sessions, 600))
      const base = await settled(undefined)
      onLevel("base", base)
      let peak = base
      for (let round = 1; round <= rounds; round++) {
        await wave(Math.ceil(sessions / rounds))
        const now = level()
        peak = highest(peak, now)
        onLevel(`round ${round}`, now)
      }
      onLevel("peak", peak)
      const end = await settled(base)
      onLevel("end", end)
      const problems = [
        ...[...failures].map(([problem, count]) => `${count} sessions failed: ${problem}`),
        ...Object.entries(end.rows).filter(([name, count]) => count > (base.rows[name] ?? 0))
          .map(([name, count]) => `${count} rows in ${name}, and ${base.rows[name] ?? 0} at first`),
        ...(end.files > base.files ? [`${end.files} open files, and ${base.files} at first`] : []),
        ...(end.mebibytes > base.mebibytes + growthMebibytes
          ? [`${end.mebibytes} MiB, and ${base.mebibytes} at first`]
          : [])
      ]
      return { base, peak, end, problems }
    } finally {
      await fleet.stop()
    }
  } finally {
    await service.remove()
  }
}

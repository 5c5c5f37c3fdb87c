/**
 * Measures what a fleet costs and how fast it recovers, with real processes:
 *
 * - a call through another process, as a ratio of one at the owner;
 * - a call whose response is a stream of three stored events, as a ratio of one without;
 * - a durable call that asks a question, with a step of `once`, as a ratio of a call that only asks;
 * - the time from `kill -9` of the owner to the first answer of the next one;
 * - the time from a change in one process to its notification in another.
 *
 * `node packages/benchmarks/src/fleetCosts.ts --store sqlite`, or `postgres`, or `redis`. `--rounds 20` and `--calls
 * 200` set the size. Each figure is a median of the rounds with its interval of 95 %. The rounds alternate.
 */
import { parseArgs } from "node:util"
import * as FleetProcess from "./fleet/FleetProcess.ts"
import * as Interval from "./fleet/interval.ts"
import * as SessionClient from "./fleet/SessionClient.ts"

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    rounds: { type: "string", default: "20" },
    calls: { type: "string", default: "200" },
    kills: { type: "string", default: "10" }
  }
})
const rounds = Number(values.rounds)
const calls = Number(values.calls)
const options = ["--processes", "3", "--store", values.store]

const sleep = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Returns the time of one call, in milliseconds. */
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  for (let count = 0; count < calls; count++) await work()
  return (performance.now() - start) / calls
}

/** Returns the times of one kind of call in all rounds, and the ratios of those of another kind to it. */
const compared = async (one: () => Promise<unknown>, other: () => Promise<unknown>) => {
  await timed(one)
  await timed(other)
  const times: Array<number> = []
  const ratios: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const isFirst = round % 2 === 0
    const first = await timed(isFirst ? one : other)
    const second = await timed(isFirst ? other : one)
    times.push(isFirst ? first : second)
    ratios.push(isFirst ? second / first : first / second)
  }
  return { times, ratios }
}

const check = ({ body, status }: SessionClient.Reply): void => {
  if (status !== 200 || !body.includes("\"result\"")) throw new Error(`a call failed: ${status} ${body}`)
}

const report = (name: string, text: string) => console.log(`${name.padEnd(44)} ${text}`)

const fleet = await FleetProcess.start([...options, "--restart"])
const [owner, other] = fleet.places()
if (owner === undefined || other === undefined) throw new Error("the fleet has fewer than two processes")
const session = await SessionClient.open(owner.port)
const echo = (port: number) => async () => check(await SessionClient.call(port, session, "echo", { text: "x" }))
const log = async () => check(await SessionClient.call(owner.port, session, "log", { level: "error", text: "x" }))
const ask = async () =>
  check(await SessionClient.callAndAnswer(owner.port, session, "ask", { question: "?" }, { answer: "x" }))
const book = async () =>
  check(await SessionClient.callAndAnswer(owner.port, session, "book", { city: "x" }, { seat: "x" }))

const forwarded = await compared(echo(owner.port), echo(other.port))
report("a call at the owner, ms", Interval.format(forwarded.times))
report("through another process, ratio", Interval.format(forwarded.ratios))
report("with three stored events, ratio", Interval.format((await compared(echo(owner.port), log)).ratios))
const durable = await compared(ask, book)
report("a call with a question, ms", Interval.format(durable.times))
report("a durable one, ratio", Interval.format(durable.ratios))

const delays: Array<number> = []
await SessionClient.request(owner.port, session, "resources/subscribe", { uri: "fleet://benchmark" })
let arrived = () => {}
const stop = await SessionClient.listen(owner.port, session, (text) => {
  if (text.includes("notifications/resources/updated")) arrived()
})
const toucher = await SessionClient.open(other.port)
for (let round = 0; round < rounds; round++) {
  const notified = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const start = performance.now()
  check(await SessionClient.call(other.port, toucher, "touch", { uri: "fleet://benchmark" }))
  await notified
  delays.push(performance.now() - start)
  await sleep(20 * Math.random())
}
stop()
report("a change reaches another process, ms", Interval.format(delays, 0))
report("  the slowest, ms", Math.max(...delays).toFixed(0))

const recoveries: Array<number> = []
for (let round = 0; round < Number(values.kills); round++) {
  await sleep(4000)
  const [dying, next] = fleet.places().toSorted(() => Math.random() - 0.5)
  if (dying === undefined || next === undefined) throw new Error("the fleet has fewer than two processes")
  const mine = await SessionClient.open(dying.port)
  check(await SessionClient.call(next.port, mine, "echo", { text: "x" }))
  process.kill(dying.pid, "SIGKILL")
  const start = performance.now()
  for (;;) {
    const reply = await SessionClient.call(next.port, mine, "echo", { text: "x" })
    if (reply.status === 200) break
    if (reply.status === 404) throw new Error("a session was lost")
    await sleep(50)
  }
  recoveries.push(performance.now() - start)
}
report("after kill -9, the first answer, ms", Interval.format(recoveries, 0))
report("  the slowest, ms", Math.max(...recoveries).toFixed(0))

SessionClient.close()
await fleet.stop()

/** The curves of servers with many tools: the cost of a call, and of the complete list. */
import type { Application } from "../applications/Application.ts"
import * as officialV2 from "../applications/officialV2.ts"
import * as ours from "../applications/ours.ts"
import { millisOf } from "../measure.ts"
import type { Options } from "../Part.ts"
import { build } from "../servers.ts"
import * as Curve from "./Curve.ts"
import { open, resultsIn } from "./ListingServer.ts"

const sizes = [1, 10, 100, 500, 1_000]

/** Measures calls, and then lists. A list of ten tools takes about as long as a few calls. */
const callsAndLists = (
  { calls }: Options,
  size: number,
  add: (count: number) => Promise<unknown>,
  list: () => Promise<unknown>
) =>
async (): Promise<Curve.Costs> => {
  const lists = Math.max(3, Math.ceil(calls / (10 + size)))
  globalThis.gc?.({ type: "minor", execution: "sync" })
  const call = await millisOf(() => add(calls)) * 1000 / calls
  const listing = await millisOf(async () => {
    for (let count = 0; count < lists; count++) await list()
  }) * 1000 / lists
  return { call, list: listing }
}

const overStdio = (name: string, program: string): Curve.CurveContender => ({
  name,
  prepare: async (size, options) => {
    build()
    const { add, list, stop } = await open({ name, program, arguments: [String(size)] })
    resultsIn(await list(), size)
    const adding = async (count: number) => {
      for (let call = 0; call < count; call++) await add()
    }
    return { once: callsAndLists(options, size, adding, list), close: stop }
  }
})

/** The floor: a program that writes the same bytes as this library, which were prepared. */
const floor: Curve.CurveContender = {
  name: "prepared bytes",
  prepare: async (size, options) => {
    build()
    const model = await open({ name: Curve.ours, program: "applications/ours", arguments: [String(size)] })
    const pages = resultsIn(await model.list(), size).map((result) => JSON.stringify(result))
    await model.stop()
    const { add, list, notify, stop } = await open({ name: "prepared bytes", program: "prepared" })
    await notify({ method: "prepare", params: { pages } })
    resultsIn(await list(), size)
    const adding = async (count: number) => {
      for (let call = 0; call < count; call++) await add()
    }
    return { once: callsAndLists(options, size, adding, list), close: stop }
  }
}

const inMemory = (
  name: string,
  connect: (size: number) => Promise<Application>,
  callsOf: (calls: number, size: number) => number = (calls) => calls
): Curve.CurveContender => ({
  name,
  prepare: async (size, options) => {
    const { close, list, run } = await connect(size)
    const calls = callsOf(options.calls, size)
    return { once: callsAndLists({ ...options, calls }, size, (count) => run("add", count, 1), list), close }
  }
})

const curve = (place: string, title: string, contenders: ReadonlyArray<Curve.CurveContender>): Curve.Curve => ({
  sizes,
  meaning: "tools",
  quantities: {
    call: { file: `tools-call-${place}`, title: `tools/call ${title}`, unit: "µs per call" },
    list: { file: `tools-list-${place}`, title: `tools/list ${title}, all pages`, unit: "µs per complete list" }
  },
  contenders,
  warmUpRounds: () => 4,
  mostRounds: () => Infinity
})

export const stdio: Curve.Curve = curve("stdio", "over stdio", [
  overStdio(Curve.ours, "applications/ours"),
  floor,
  overStdio("official v2", "applications/officialV2")
])

export const memory: Curve.Curve = curve("memory", "in memory, as JSON", [
  inMemory(Curve.ours, (size) => ours.connect(size, "json")),
  // The duration of its calls grows with the number of tools.
  inMemory("official v2", officialV2.connect, (calls, size) => Math.ceil(calls / (1 + size / 10)))
])

/** The curve of tasks of one server at the same time, in memory, as JSON. Each batch of tasks has a new server. */
import { millisOf } from "../measure.ts"
import * as officialV1 from "../taskServers/officialV1.ts"
import * as ours from "../taskServers/ours.ts"
import type { TaskServer } from "../taskServers/TaskServer.ts"
import * as Curve from "./Curve.ts"

const sizes = [1, 10, 100, 1_000, 10_000]

/** Collects garbage, and returns the bytes of the heap. */
const heapUsed = async (): Promise<number> => {
  for (let times = 0; times < 3; times++) {
    globalThis.gc?.({ type: "major", execution: "sync" })
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

/** Creates tasks on a new server, lets them finish, and collects their results. */
const batch = async (size: number, connect: () => Promise<TaskServer>, measuresHeap: boolean): Promise<Curve.Costs> => {
  const { close, collect, create, finish } = await connect()
  const before = measuresHeap ? await heapUsed() : 0
  const creating = await millisOf(() => create(size))
  const heap = measuresHeap ? await heapUsed() - before : 0
  const finishing = await millisOf(finish)
  const collecting = await millisOf(collect)
  await close()
  return {
    create: creating * 1000 / size,
    finish: finishing * 1000 / size,
    collect: collecting * 1000 / size,
    heap: heap / size
  }
}

const mean = (batches: ReadonlyArray<Curve.Costs>, quantity: string): number =>
  batches.reduce((sum, costs) => sum + (costs[quantity] ?? Number.NaN), 0) / batches.length

const contender = (name: string, connect: () => Promise<TaskServer>): Curve.CurveContender => ({
  name,
  prepare: async (size, { calls }) => ({
    once: async () => {
      const batches = [await batch(size, connect, true)]
      const { heap = Number.NaN } = batches[0] ?? {}
      const count = Math.min(50, Math.ceil(calls / 10 / size))
      globalThis.gc?.({ type: "minor", execution: "sync" })
      while (batches.length < count) batches.push(await batch(size, connect, false))
      return {
        create: mean(batches, "create"),
        finish: mean(batches, "finish"),
        collect: mean(batches, "collect"),
        heap
      }
    },
    close: async () => {}
  })
})

export const curve: Curve.Curve = {
  sizes,
  meaning: "tasks at the same time",
  quantities: {
    create: { file: "tasks-create", title: "Creation of tasks in memory, 64 at a time", unit: "µs per task" },
    finish: { file: "tasks-finish", title: "End of all tasks at once", unit: "µs per task" },
    collect: { file: "tasks-collect", title: "Collection of results of tasks, 64 at a time", unit: "µs per task" },
    heap: { file: "tasks-heap", title: "Heap of tasks that wait", unit: "bytes per task" }
  },
  contenders: [
    contender(Curve.ours, () => ours.connect(Math.max(...sizes))),
    contender("official v1", officialV1.connect)
  ],
  warmUpRounds: (size) => size < 10_000 ? 2 : 1,
  mostRounds: (size) => size < 1_000 ? Infinity : size < 10_000 ? 9 : 5
}

/** The curve of subscriptions: notifications of one change to all clients of a server, in memory, as JSON. */
import { millisOf } from "../measure.ts"
import * as officialV1 from "../subscribers/officialV1.ts"
import * as officialV2 from "../subscribers/officialV2.ts"
import * as ours from "../subscribers/ours.ts"
import type { Subscribers } from "../subscribers/Subscribers.ts"
import * as Curve from "./Curve.ts"

const contender = (name: string, connect: (clients: number) => Promise<Subscribers>): Curve.CurveContender => ({
  name,
  prepare: async (size, { calls }) => {
    const { close, update } = await connect(size)
    const updates = Math.max(2, Math.ceil(calls / size))
    return {
      once: async () => {
        globalThis.gc?.({ type: "minor", execution: "sync" })
        const millis = await millisOf(async () => {
          for (let count = 0; count < updates; count++) await update()
        })
        return { notification: millis * 1000 / (updates * size) }
      },
      close
    }
  }
})

export const curve: Curve.Curve = {
  sizes: [1, 10, 100, 1_000, 10_000],
  meaning: "subscribed clients",
  quantities: {
    notification: {
      file: "subscriptions",
      title: "Updates of one resource for all clients, in memory, as JSON",
      unit: "µs per notification"
    }
  },
  contenders: [
    contender(Curve.ours, ours.connect),
    contender("official v1", officialV1.connect),
    contender("official v2", officialV2.connect)
  ],
  warmUpRounds: () => 3,
  mostRounds: (size) => size < 10_000 ? Infinity : 9
}

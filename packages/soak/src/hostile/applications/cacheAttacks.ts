/** The attacks of hostile clients on a server that keeps results. */
import type { Attack } from "../connectionAttacks.ts"
import { nested } from "../frames.ts"
import { pause, type Target } from "../httpRequests.ts"
import * as PrincipalClient from "./PrincipalClient.ts"

/** The clients that call at the same time. */
const clients = 8

/** Calls the tool whose results are kept, with different arguments each time. */
const distinctCalls = (bytes: number, input: string): Attack<Target> => async (target, signal) => {
  let page = 0
  const callForever = async (): Promise<void> => {
    while (!signal.aborted) {
      const client = await PrincipalClient.open(target, "attacker-0", "2025-11-25")
      while (client !== undefined && !signal.aborted) {
        const params = `"name":"find","arguments":{"page":${++page},"bytes":${bytes},"input":${input}}`
        if (await client.send({ method: "tools/call", params }) === undefined) break
      }
      await pause(100)
    }
  }
  await Promise.all(Array.from({ length: clients }, callForever))
}

export const cacheAttacks: Readonly<Record<string, Attack<Target>>> = {
  "distinct calls of a cached tool with 60 KB of nested arrays": distinctCalls(10, nested(60_000)),
  "distinct calls of a cached tool with 290 KB of nested arrays": distinctCalls(10, nested(290_000)),
  "distinct calls of a cached tool with answers of 1 MB": distinctCalls(1_000_000, "0")
}

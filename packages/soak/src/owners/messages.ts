/** Messages to an entity with a mailbox, beside a bare request of HTTP. */
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { freePort } from "../nemesis/ports.ts"
import * as Child from "./Child.ts"
import { alternate, medianOf, type Samples } from "./Samples.ts"

const program = fileURLToPath(new URL("entityProcess.ts", import.meta.url))

const check = async (port: number, path: string) => {
  const { status, text } = await Child.get(port, path)
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
  return text
}

/** Returns ids of entities that are at one runner, and not at the other. */
const idsAt = async (here: Child.Child, there: Child.Child, count: number): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (let number = 0; ids.length < count; number++) {
    if (number > 100_000) throw new Error("the runners have not divided the entities")
    const [isHere, isThere] = await Promise.all([
      check(here.port, `/local/session-${number}`),
      check(there.port, `/local/session-${number}`)
    ])
    if (isHere === "true" && isThere === "false") ids.push(`session-${number}`)
    if (number % 200 === 199) await sleep(500)
  }
  return ids
}

/**
 * Measures two runners. All requests are sent to the first one, one after another. Returns the median of each round, in
 * milliseconds.
 */
export const measure = async (url: string, rounds: number, calls: number): Promise<ReadonlyMap<string, Samples>> => {
  const ports = [await freePort(), await freePort()]
  const children = await Promise.all(ports.map((port) => Child.start(program, [url, String(port)])))
  try {
    const [one, other] = children
    if (one === undefined || other === undefined) throw new Error("no processes")
    const local = await idsAt(one, other, 20)
    const remote = await idsAt(other, one, 20)
    const contender = (name: string, kind: string, ids: ReadonlyArray<string>, count: number) => ({
      name,
      once: async () => {
        const millis: Array<number> = []
        for (let call = 0; call < count; call++) {
          const start = performance.now()
          await check(one.port, `/${kind}/${ids[call % ids.length]}`)
          millis.push(performance.now() - start)
        }
        return medianOf(millis)
      }
    })
    const contenders = [
      contender("bare", "bare", local, calls),
      contender("local", "plain", local, calls),
      contender("remote", "plain", remote, calls),
      contender("local, persisted", "persisted", local, Math.ceil(calls / 20)),
      contender("remote, persisted", "persisted", remote, Math.ceil(calls / 20))
    ]
    for (const { once } of contenders) await once()
    return await alternate(contenders, rounds)
  } finally {
    await Promise.all(children.map((child) => Child.end(child)))
  }
}

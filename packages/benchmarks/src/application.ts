/** Benchmarks of servers that describe their tools by schemas: in this process, so that no transport is measured. */
import type { Application } from "./applications/Application.ts"
import * as effectAi from "./applications/effectAi.ts"
import * as officialV1 from "./applications/officialV1.ts"
import * as officialV2 from "./applications/officialV2.ts"
import * as ours from "./applications/ours.ts"
import { alternate, type Contender, millisOf, type Samples } from "./measure.ts"

/** The numbers of calls in flight. */
const widths: ReadonlyArray<number> = [1, 64]

/** The number of rounds until the just-in-time compiler has finished. */
const warmUpRounds = 8

/** The number of lists in a round, for each call. A list of 500 tools takes about as long as 50 calls. */
const listShare = 1 / 50

/** Microseconds for each number of calls in flight, or for a list, by server, with one number per round. */
export interface Comparison {
  readonly [work: string]: { readonly [application: string]: Samples }
}

export interface Options {
  readonly rounds: number
  readonly calls: number
}

/** The measurements: of calls by reference, and of calls and lists as JSON. */
export interface Results {
  readonly byReference: Comparison
  readonly json: Comparison
}

const compare = async (
  applications: ReadonlyArray<Application>,
  { calls, rounds }: Options,
  isListed: (application: Application) => boolean
): Promise<Comparison> => {
  const contender = (application: Application, count: number, run: () => Promise<void>): Contender => ({
    name: application.name,
    once: async () => {
      globalThis.gc?.({ type: "minor", execution: "sync" })
      return await millisOf(run) * 1000 / count
    }
  })
  const results: { [work: string]: { [application: string]: Samples } } = {}
  const measure = async (work: string, contenders: ReadonlyArray<Contender>) => {
    if (contenders.length === 0) return
    await alternate(contenders, warmUpRounds)
    results[work] = Object.fromEntries(await alternate(contenders, rounds))
  }
  for (const inFlight of widths) {
    await measure(
      inFlight === 1 ? "call" : `call, ${inFlight} in flight`,
      applications.map((one) => contender(one, calls, () => one.run("add", calls, inFlight)))
    )
  }
  const lists = Math.max(1, Math.round(calls * listShare))
  await measure(
    "list of tools",
    applications.filter(isListed).map((one) =>
      contender(one, lists, async () => {
        for (let list = 0; list < lists; list++) await one.list()
      })
    )
  )
  await Promise.all(applications.map(({ close }) => close()))
  return results
}

/** Measures calls and lists of typed tools through both sides of each library. */
export const measure = async (options: Options): Promise<Results> => ({
  byReference: await compare(
    [await ours.connectBare("none"), await ours.connect(1, "none"), await ours.connect(500, "none")],
    options,
    () => false
  ),
  json: await compare(
    [
      await ours.connect(1, "json"),
      await ours.connect(500, "json"),
      await officialV1.connect(1),
      await officialV1.connect(500),
      await officialV2.connect(1),
      await officialV2.connect(500),
      await effectAi.connect(1),
      await effectAi.connect(500)
    ],
    options,
    ({ name }) => name.endsWith("500 tools")
  )
})

import * as Effect from "effect/Effect"
import type { ToolName } from "./tools.ts"

/** A client that is connected to a server in this process, both of the same library. */
export interface Peer {
  readonly name: string
  /** Makes calls in a number of concurrent loops, and checks the sum of each. */
  readonly run: (tool: ToolName, calls: number, inFlight: number) => Promise<void>
  readonly close: () => Promise<void>
}

const check = (sum: number, a: number): void => {
  if (sum !== a + 1) throw new Error(`${a} + 1 returned ${sum}`)
}

/** Creates a peer that is driven by promises, so that a library of promises pays for no conversion. */
export const fromPromises = (options: {
  readonly name: string
  readonly add: (tool: ToolName, a: number, b: number) => Promise<number>
  readonly close: () => Promise<void>
}): Peer => {
  const { add, close, name } = options
  return {
    name,
    run: async (tool, calls, inFlight) => {
      let next = 0
      const loop = async () => {
        while (next < calls) {
          const a = next++
          check(await add(tool, a, 1), a)
        }
      }
      await Promise.all(Array.from({ length: inFlight }, loop))
    },
    close
  }
}

/** Creates a peer that is driven by fibers, likewise. */
export const fromEffects = <E>(options: {
  readonly name: string
  readonly add: (tool: ToolName, a: number, b: number) => Effect.Effect<number, E>
  readonly close: Effect.Effect<void>
}): Peer => {
  const { add, close, name } = options
  return {
    name,
    run: (tool, calls, inFlight) => {
      let next = 0
      const loop = Effect.whileLoop({
        while: () => next < calls,
        body: () => {
          const a = next++
          return Effect.map(add(tool, a, 1), (sum) => check(sum, a))
        },
        step: () => {}
      })
      const loops = inFlight === 1
        ? loop
        : Effect.forEach(Array.from({ length: inFlight }), () => loop, { concurrency: "unbounded", discard: true })
      return Effect.runPromise(loops)
    },
    close: () => Effect.runPromise(close)
  }
}

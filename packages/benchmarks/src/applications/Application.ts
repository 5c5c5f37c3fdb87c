import type * as Effect from "effect/Effect"
import { fromEffects, fromPromises, type Peer } from "../peers/Peer.ts"

/** A client and a server in this process, both of the same library, with tools that have schemas. */
export interface Application extends Peer {
  /** Lists all tools, page by page, and checks their number. */
  readonly list: () => Promise<void>
}

/** The number of tools of a server, of which one is called. */
export type Size = number

/** Returns the names of the tools: `add`, which the load calls, and others that have the same schemas. */
export const names = (size: Size): ReadonlyArray<string> => [
  "add",
  ...Array.from({ length: size - 1 }, (_, index) => `add_${index + 1}`)
]

/** The description of every tool. */
export const description = "Adds two numbers, and returns their sum"

/** Returns the member `sum` of a structured result. Throws if there is none. */
export const sumIn = (result: object): number => {
  const structured: unknown = "structuredContent" in result ? result.structuredContent : undefined
  if (typeof structured === "object" && structured !== null && "sum" in structured) return Number(structured.sum)
  throw new Error(`no sum in ${JSON.stringify(result)}`)
}

const checkLength = (size: Size) => (listed: number): void => {
  if (listed !== size) throw new Error(`${listed} of ${size} tools are listed`)
}

/** Creates an application that is driven by promises. */
export const ofPromises = (options: {
  readonly name: string
  readonly size: Size
  readonly add: (a: number, b: number) => Promise<number>
  readonly list: () => Promise<number>
  readonly close: () => Promise<void>
}): Application => {
  const { add, close, list, name, size } = options
  return {
    ...fromPromises({ name: named(name, size), add: (_, a, b) => add(a, b), close }),
    list: () => list().then(checkLength(size))
  }
}

/** Creates an application that is driven by fibers. */
export const ofEffects = <E>(options: {
  readonly name: string
  readonly size: Size
  readonly add: (a: number, b: number) => Effect.Effect<number, E>
  readonly list: Effect.Effect<number, E>
  readonly run: <A>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly close: Effect.Effect<void>
}): Application => {
  const { add, close, list, name, run, size } = options
  return {
    ...fromEffects({ name: named(name, size), add: (_, a, b) => add(a, b), close }),
    list: () => run(list).then(checkLength(size))
  }
}

const named = (name: string, size: Size): string => size === 1 ? name : `${name}, ${size} tools`

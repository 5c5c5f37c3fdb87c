/** Curves: the cost of work at several sizes, such as the number of sessions. */
import { alternate, type Contender } from "../measure.ts"
import type { Options } from "../Part.ts"

/** The costs of one sample, by quantity. */
export type Costs = { readonly [quantity: string]: number }

/** A contender that is ready at one size. */
export interface Ready {
  readonly once: () => Promise<Costs>
  readonly close: () => Promise<void>
}

/** A contender of a curve. */
export interface CurveContender {
  readonly name: string
  /** The greatest size at which it is measured. Default: that of the curve. */
  readonly upTo?: number
  readonly prepare: (size: number, options: Options) => Promise<Ready>
}

/** A measured quantity. Each has a chart of its own. */
export interface Quantity {
  /** The name of its chart. */
  readonly file: string
  readonly title: string
  /** The unit, such as "µs per call". */
  readonly unit: string
}

/** The definition of a curve. */
export interface Curve {
  readonly sizes: ReadonlyArray<number>
  /** The meaning of the sizes, such as "calls in flight". */
  readonly meaning: string
  readonly quantities: { readonly [quantity: string]: Quantity }
  readonly contenders: ReadonlyArray<CurveContender>
  /** The number of rounds that are not counted, until the just-in-time compiler has finished. */
  readonly warmUpRounds: (size: number) => number
  /** The greatest number of rounds at a size. Large ones take long, and vary less. */
  readonly mostRounds: (size: number) => number
}

/** The samples at one size, by contender, with one for each round. */
export interface Point {
  readonly size: number
  readonly samples: { readonly [contender: string]: ReadonlyArray<Costs> }
}

/** The name of this library in curves. */
export const ours = "Effect MCP"

/** Measures the contenders at one size. All of them are ready throughout, and take turns. */
const measureAt = async (curve: Curve, size: number, options: Options): Promise<Point> => {
  const taking = curve.contenders.filter(({ name, upTo = Infinity }) => name.includes(options.servers) && size <= upTo)
  const ready: Array<Ready> = []
  try {
    const contenders: Array<Contender<Costs>> = []
    for (const { name, prepare } of taking) {
      const one = await prepare(size, options)
      ready.push(one)
      contenders.push({ name, once: one.once })
    }
    const rounds = Math.min(options.rounds, curve.mostRounds(size))
    await alternate(contenders, Math.min(curve.warmUpRounds(size), rounds))
    return { size, samples: Object.fromEntries(await alternate(contenders, rounds)) }
  } finally {
    for (const { close } of ready) await close()
  }
}

/** Measures a curve, from its smallest size to its largest. */
export const measure = async (curve: Curve, options: Options): Promise<ReadonlyArray<Point>> => {
  const points: Array<Point> = []
  for (const size of curve.sizes.filter((size) => size <= options.upTo)) {
    points.push(await measureAt(curve, size, options))
  }
  return points
}

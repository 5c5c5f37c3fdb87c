/** Metrics with labels, each of which is made once. */

import type * as Metric from "effect/Metric"

interface Node<Series> {
  readonly next: Map<string | undefined, Node<Series>>
  series: Series | undefined
}

const makeNode = <Series>(): Node<Series> => ({ next: new Map(), series: undefined })

/**
 * The series of one metric, by the values of its labels, of which some may be absent. The values have to be bounded,
 * because each series is kept.
 *
 * Each series is a metric of its own. A metric serializes its labels when they differ from those of its last update, so
 * that `Metric.withAttributes` on a shared metric serializes them at each update.
 */
export class LabelledMetrics<const Values extends ReadonlyArray<string | undefined>, Input, State> {
  readonly #make: (values: Values) => Metric.Metric<Input, State>
  readonly #root = makeNode<Metric.Metric<Input, State>>()

  constructor(make: (values: Values) => Metric.Metric<Input, State>) {
    this.#make = make
  }

  /** Returns the series with these values. */
  of(values: Values): Metric.Metric<Input, State> {
    let node = this.#root
    for (const value of values) {
      let next = node.next.get(value)
      if (next === undefined) {
        next = makeNode()
        node.next.set(value, next)
      }
      node = next
    }
    return node.series ??= this.#make(values)
  }
}
